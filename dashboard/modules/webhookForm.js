// The form of a webhook.

/** What the URL of a webhook begins with whose events are published to NATS. */
const natsScheme = "nats:";

/** @type {[WebhookValues["receiver"], string, string]} */
const natsReceiver = ["nats", "NATS", "events are published to a stream."];

/** @typedef {{ id: string, name: string, value: string, stored: string }} Header the server keeps the value of the stored name and does not show it */

/**
 * What the form holds.
 *
 * @typedef {object} WebhookValues
 * @property {string} tenant
 * @property {string} name
 * @property {"address" | "nats" | "inspect"} receiver
 * @property {string} url where the receiver is an address
 * @property {string} subject where the receiver is a stream of NATS
 * @property {"all" | "chosen"} kinds
 * @property {EventKind[]} events of the kinds that are chosen
 * @property {Header[]} headers
 * @property {string} filter
 * @property {string} maxPerSecond
 * @property {string} secret
 */

/**
 * Opens the form; without a webhook, for a new one.
 *
 * @param {Webhook} [webhook]
 * @param {string} [tenant] that of a new one
 */
async function editWebhook(webhook, tenant) {
    const offersNATS = webhook?.url.startsWith(natsScheme) || await hasNATS();
    /** @type {WebhookValues} */
    const data = store({
        tenant: webhook?.tenant || tenant || onlyTenant(),
        name: webhook?.name || "",
        ...receiverOf(webhook?.url || ""),
        ...kindsOf(webhook?.events || []),
        headers: (webhook?.headerNames || []).map((name) => ({ id: fieldId(), name, value: "", stored: name })),
        filter: webhook?.filter || "",
        maxPerSecond: webhook?.maxPerSecond ? String(webhook.maxPerSecond) : "",
        secret: "",
    });
    openForm({
        title: webhook ? "Edit the webhook" : "New webhook",
        submit: webhook ? "Save" : "Create webhook",
        content: () => [
            webhook ? null : tenantField(data),
            radioField("Receiver", data, "receiver", [
                ["address", "HTTP", "events are sent to a URL."],
                ...(offersNATS ? [natsReceiver] : []),
                ["inspect", "Inspect", "events are shown in the browser, as a receiver gets them."],
            ]),
            () => (data.receiver === "address" ? urlField(data) : null),
            () => (webhook?.url === inspectURL && data.receiver !== "inspect" ? secretHint() : null),
            () => (data.receiver === "nats" ? subjectField(data) : null),
            textField("Name", data, "name", { maxLength: 255, help: "Optional." }),
            radioField("Events", data, "kinds", [
                ["all", "All contact events", "every change to a contact."],
                ["chosen", "Selected events", "only the types below."],
            ]),
            () => (data.kinds === "chosen" ? checkboxesField("Selected events", data, "events", choosableKinds(webhook)) : null),
            filterField(data),
            headersField(data),
            textField("Maximum requests per second", data, "maxPerSecond", { type: "number", min: "1", max: "1000", step: "1", help: "Leave empty for no limit. Excess events wait. None are dropped." }),
            webhook ? null : ownSecretField(data),
        ],
        run: async () => {
            const fault = data.receiver === "address" ? urlFault(data.url) : "";
            if (fault) {
                throw fieldFault("url", fault);
            }
            if (data.kinds === "chosen" && !data.events.length) {
                throw fieldFault("events", "Choose at least one event type, or All contact events.");
            }
            const twice = headersFault(data.headers);
            if (twice) {
                throw new Error(twice);
            }
            const values = {
                name: data.name.trim(),
                url: { address: data.url, nats: natsScheme + data.subject.trim(), inspect: inspectURL }[data.receiver],
                events: data.kinds === "all" ? [] : data.events,
                headers: headersObject(data.headers),
                filter: data.filter.trim(),
                maxPerSecond: Number(data.maxPerSecond),
            };
            if (webhook) {
                await app.pb.collection("webhooks").update(webhook.id, values, { requestKey: null });
            } else {
                await app.pb.collection("webhooks").create({ ...values, tenant: chosenTenant(data), secret: data.secret }, { requestKey: null });
            }
            refreshPage();
        },
    });
}

/** Whether the server publishes to NATS for the webhooks of superusers. If it does not say so, the form opens without. */
async function hasNATS() {
    if (member()) {
        return false;
    }
    const answer = await sendIntegrations("GET", "/overview", { query: { period: "hour" } }).catch(() => null);
    return answer?.data.nats === true;
}

/**
 * What the form holds of a webhook's URL.
 *
 * @param {string} url
 * @returns {Pick<WebhookValues, "receiver" | "url" | "subject">}
 */
