// The deliveries of a webhook: a live list with filters, and folded charts. The cells are in deliveryCells.js, one delivery is in delivery.js,
// recovery in recovery.js.

/**
 * A row of the list. Below one that stands for several deliveries, which is open, are the others.
 *
 * @typedef {Delivery & { isOpen?: boolean }} DeliveryRow
 */

/**
 * What the list shows, and by which filters.
 *
 * @typedef {object} DeliveriesData
 * @property {DeliveryRow[] | null} rows
 * @property {Webhook | null} webhook
 * @property {string} status
 * @property {string} type
 * @property {string} contact
 * @property {string} from
 * @property {string} to
 * @property {string} delivery the one whose window is open
 * @property {string[]} cursors of the pages before and of this one; none on the first
 * @property {string | null} next
 * @property {string[]} open the groups whose deliveries are all shown, by when they began
 * @property {string} shown the filters and the page of the rows
 * @property {Period | ""} period of the charts
 * @property {(WebhookActivity & { period: Period }) | null} activity
 * @property {Health | null} health
 */

/** @param {Route<"id">} route */
function webhookPage(route) {
    const webhookId = route.params.id;
    /** @type {DeliveriesData} */
    const data = store({
        rows: null,
        webhook: null,
        ...fromAddress(route, { status: "", type: "", contact: "", from: "", to: "", delivery: "" }),
        cursors: route.query.page?.slice(0, 1) || [],
        next: null,
        open: [],
        shown: "",
        period: "",
        activity: null,
        health: null,
    });

    const load = () => loadDeliveries(webhookId, data);

    function search() {
        data.cursors = [];
        refreshPage();
    }

    return integrationsPage({
        title: () => (data.webhook ? data.webhook.name || receiverLabel(data.webhook) : "Webhook"),
        trail: [["Webhooks", integrationsPath + "/webhooks"]],
        gone: { title: "This webhook was deleted", text: "Its deliveries were deleted with it." },
        actions: webhookPageActions(data),
        load,
        opened: () => openedRow(data, "delivery", showDelivery),
        content: () => [
            () => (data.webhook ? webhookHead(data.webhook, data) : null),
            foldedCharts(data),
            t.h2({ className: "integrations-subtitle" }, "Deliveries"),
            () => pendingLine(data),
            deliveriesFilters(data, search),
            table({
                label: "Deliveries",
                data,
                empty: () => (data.status || data.type || data.contact || data.from || data.to
                    ? emptyState("ri-search-line", "Nothing found", data.next ? "None of the last 20,000 deliveries matches. Go to older deliveries to continue the search." : "No delivery matches these filters.")
                    : emptyState("ri-mail-send-line", "Nothing delivered yet", mayChange() ? "Change a contact, or send a test event. It appears here automatically." : "The next event appears here automatically.")),
                columns: [
                    { name: "Event", cell: ({ type }) => t.strong({ className: "txt-nowrap" }, eventKinds[type] || type) },
                    { name: "Contact", className: "integrations-shrinks", cell: deliveryContact },
                    { name: "Status", cell: ({ status }) => stateLabel(deliveryStates[status]) },
                    { name: "Last response", className: "integrations-grows", cell: lastAnswer },
                    { name: "Attempts", className: "integrations-number integrations-wide", cell: ({ attempts }) => String(attempts) },
                    { name: "Next attempt", className: "integrations-roomy", cell: (delivery) => () => nextAttempt(delivery, data) },
                    { name: "Created", cell: ({ created }) => timeAgo(created) },
                    { className: "integrations-actions", cell: (delivery) => deliveryActions(delivery, data) },
                ],
            }),
            cursorPager(data),
        ],
    });
}

/** What the pages show of the record of a webhook. */
const webhookFields = "id,tenant,name,url,events,undeclaredEvents,headerNames,secretPrefix,filter,maxPerSecond,disabled,disabledReason,created,expand.tenant.name";

/** How many deliveries of a group are shown at most. */
const maxOpened = 200;

/**
 * Loads the page of the list that data asks for, and the numbers of the charts.
 *
 * @param {string} webhookId
 * @param {DeliveriesData} data
 */
