// The calls with an API key: a chart, the last that were rejected or failed, and the slowest.

/** Stands in the address for the calls without a key that is known. */
const unknownKey = "unknown";

/** @param {string} id */
function keyCallsPath(id) {
    return `${integrationsPath}/keys/${id}`;
}

/** @param {Route<"id">} route */
function keyCallsPage(route) {
    const keyId = route.params.id;
    const { path: search, ...chosen } = fromAddress(route, { method: "", status: "", path: "" });
    /** @type {CallsFilter & { key: ApiKey | null, activity: (KeyActivity & { period: Period }) | null, period: Period | "" }} */
    const data = store({ key: null, activity: null, period: periodFromAddress(route), search, ...chosen });
    /** @type {{ rows: CallRow[] | null }} */
    const last = store({ rows: null });
    /** @type {{ rows: CallRow[] | null }} */
    const slowest = store({ rows: null });

    async function load() {
        const filter = { method: data.method, status: data.status, path: data.search.trim() };
        toAddress({ period: data.period, ...filter });
        const given = Object.fromEntries(Object.entries(filter).filter(([, value]) => value));
        const [key, activity] = await Promise.all([
            keyId === unknownKey ? null : app.pb.collection("api_keys").getOne(keyId, { fields: "id,name,prefix,permissions,expires,revoked", requestKey: null }),
            loadActivity(data, async (period) => (await sendIntegrations("GET", `/keys/${keyId}/activity`, { query: { period, ...given } })).data),
        ]);
        keep(data, "key", key);
        keep(data, "activity", activity);
        keep(last, "rows", callRows(activity.last));
        keep(slowest, "rows", callRows(activity.slowest));
    }

    return integrationsPage({
        title: () => (data.key ? `Calls of ${data.key.name}` : "Calls"),
        trail: [["API keys", integrationsPath + "/keys"]],
        gone: { title: "This key was deleted", text: "Its calls are no longer listed." },
        intro: "The request ID is the X-Request-Id header of the response, and appears in the log. Query strings and bodies are not stored, only the names of invalid parameters.",
        load,
        content: () => [
            () => keyHead(keyId, data.key),
            periodButtons(data),
            chart({
                label: "Calls",
                series: [{ name: "Succeeded", tone: "good" }, { name: "Rejected", tone: "waits" }, { name: "Rate limited", tone: "plain" }, { name: "Failed", tone: "bad" }],
                data: () => chartData(data.activity, ({ answered, refused, limited, failed }) => [answered, refused, limited, failed]),
            }),
            () => data.activity && limitText(keyId, data.activity.limit),
            callsFilters(data),
            t.h2({ className: "integrations-subtitle" }, "Rejected or failed in the last 7 days"),
            table({
                label: "Rejected or failed calls",
                data: last,
                empty: () => noCalls(data, emptyState("ri-checkbox-circle-line", "No rejected or failed calls", "Contactbase keeps the last 100 with 429, and the last 100 others.")),
                columns: callColumns,
            }),
            keyId === unknownKey ? null : [
                t.h2({ className: "integrations-subtitle" }, "Slowest in the last 24 hours"),
                table({
                    label: "Slowest calls",
                    data: slowest,
                    empty: () => noCalls(data, emptyState("ri-timer-line", "No calls", "Rejected calls, and those that wait for events, do not count.")),
                    columns: callColumns,
                }),
            ],
        ],
    });
}

/** @typedef {Record<"method" | "status" | "search", string>} CallsFilter */

/** The statuses that calls can have. */
const callStatuses = ["200", "201", "204", "400", "401", "403", "404", "405", "409", "410", "412", "413", "415", "422", "429", "500", "503"];

/**
 * @param {CallsFilter} data
 */
function callsFilters(data) {
    /** @param {string} value @returns {[string, string]} */
    const option = (value) => [value, value];
    return t.div(
        { className: "integrations-filters" },
        selectField("Method", data, "method", () => [["", "All"], ...["GET", "POST", "PUT", "PATCH", "DELETE"].map(option)], { onchange: refreshPage }),
        selectField("Status", data, "status", () => [["", "All"], ["4xx", "4xx (rejected)"], ["5xx", "5xx (failed)"], ...callStatuses.map(option)], { onchange: refreshPage }),
        searchField("Part of the path", data, refreshPage),
    );
}

/**
 * @param {CallsFilter} data
 * @param {Child} otherwise without a filter
 */
function noCalls({ method, status, search }, otherwise) {
    return method || status || search.trim() ? emptyState("ri-search-line", "Nothing found", "No call matches these filters.") : otherwise;
}

/** @typedef {KeptCall & { id: string }} CallRow */

/** @type {Column<CallRow>[]} */
const callColumns = [
    { name: "When", cell: ({ created }) => timeAgo(created) },
    { name: "Duration", cell: ({ durationMs }) => duration(durationMs) },
    { name: "Status", cell: ({ status }) => stateLabel({ text: String(status), style: status >= 500 ? "danger" : status >= 400 ? "warning" : "success" }) },
    { name: "Code", className: "integrations-roomy", cell: ({ code, parameters }) => (parameters ? `${code}: ${parameters}` : code) },
    { name: "Call", className: "integrations-grows", cell: ({ method, path }) => t.div({ className: "integrations-named" }, t.strong(null, method), t.code(null, middleCut(path))) },
    { name: "Request ID", cell: ({ requestId }) => copyableId(requestId) },
];

/** @param {KeptCall[]} calls */
function callRows(calls) {
    return calls.map((call) => ({ ...call, id: call.requestId + call.created }));
}

/**
 * What 429 means, and what to do about it.
 *
 * @param {string} id
 * @param {KeyActivity["limit"]} limit
 */
function limitText(id, { perMinute, burst }) {
    if (id === unknownKey) {
        return t.p(null, `A client address may make ${plural(perMinute, "call")} a minute without a valid key. Above that, it gets 429 rate_limited.`);
    }
    return t.p(
        null,
        `The key may make ${plural(perMinute, "call")} a minute, ${count(burst)} of them at once. Above that, calls get 429 rate_limited and change nothing: `,
        "repeat them after the number of seconds in Retry-After. To use fewer calls, send batches: ten contacts count as one call. ",
        forSuperusers("You can raise the limit under Tenants."),
    );
}

/**
 * @param {string} id
 * @param {ApiKey | null} key
 */
function keyHead(id, key) {
    if (id === unknownKey) {
        return t.p(null, "Calls without a key, or with one that is mistyped or deleted.");
    }
    return key && t.div(
        { className: "integrations-head" },
        t.div({ className: "integrations-attempt-summary" }, t.strong(null, key.name), t.code(null, key.prefix + "…"), stateLabel(keyState(key))),
        keyEnd(key),
    );
}

/**
 * Why calls with a key that has ended get a 401.
 *
 * @param {ApiKey} key
 */
function keyEnd(key) {
    if (keyState(key).style === "success") {
        return null;
    }
    return t.p(
        null,
        key.revoked ? ["The key was revoked ", timeAgo(key.revoked)] : ["The key expired ", timeAgo(key.expires)],
        ". Since then, calls with it are rejected with 401 invalid_api_key. Programs that still use it need another key.",
    );
}