function receiverOf(url) {
    if (url === inspectURL) {
        return { receiver: "inspect", url: "", subject: "" };
    }
    if (url.startsWith(natsScheme)) {
        return { receiver: "nats", url: "", subject: url.slice(natsScheme.length) };
    }
    return { receiver: "address", url, subject: "" };
}

/** @param {WebhookValues} data */
function subjectField(data) {
    return textField("Subject", data, "subject", {
        required: true,
        autofocus: true,
        placeholder: "contactbase.contacts",
        help: "The subject of a NATS stream. The server must be started with --nats.",
    });
}

/**
 * Shows the error in the URL while it is typed.
 *
 * @param {WebhookValues} data
 */
function urlField(data) {
    return t.div(
        null,
        textField("URL", data, "url", {
            type: "url",
            inputMode: "url",
            required: true,
            autofocus: true,
            placeholder: "https://example.com/hook",
            "html-aria-invalid": () => (urlFault(data.url) ? "true" : "false"),
        }),
        t.div({ className: "field-help", "html-aria-live": "polite" }, () => {
            const fault = urlFault(data.url);
            return t.span({ className: fault ? "integrations-bad" : "" }, fault || urlHint(data.url) || "Events are sent here as POST requests.");
        }),
    );
}

/** Says how the secret of a webhook that was only looked at gets to a receiver. */
function secretHint() {
    return t.p(
        { className: "field-help", role: "status" },
        "The receiver needs the webhook's secret to verify signatures. If you have not kept it, save, then choose Rotate secret in the webhook's menu. The new secret is shown once.",
    );
}

/** @param {WebhookValues} data */
function headersField(data) {
    return t.fieldset(
        { className: "integrations-fieldset" },
        t.legend(null, "Extra request headers"),
        () => data.headers.map((header) =>
            t.div(
                { rid: header.id, className: "integrations-header-row" },
                textField("Name", header, "name", { placeholder: "Authorization" }),
                textField("Value", header, "value", { placeholder: header.stored && "unchanged" }),
                t.button(
                    {
                        type: "button",
                        className: "btn sm circle transparent secondary",
                        ariaLabel: "Remove this header",
                        onclick: () => (data.headers = data.headers.filter(({ id }) => id !== header.id)),
                    },
                    t.i({ className: "ri-close-line", ariaHidden: true }),
                ),
            )),
        t.button(
            {
                type: "button",
                className: "btn sm secondary",
                onclick: () => (data.headers = [...data.headers, { id: fieldId(), name: "", value: "", stored: "" }]),
            },
            t.i({ className: "ri-add-line", ariaHidden: true }),
            t.span({ className: "txt" }, "Add a header"),
        ),
    );
}

/** @param {Header[]} headers */
function headersFault(headers) {
    const names = headers.map(({ name }) => name.trim().toLowerCase()).filter(Boolean);
    const twice = names.find((name, index) => names.indexOf(name) !== index);
    return twice ? `The header ${twice} appears twice.` : "";
}

/**
 * What the server gets: null keeps a stored value.
 *
 * @param {Header[]} headers
 * @returns {Record<string, string | null>}
 */
function headersObject(headers) {
    const named = headers.filter(({ name }) => name.trim());
    return Object.fromEntries(named.map(({ name, value, stored }) => [name.trim(), value || name.trim() !== stored ? value : null]));
}

/** @param {WebhookValues} data */
function ownSecretField(data) {
    return t.details(
        { className: "integrations-details" },
        t.summary(null, "Use your own secret"),
        textField("Secret", data, "secret", { type: "password", autocomplete: "new-password", help: "8 to 256 characters. Leave empty to generate one." }),
    );
}

/**
 * What the form holds of a webhook's events, of which none stand for all.
 *
 * @param {EventKind[]} events
 * @returns {Pick<WebhookValues, "kinds" | "events">}
 */
function kindsOf(events) {
    const chosen = events.filter((kind) => kind !== "webhook.ping");
    return { kinds: chosen.length ? "chosen" : "all", events: chosen };
}

/**
 * The kinds that can be chosen: a test event always arrives, and a webhook keeps what extensions no longer declare.
 *
 * @param {Webhook} [webhook]
 * @returns {[EventKind, string][]}
 */
function choosableKinds(webhook) {
    const kept = (webhook?.undeclaredEvents || []).map((kind) => /** @type {[EventKind, string]} */ ([kind, `${kind} (no longer declared)`]));
    return [...eventOptions().filter(([kind]) => kind !== "webhook.ping"), ...kept];
}
