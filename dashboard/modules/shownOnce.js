// A new secret is in one answer of the server and never again. It is taken out of that answer before anything of the
// dashboard gets to see it – the drafts that PocketBase keeps in the browser's storage, the tables – and shown in a
// window of its own. This is true on PocketBase's own collection screen too.

const secretsOf = {
    api_keys: (answer) => takeOut(answer, "key"),
    webhooks: (answer) => takeOut(answer, "secret"),
    inbound_webhooks: (answer) => takeOut(answer, "token", "url"),
};

const rotationOf = { keys: "api_keys", webhooks: "webhooks", inbound: "inbound_webhooks" };

function takeOut(answer, ...names) {
    const taken = {};
    for (const name of names) {
        if (!answer[name]) {
            return null;
        }
        taken[name] = answer[name];
    }
    names.forEach((name) => delete answer[name]);
    return taken;
}

/** Returns the secret of an answer together with its kind, after taking it out; null where there is none. */
function takeSecret(path, answer) {
    const rotation = path.match(/\/api\/integrations\/(keys|webhooks|inbound)\/([^/]+)\/rotate$/);
    const collection = rotation ? rotationOf[rotation[1]] : answer?.collectionName;
    const holder = rotation ? answer?.data : answer;
    const isRecord = /\/api\/collections\/[^/]+\/records(\/[^/]+)?$/.test(path);
    if (!holder || !secretsOf[collection] || !(rotation || isRecord)) {
        return null;
    }
    const secret = secretsOf[collection](holder);
    return secret && { ...secret, collection, permissions: holder.permissions, tenant: holder.tenant, successorOf: rotation?.[2] };
}

/** A new key has the rights of the one that it replaces, which the answer does not name. */
async function withRights(found) {
    if (found.collection !== "api_keys" || !found.successorOf) {
        return found;
    }
    const replaced = await app.pb.collection("api_keys")
        .getOne(found.successorOf, { fields: "permissions,tenant", requestKey: null })
        .catch(() => null); // the key is shown all the same
    return { ...found, ...replaced };
}

function showSecretsOnce() {
    const inner = app.pb.afterSend;
    app.pb.afterSend = async (response, answer, options) => {
        if (inner) {
            answer = await inner.call(app.pb, response, answer, options);
        }
        const found = response.ok ? takeSecret(new URL(response.url).pathname, answer) : null;
        if (found) {
            // after the form that sent the request has closed, which would take the focus away
            setTimeout(async () => openSecret(await withRights(found)), 50);
        }
        return answer;
    };
}

const secretWindows = {
    api_keys: ({ key, permissions }) => ({
        title: "Your new API key",
        parts: [copyBlock("API key", key, { autofocus: true }), copyBlock("Try it in a terminal", keyCurl(key, permissions))],
    }),
    webhooks: ({ secret }) => ({
        title: "The webhook's secret",
        parts: [
            copyBlock("Secret", secret, { autofocus: true }),
            t.p(
                { className: "txt-hint" },
                "The receiver needs it to check that a delivery is from here: ",
                t.a({ href: siteAddress() + "/docs/verify-signatures", target: "_blank", rel: "noopener" }, "how to verify signatures"),
                ".",
            ),
        ],
    }),
    inbound_webhooks: ({ token }) => {
        // the server knows the address from its settings only, this page also from being visited
        const address = siteAddress() + "/api/hooks/" + token;
        return {
            title: "The address to send to",
            parts: [
                copyBlock("Address", address, { autofocus: true }),
                copyBlock("Try it in a terminal", inboundCurl(address)),
                t.p({ className: "txt-hint" }, "Whoever has this address can write contacts: treat it as a password."),
            ],
        };
    },
};

function openSecret(found) {
    const { title, parts } = secretWindows[found.collection](found);
    openDialog({
        title,
        sticky: true,
        content: [
            t.div(
                { className: "alert warning m-b-sm" },
                t.strong(null, "This is shown once. "),
                "Copy it to where it is used: nobody can show it again. A lost one is replaced by a new one.",
            ),
            disabledTenantHint(found),
            ...parts,
        ],
        footer: (close) => [
            t.button({ type: "button", className: "btn expanded m-l-auto", onclick: close }, t.span({ className: "txt" }, "I have stored it")),
        ],
        onclose: refreshPage,
    });
}

/** A key of a tenant without the feature is refused: better to learn it here than from the first call. */
function disabledTenantHint({ tenant }) {
    const known = tenants.list.find(({ id }) => id === tenant);
    if (!known || known.apiEnabled) {
        return null;
    }
    return t.div({ className: "alert info m-b-sm" }, `The API is not enabled for ${known.name}: calls are refused until it is, under Tenants.`);
}