async function loadDeliveries(webhookId, data) {
    toAddress({ status: data.status, type: data.type, contact: data.contact, from: data.from, to: data.to, delivery: data.delivery, page: data.cursors.at(-1) || "" });
    const shown = JSON.stringify([data.status, data.type, data.contact, data.from, data.to, data.cursors, data.open]);
    /** @param {import("pocketbase").SendOptions["query"]} more */
    const list = (more) => sendIntegrations("GET", "/deliveries", {
        query: {
            webhook: webhookId,
            status: data.status || undefined,
            type: data.type || undefined,
            contact: data.contact.trim() || undefined,
            from: inputTime(data.from) || undefined,
            to: inputTime(data.to) || undefined,
            cursor: data.cursors.at(-1),
            ...more,
        },
    });
    const [webhook, [health], activity, page] = await Promise.all([
        app.pb.collection("webhooks").getOne(webhookId, { expand: "tenant", fields: webhookFields, requestKey: null }),
        callIntegrations("GET", `/webhooks/health?ids=${webhookId}`),
        loadActivity(data, async (period) => (await sendIntegrations("GET", `/webhooks/${webhookId}/activity`, { query: { period } })).data),
        list({ grouped: true }),
    ]);
    const rows = (await Promise.all(page.data.map(async (row) => {
        if (row.count === 1 || !data.open.includes(row.since)) {
            return [row];
        }
        const others = await list({ cursor: row.cursor, limit: Math.min(row.count - 1, maxOpened) });
        return [{ ...row, isOpen: true }, ...others.data];
    }))).flat();
    keep(data, "webhook", webhook);
    keep(data, "health", health || null);
    keep(data, "activity", activity);
    if (data.shown !== shown || !movesAimedAt(data.rows, rows)) {
        keep(data, "rows", rows);
        data.shown = shown;
        data.next = page.next;
    }
}

/**
 * Whether new rows would move the one whose buttons are below the pointer: a click must not hit another row.
 *
 * @param {{ id: string }[] | null} shown
 * @param {{ id: string }[]} rows
 */
function movesAimedAt(shown, rows) {
    const id = /** @type {HTMLElement | null} */ (document.querySelector(".integrations-table tr:has(.integrations-actions:hover)"))?.dataset.id;
    const at = shown?.findIndex((row) => row.id === id) ?? -1;
    return at >= 0 && rows[at]?.id !== id;
}

/**
 * The charts, below a line that sums them up.
 *
 * @param {DeliveriesData} data
 */
function foldedCharts(data) {
    return t.details(
        { className: "integrations-details integrations-folded-charts" },
        t.summary(null, "Charts", () => t.span(null, data.activity ? ` · ${periods[data.activity.period].title}: ${sums(attemptSeries, attemptData(data), counts)} · ${responseTimes(data.activity)}` : "")),
        periodButtons(data),
        attemptCharts(data),
    );
}

/**
 * @param {DeliveriesData} data
 * @param {() => unknown} search
 */
function deliveriesFilters(data, search) {
    let timer = 0;
    /** @param {EventOf<"input", HTMLInputElement>} event */
    const typed = (event) => {
        data.contact = event.currentTarget.value;
        clearTimeout(timer);
        timer = setTimeout(search, 250);
    };
    /**
     * @param {string} label
     * @param {"from" | "to"} name
     */
    const timeField = (label, name) => textField(label, data, name, {
        type: "datetime-local",
        onchange: (event) => {
            data[name] = event.currentTarget.value;
            search();
        },
    });
    return t.details(
        { className: "integrations-details integrations-folded-filters", open: matchMedia("(min-width: 601px)").matches },
        t.summary(null, "Filters"),
        t.div(
            { className: "integrations-filters" },
            selectField("Status", data, "status", () => [["", "All"], ...Object.entries(deliveryStates).map(stateOption)], { onchange: search }),
            selectField("Event", data, "type", () => [["", "All"], ...eventOptions()], { onchange: search }),
            textField("Contact", data, "contact", { type: "search", placeholder: "ID or email", oninput: typed }),
            timeField("From", "from"),
            timeField("To", "to"),
        ),
    );
}

/**
 * @param {[string, State]} entry
 * @returns {[string, string]}
 */
function stateOption([value, { text }]) {
    return [value, text];
}

/**
 * Pages one after the other: a list that grows at the top has no page numbers that stay.
 *
 * @param {{ next: string | null, cursors: string[] }} data
 * @param {string} what
 * @param {[back: string, on: string, start: string]} labels
 */
function cursorPager(data, what = "deliveries", [back, on, start] = ["Newer", "Older", "Latest"]) {
    return () => {
        const { next, cursors } = data;
        if (!next && !cursors.length) {
            return null;
        }
        return t.nav(
            { className: "integrations-pager", ariaLabel: "Pages" },
            pagerButton("ri-arrow-left-s-line", `${back} ${what}`, !cursors.length, () => (data.cursors = cursors.slice(0, -1))),
            t.span({ "html-aria-live": "polite" }, cursors.length ? `Page ${cursors.length + 1}` : start),
            pagerButton("ri-arrow-right-s-line", `${on} ${what}`, !next, () => {
                if (next && next !== data.cursors.at(-1)) { // the second click of two is for the page that is on its way
                    data.cursors = [...data.cursors, next];
                }
            }),
        );
    };
}
