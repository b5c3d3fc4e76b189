// The built-in receiver: what a webhook is sent, shown as it arrives.

/** The URL of a webhook whose events are only looked at. */
const inspectURL = "inspect:";

/** How many requests are shown, as many as the server answers. */
const maxInspected = 100;

/**
 * What a webhook sends to, as text.
 *
 * @param {Pick<Webhook, "url">} webhook
 */
function receiverLabel({ url }) {
    return url === inspectURL ? "Inspect, in the browser" : url;
}

/** @param {string} id */
function inspectPath(id) {
    return `${integrationsPath}/webhooks/${id}/inspect`;
}

/** @param {Route<"id">} route */
function inspectPage(route) {
    return integrationsPage({
        title: "Inspect",
        trail: [["Webhooks", integrationsPath + "/webhooks"], ["Webhook", webhookPath(route.params.id)]],
        intro: "Shows the latest 100 requests of the past day, as a receiver gets them. Only this webhook can send to this page.",
        actions: [pingButton(route.params.id)],
        content: () => inspectedRequests(route.params.id),
    });
}

/** @param {string} webhookId */
function pingButton(webhookId) {
    return forEditors(t.button(
        {
            type: "button",
            className: "btn expanded",
            ariaLabel: "Send test event",
            onclick: () => attempt(() => callIntegrations("POST", `/webhooks/${webhookId}/ping`)),
        },
        t.i({ className: "ri-send-plane-line", ariaHidden: true }),
        t.span({ className: "txt" }, "Send test event"),
    ));
}

/**
 * The requests, the newest first. Each second it asks for those behind the ones that it knows.
 *
 * @param {string} webhookId
 */
function inspectedRequests(webhookId) {
    /** @type {{ requests: Inspected[] | null, fault: string }} */
    const data = store({ requests: null, fault: "" });
    /** @type {ReturnType<typeof poll>} */
    let polling;

    async function load() {
        const known = data.requests || [];
        try {
            const arrived = await callIntegrations("GET", `/webhooks/${webhookId}/inspected?after=${known[0]?.id || ""}`);
            if (arrived.length || !data.requests) {
                data.requests = [...arrived.reverse(), ...known].slice(0, maxInspected);
            }
            data.fault = "";
        } catch (error) {
            data.fault = errorText(error);
        }
    }

    return t.div(
        {
            className: "integrations-inspected",
            onmount: () => (polling = poll(load, 1)),
            onunmount: () => polling.stop(),
        },
        t.div({ role: "alert" }, () => (data.fault ? t.div({ className: "alert danger" }, data.fault) : null)),
        t.ol({ ariaLabel: "Requests", "html-aria-live": "polite" }, () => data.requests?.map((request, index) => inspectedRequest(request, index === 0))),
        () => {
            if (!data.requests) {
                return t.div({ className: "skeleton-loader", role: "status", ariaLabel: "Loading" });
            }
            return data.requests.length ? null : emptyState("ri-radar-line", "Nothing has arrived yet", mayChange() ? "Change a contact, or send a test event. It appears here automatically." : "The next event appears here automatically.");
        },
    );
}

/**
 * @param {Inspected} request
 * @param {boolean} open
 */
function inspectedRequest(request, open) {
    return t.li(
        { rid: request.id },
        t.details(
            { className: "integrations-details", open },
            t.summary(
                null,
                t.strong(null, eventKinds[request.type] || request.type),
                " ",
                stateLabel(request.error ? { text: "Not verified", style: "danger" } : { text: "Signature verified", style: "success" }),
                " ",
                request.number > 1 ? `attempt ${request.number}, ` : "",
                timeAgo(request.started),
            ),
            request.error ? t.p({ className: "integrations-bad" }, request.error) : null,
            isErased(request.body) ? t.p({ className: "txt-hint" }, erasedText) : null,
            textBlock("Body", request.body, "The body is empty."),
            headersBlock("Headers", request.headers, true),
        ),
    );
}
