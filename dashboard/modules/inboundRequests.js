// The requests to an inbound webhook, and their results.

/** @param {Route<"id">} route */
function inboundRequestsPage(route) {
    const inboundId = route.params.id;
    /** @type {List<InboundRequest> & { inbound: InboundWebhook | null, limited: number, request: string }} */
    const data = store({
        rows: null, page: pageFromAddress(route), totalPages: 0, totalItems: 0, inbound: null, limited: 0,
        ...fromAddress(route, { request: "" }),
    });
    /** @param {string} id @param {() => unknown} onclose */
    const show = (id, onclose) => showRequest(id, data, onclose);

    async function load() {
        listToAddress({ page: data.page, sort: "" }, "", { request: data.request });
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
        title: () => (data.inbound ? `Requests to ${data.inbound.name}` : "Requests"),
        trail: [["Inbound webhooks", integrationsPath + "/inbound"]],
        gone: { title: "This inbound webhook was deleted", text: "Its requests were deleted with it." },
        load,
        opened: () => openedRow(data, "request", show),
        content: () => [
            () => (data.limited ? t.div({ className: "alert warning" }, `${data.limited} rejected with 429 in the last 24 hours, because too many came at once. They are not in this list. Raise the requests per minute if the sender does not repeat them.`) : null),
            table({
                label: "Inbound requests",
                data,
                empty: () => emptyState("ri-login-box-line", "No requests yet", "Requests from the sender appear here automatically."),
                columns: [
                    { name: "Response", cell: ({ status }) => stateLabel({ text: String(status), style: status < 300 ? "success" : "danger" }) },
                    { name: "Result", cell: ({ result, erased }) => resultLabel(result) + (erased ? " (erased)" : "") },
                    { name: "Content type", className: "integrations-roomy", cell: ({ contentType }) => contentType || "–" },
                    { name: "Received", cell: ({ created }) => timeAgo(created) },
                    { className: "integrations-actions", cell: (request) => requestActions(request, () => openRow(data, "request", request.id, show)) },
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
 * @param {() => unknown} open
 */
function requestActions(request, open) {
    return t.div(
        { className: "integrations-buttons" },
        actionButton("Details", "ri-search-eye-line", open),
        !isRepeatable(request) ? null : forEditors(actionButton("Replay", "ri-refresh-line", () => replayRequest(request))),
    );
}

/**
 * @param {string} id
 * @param {Receiver} receiver
 * @param {() => unknown} onclose
 */
function showRequest(id, receiver, onclose) {
    /** @type {{ request: (InboundRequest & { body: string }) | null, fault: string }} */
    const state = store({ request: null, fault: "" });
    callIntegrations("GET", `/inbound/requests/${id}/details`)
        .then((request) => (state.request = request))
        .catch((error) => (state.fault = isNotFound(error) ? "This request is no longer stored." : errorText(error)));
    /** @param {InboundRequest & { body: string }} request */
    const tryIt = ({ contentType, body }) => receiver.inbound && tryInbound(receiver.inbound, { contentType, body });
    openDialog({
        title: "Inbound request",
        drawer: true,
        onclose,
        content: [
            () => (state.fault ? t.div({ className: "alert danger", role: "alert" }, state.fault) : null),
            () => {
                const { request } = state;
                if (!request) {
                    return state.fault ? null : t.div({ className: "skeleton-loader", role: "status", ariaLabel: "Loading" });
                }
                return [
                    t.p({ className: "m-b-sm" }, resultLabel(request.result)),
                    ...(request.result?.results || []).map((item) => outcomeCard(item)),
                    textBlock("Body", request.body, request.erased ? "Erased with its contact." : "The body is empty."),
                ];
            },
        ],
        footer: (close) => [
            t.button({ type: "button", className: "btn transparent m-r-auto", onclick: close }, t.span({ className: "txt" }, "Close")),
            () => {
                const { request } = state;
                return request && isRepeatable(request) ? forEditors(
                    t.button({ type: "button", className: "btn secondary", onclick: () => { close(); tryIt(request); } }, t.span({ className: "txt" }, "Try with this request")),
                    t.button({ type: "button", className: "btn expanded", onclick: () => { close(); replayRequest(request); } }, t.span({ className: "txt" }, "Replay")),
                ) : null;
            },
        ],
    });
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
