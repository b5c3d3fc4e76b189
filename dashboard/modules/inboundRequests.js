// The requests to an inbound webhook, and their results.

/** @param {Route<"id">} route */
function inboundRequestsPage(route) {
    const inboundId = route.params.id;
    /** @type {List<InboundRequest> & { inbound: InboundWebhook | null, limited: number }} */
    const data = store({ rows: null, page: 1, totalPages: 0, totalItems: 0, inbound: null, limited: 0 });

    async function load() {
        const [inbound, rows] = await Promise.all([
            app.pb.collection("inbound_webhooks").getOne(inboundId, { fields: "id,tenant,name,access,mapping", requestKey: null }),
            loadPageOf(data, async (page) => {
                const found = (await sendIntegrations("GET", "/inbound/requests", { query: { inbound: inboundId, page } })).data;
                data.limited = found.limited;
                return found;
            }),
            loadPresets(),
        ]);
        keep(data, "inbound", inbound);
        keep(data, "rows", rows);
    }

    return integrationsPage({
        title: "Requests",
        trail: [["Inbound webhooks", integrationsPath + "/inbound"]],
        load,
        content: () => [
            () => (data.inbound ? t.p(null, "To ", t.strong(null, data.inbound.name)) : null),
            () => (data.limited ? t.div({ className: "alert warning" }, `${data.limited} refused with 429 in the last 24 hours, because too many came at once. They are not in this list. Raise the requests per minute if the sender does not repeat them.`) : null),
            table({
                label: "Inbound requests",
                data,
                empty: () => emptyState("ri-login-box-line", "No requests yet", "Requests from the sender appear here automatically."),
                columns: [
                    { name: "Response", cell: ({ status }) => stateLabel({ text: String(status), style: status < 300 ? "success" : "danger" }) },
                    { name: "Result", cell: ({ result, erased }) => resultLabel(result) + (erased ? " (erased)" : "") },
                    { name: "Content type", className: "integrations-roomy", cell: ({ contentType }) => contentType || "–" },
                    { name: "Received", cell: ({ created }) => timeAgo(created) },
                    { className: "integrations-actions", cell: (request) => requestActions(request, data) },
                ],
            }),
            pager(data),
        ],
    });
}

/**
 * A result is an outcome, an error envelope, or the sender of a handshake.
 *
 * @param {InboundRequest["result"]} result
 */
function resultLabel(result) {
    if (result?.error) {
        return result.error.message;
    }
    if (result?.handshake) {
        return `handshake of ${result.handshake}`;
    }
    const statuses = /** @type {OutcomeStatus[]} */ (Object.keys(outcomeStyles));
    const counts = statuses.map((status) => (result?.[status] ? `${result[status]} ${status}` : ""));
    const warned = result?.results?.filter(({ warnings }) => warnings?.length).length;
    return [...counts, warned ? `${warned} with warnings` : ""].filter(Boolean).join(", ") || "nothing";
}

/**
 * Reports whether a request can be tried and replayed.
 *
 * @param {InboundRequest} request
 */
function isRepeatable({ erased, result }) {
    return !erased && !result?.handshake;
}

/** @typedef {{ inbound: InboundWebhook | null }} Receiver the inbound webhook of the requests, once it is loaded */

/**
 * @param {InboundRequest} request
 * @param {Receiver} receiver
 */
function requestActions(request, receiver) {
    return t.div(
        { className: "integrations-buttons" },
        actionButton("Details", "ri-search-eye-line", () => showRequest(request, receiver)),
        !isRepeatable(request) ? null : forEditors(actionButton("Replay", "ri-refresh-line", () => replayRequest(request))),
    );
}

/**
 * @param {InboundRequest} request
 * @param {Receiver} receiver
 */
function showRequest(request, receiver) {
    /** @type {{ body: string | null, stored: boolean, fault: string }} */
    const state = store({ body: null, stored: false, fault: "" });
    callIntegrations("GET", `/inbound/requests/${request.id}/details`)
        .then(({ body, stored }) => Object.assign(state, { body, stored }))
        .catch((error) => (state.fault = errorText(error)));
    const tryIt = () => receiver.inbound && tryInbound(receiver.inbound, { contentType: request.contentType, body: state.body || "" });
    openDialog({
        title: "Inbound request",
        drawer: true,
        content: [
            () => (state.fault ? t.div({ className: "alert danger", role: "alert" }, state.fault) : null),
            t.p({ className: "m-b-sm" }, resultLabel(request.result)),
            (request.result?.results || []).map((item) => outcomeCard(item)),
            () => textBlock("Body", state.body, bodyLabel(request, state)),
        ],
        footer: (close) => [
            t.button({ type: "button", className: "btn transparent m-r-auto", onclick: close }, t.span({ className: "txt" }, "Close")),
            !isRepeatable(request) ? null : forEditors(t.button(
                { type: "button", className: "btn secondary", disabled: () => !state.stored, onclick: () => { close(); tryIt(); } },
                t.span({ className: "txt" }, "Try with this request"),
            )),
            !isRepeatable(request) ? null : forEditors(t.button(
                { type: "button", className: "btn expanded", disabled: () => !state.stored, onclick: () => { close(); replayRequest(request); } },
                t.span({ className: "txt" }, "Replay"),
            )),
        ],
    });
}

/**
 * The text instead of a missing body.
 *
 * @param {InboundRequest} request
 * @param {{ body: string | null }} state
 */
function bodyLabel({ erased }, { body }) {
    if (erased) {
        return "Erased with its contact.";
    }
    return body === null ? "Loading…" : "The body is empty.";
}

/** @param {InboundRequest} request */
function replayRequest(request) {
    confirmDialog({
        title: "Replay the request?",
        text: "Applies the request again, with the current mapping and access.",
        action: "Replay",
        style: "",
        run: async () => {
            const outcome = await callIntegrations("POST", `/inbound/requests/${request.id}/replay`);
            app.toasts.success(`Replayed: ${resultLabel(outcome)}.`);
            refreshPage();
        },
    });
}
