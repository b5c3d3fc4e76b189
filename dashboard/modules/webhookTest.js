// Test events of a webhook, with a chosen type and body.

/**
 * The body of a test event, which the server gives an id and a time.
 *
 * @param {EventKind} type
 * @param {Webhook} webhook
 */
function sampleBody(type, { id, name, url }) {
    const at = new Date().toISOString();
    const person = { id: "sample000000001", ...sampleContact, company: "Analytical Engines", externalId: null, createdAt: at, updatedAt: at };
    switch (type) {
        case "webhook.ping":
            return { data: { webhook: id } };
        case "contact.updated":
            return { data: person, previous: { company: null } };
        case "contact.created":
        case "contact.deleted":
            return { data: person };
        case "key.expiring":
            return { data: { key: { id: "sample000000001", name: "Sync", prefix: "cmk_sample" }, expires: at } };
        default:
            return { data: type in eventKinds ? { webhook: { id, name, url } } : {} };
    }
}

/**
 * Sends a test event and shows the response. Then another type or body can be sent.
 *
 * @param {Webhook} webhook
 */
function testWebhook(webhook) {
    /** @type {{ type: EventKind, body: string, attempt: AttemptDetails | null, busy: boolean, fault: string }} */
    const state = store({ type: "webhook.ping", body: "", attempt: null, busy: false, fault: "" });

    async function send() {
        state.busy = true;
        state.fault = "";
        state.attempt = null;
        try {
            state.attempt = await callIntegrations("POST", `/webhooks/${webhook.id}/ping`, state.body ? { type: state.type, body: JSON.parse(state.body) } : undefined);
        } catch (error) {
            state.fault = error instanceof SyntaxError ? "The body is not valid JSON." : errorText(error);
        }
        state.busy = false;
        refreshPage();
    }

    openDialog({
        title: "Test event",
        content: t.div(
            { className: "integrations-form" },
            middleCut(receiverLabel(webhook), "integrations-url"),
            selectField("Event", state, "type", eventOptions, {
                onchange: () => (state.body = state.type === "webhook.ping" ? "" : JSON.stringify(sampleBody(state.type, webhook), null, 2)),
            }),
            () => (state.type === "webhook.ping" ? null : sampleField(state)),
            t.div({ "html-aria-live": "polite" }, () => {
                if (state.fault) {
                    return t.div({ className: "alert danger" }, state.fault);
                }
                if (state.busy) {
                    return t.p({ className: "integrations-waiting" }, t.span({ className: "loader sm", ariaHidden: true }), " Sending…");
                }
                return state.attempt ? attemptDetails(state.attempt) : null;
            }),
        ),
        footer: (close) => [
            t.button({ type: "button", className: "btn transparent m-r-auto", autofocus: true, onclick: close }, t.span({ className: "txt" }, "Close")),
            t.button({ type: "button", className: "btn expanded", disabled: () => state.busy, onclick: send }, t.span({ className: "txt" }, "Send again")),
        ],
    });
    send();
}

/** @param {{ body: string }} data */
function sampleField(data) {
    const id = fieldId();
    return t.div(
        { className: "integrations-field" },
        t.div(
            { className: "field" },
            t.label({ htmlFor: id }, "Body"),
            t.textarea({
                id,
                className: "txt-code",
                rows: 10,
                maxLength: 65_536,
                spellcheck: false,
                "html-aria-describedby": id + "_help",
                value: () => data.body,
                oninput: (event) => (data.body = event.currentTarget.value),
            }),
        ),
        t.div({ id: id + "_help", className: "field-help" }, "The server adds id, type and timestamp, and signs the event like any other. It is not stored, and appears in no list of deliveries."),
    );
}
