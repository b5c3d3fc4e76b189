// A new secret is in one answer of the server and never again. It is taken out of that answer before anything of the
// dashboard gets to see it – the drafts that PocketBase keeps in the browser's storage, the tables – and shown in a
// window of its own. This is true on PocketBase's own collection screen too.

/** @typedef {"key" | "secret" | "token" | "url"} SecretName */

/**
 * What holds a secret: a record, or what a route answers to a rotation.
 *
 * @typedef {Partial<Record<SecretName, string>> & About & { collectionName?: string, data?: Holder }} Holder
 */

/** @typedef {{ permissions?: Permission[], mapping?: Mapping | null, tenant?: string }} About */

/**
 * A secret that was taken out; successorOf is the id of what it was rotated of.
 *
 * @typedef {About & { successorOf?: string } & (KeySecret | WebhookSecret | InboundSecret)} Secret
 */

/** @typedef {{ collection: "api_keys", key: string }} KeySecret */
/** @typedef {{ collection: "webhooks", secret: string }} WebhookSecret */
/** @typedef {{ collection: "inbound_webhooks", token: string, url: string }} InboundSecret */

/** @type {Record<string, SecretName[] | undefined>} */
const secretsOf = {
    api_keys: ["key"],
    webhooks: ["secret"],
    inbound_webhooks: ["token", "url"],
};

/** @type {Record<string, string>} */
const rotationOf = { keys: "api_keys", webhooks: "webhooks", inbound: "inbound_webhooks" };

/**
 * Takes all of the names out of the holder, or none where one is missing.
 *
 * @param {Holder} holder
 * @param {SecretName[]} names
 */
function takeOut(holder, names) {
    if (names.some((name) => !holder[name])) {
        return null;
    }
    const taken = Object.fromEntries(names.map((name) => [name, holder[name]]));
    for (const name of names) {
        delete holder[name];
    }
    return taken;
}

/**
 * Returns the secret of an answer together with its kind, after taking it out; null if there is none.
 *
 * @param {string} path
 * @param {Holder | null | undefined} answer
 */
function takeSecret(path, answer) {
    const [, rotated, successorOf] = path.match(/\/api\/integrations\/(keys|webhooks|inbound)\/([^/]+)\/rotate$/) || [];
    const collection = rotated ? rotationOf[rotated] : answer?.collectionName;
    const holder = rotated ? answer?.data : answer;
    const isRecord = /\/api\/collections\/[^/]+\/records(\/[^/]+)?$/.test(path);
    const names = secretsOf[collection || ""];
    if (!holder || !names || !(rotated || isRecord)) {
        return null;
    }
    const taken = takeOut(holder, names);
    const { permissions, mapping, tenant } = holder;
    return taken && /** @type {Secret} */ ({ ...taken, collection, permissions, mapping, tenant, successorOf });
}

/**
 * What is rotated keeps its rights and its mapping, which the answer does not name.
 *
 * @param {Secret} found
 * @returns {Promise<Secret>}
 */
async function withRights(found) {
    if (found.collection === "webhooks" || !found.successorOf) {
        return found;
    }
    const replaced = await app.pb.collection(found.collection)
        .getOne(found.successorOf, { fields: "permissions,mapping,tenant", requestKey: null })
        .catch(() => null); // the secret is shown all the same
    return { ...found, ...replaced };
}

function showSecretsOnce() {
    const inner = app.pb.afterSend;
    app.pb.afterSend = async (response, answer, options) => {
        if (inner) {
            answer = await inner.call(app.pb, response, answer, options);
        }
        const holder = /** @type {Holder | null | undefined} */ (answer);
        const found = response.ok ? takeSecret(new URL(response.url).pathname, holder) : null;
        if (found && holder?.url !== inspectURL) { // which nobody else has to verify
            // after the form that sent the request has closed, which would take the focus away
            setTimeout(async () => openSecret(await withRights(found)), 50);
        }
        return answer;
    };
}

const secretTitles = { api_keys: "Your new API key", webhooks: "The webhook's secret", inbound_webhooks: "The address of the inbound webhook" };

/**
 * What the window says of a secret.
 *
 * @param {Secret} found
 * @param {() => unknown} oncopied
 */
function secretParts(found, oncopied) {
    switch (found.collection) {
        case "api_keys":
            return [
                copyBlock("API key", found.key, { autofocus: true, oncopied }),
                trialCommand(keyCurl(found.key, found.permissions, found.tenant), oncopied),
            ];
        case "webhooks":
            return [
                copyBlock("Secret", found.secret, { autofocus: true, oncopied }),
                t.p(
                    { className: "txt-hint" },
                    "The receiver needs it to verify that a delivery comes from this server: ",
                    t.a({ href: siteAddress() + "/docs/verify-signatures", target: "_blank", rel: "noopener" }, "how to verify signatures"),
                    ".",
                ),
            ];
        case "inbound_webhooks": {
            // the server knows the address from its settings only, this page also from being visited
            const address = siteAddress() + "/api/hooks/" + found.token;
            return [
                copyBlock("Address", address, { autofocus: true, oncopied }),
                Object.keys(found.mapping || {}).length ? null : trialCommand(inboundCurl(address), oncopied), // a mapping reads other names
                t.p({ className: "txt-hint" }, "Anyone with this address can write contacts. Treat it like a password."),
            ];
        }
    }
}

/**
 * A command to paste, which has the secret, and what it writes.
 *
 * @param {string} command
 * @param {() => unknown} oncopied
 */
function trialCommand(command, oncopied) {
    return [
        copyBlock("Try it in a terminal", command, { oncopied }),
        command.includes(sampleContact.name) ? t.p({ className: "txt-hint" }, `The command creates the contact ${sampleContact.name}.`) : null,
    ];
}

/** @type {Loss} */
const uncopied = { title: "Leave without a copy?", text: "This is shown once. Copy it first: it cannot be shown again.", action: "Leave", stay: "Stay" };

/**
 * Opens a window with what is shown once. Only its button closes it; Back and a reload ask first, unless it was copied.
 *
 * @param {object} dialog
 * @param {string} dialog.title
 * @param {(oncopied: () => unknown) => Child} dialog.content
 * @param {string} dialog.done what the button says
 * @param {() => unknown} [dialog.onclose]
 */
function openShownOnce({ title, content, done, onclose }) {
    let isCopied = false;
    openDialog({
        title,
        sticky: true,
        loss: () => (isCopied ? null : uncopied),
        content: content(() => (isCopied = true)),
        footer: (close) => [
            t.button({ type: "button", className: "btn expanded m-l-auto", onclick: close }, t.span({ className: "txt" }, done)),
        ],
        onclose,
    });
}

/** @param {Secret} found */
function openSecret(found) {
    openShownOnce({
        title: secretTitles[found.collection],
        content: (oncopied) => [
            t.div(
                { className: "alert warning m-b-sm" },
                t.strong(null, "This is shown once. "),
                "Copy it now: it cannot be shown again. If you lose it, create a new one.",
            ),
            disabledTenantHint(found),
            secretParts(found, oncopied),
        ],
        done: "I have stored it",
        onclose: refreshPage,
    });
}

/**
 * A key of a tenant without the feature is rejected: better to learn it here than from the first call.
 *
 * @param {Secret} found
 */
function disabledTenantHint({ tenant }) {
    const known = tenants.list.find(({ id }) => id === tenant);
    if (!known || known.apiEnabled) {
        return null;
    }
    return t.div({ className: "alert info m-b-sm" }, `The API is not enabled for ${known.name}. Calls are rejected until you enable it under Tenants.`);
}
