// Events, the newest first: search, one event with its deliveries, and redelivery to one webhook or all.

/** How many webhooks the form of a redelivery offers: a tenant may have as many. */
const maxOfferedWebhooks = 100;

/** @typedef {"id" | "type" | "contact" | "since" | "tenant" | "before" | "event"} EventsFilter */

/**
 * @typedef {Record<EventsFilter, string> & {
 *     rows: EventLine[] | null, search: string, cursors: string[], next: string | null, shown: string,
 * }} EventsData
 */

/** @param {string} id */
function eventPath(id) {
    return `${integrationsPath}/events?event=${id}`;
}

/** @param {Route<never>} route */
function eventsPage(route) {
    const chosen = fromAddress(route, { id: "", type: "", contact: "", since: "", tenant: "", before: "", event: "" });
    /** @type {EventsData} */
    const data = store({ rows: null, search: chosen.id, cursors: chosen.before ? [chosen.before] : [], next: null, shown: "", ...chosen });

    function search() {
        data.cursors = [];
        refreshPage();
    }

    return integrationsPage({
        title: "Events",
        intro: "Each change of a contact creates an event for your webhooks. Events are kept for 30 days, unless the operator has set another period.",
        load: () => loadEvents(data),
        opened: () => openedRow(data, "event", showEvent),
        content: () => [
            eventsFilters(data, search),
            table({
                label: "Events",
                data,
                empty: () => (data.id || data.type || data.contact || data.since || data.tenant
                    ? emptyState("ri-search-line", "Nothing found", data.next ? "None of the last 5,000 events matches. Go to older events to continue the search." : "No event matches these filters.")
                    : emptyState("ri-broadcast-line", "No events yet", mayChange() ? "Change a contact. Its event appears here automatically." : "The event of the next change appears here automatically.")),
                columns: [
                    { name: "Event", cell: ({ type }) => t.strong({ className: "txt-nowrap" }, eventKinds[type] || type) },
                    { name: "Tenant", className: "integrations-shrinks integrations-roomy", cell: ({ tenant = "" }) => tenantCell({ tenant }) },
                    { name: "ID", className: member() ? "integrations-roomy" : "integrations-wide", cell: ({ id }) => copyableId(id) },
                    { name: "Contact", className: "integrations-grows", cell: eventContact },
                    { name: "Deliveries", cell: ({ deliveries }) => deliveryCounts(deliveries) },
                    { name: "Created", cell: ({ createdAt }) => timeAgo(createdAt) },
                    { className: "integrations-actions", cell: (line) => eventActions(line, data) },
                ],
            }),
            cursorPager(data, "events"),
        ],
    });
}

/** @param {EventsData} data */
async function loadEvents(data) {
    const { type, contact, since, tenant, event } = data;
    const id = data.search.trim();
    data.id = id;
    const before = data.cursors.at(-1) || "";
    toAddress({ id, type, contact, since, tenant, before, event });
    const shown = JSON.stringify([id, type, contact, since, tenant, before]);
    const page = await sendIntegrations("GET", "/events", {
        query: {
            id: id || undefined,
            type: type || undefined,
            contact: contact.trim() || undefined,
            since: inputTime(since) || undefined,
            tenant: tenant || undefined,
            before: before || undefined,
        },
    });
    if (data.shown !== shown || !movesAimedAt(data.rows, page.data)) {
        keep(data, "rows", page.data);
        data.next = page.nextBefore || null;
        data.shown = shown;
    }
}

/**
 * @param {EventsData} data
 * @param {() => unknown} search
 */
function eventsFilters(data, search) {
    return t.details(
        { className: "integrations-details integrations-folded-filters", open: matchMedia("(min-width: 601px)").matches },
        t.summary(null, "Filters"),
        t.div(
            { className: "integrations-filters" },
            searchField("Event ID", data, search),
            selectField("Event", data, "type", () => [["", "All"], ...eventOptions()], { onchange: search }),
            textField("Contact ID", data, "contact", { type: "search", onchange: search }),
            textField("Since", data, "since", {
                type: "datetime-local",
                onchange: (event) => {
                    data.since = event.currentTarget.value;
                    search();
                },
            }),
            forSuperusers(selectField("Tenant", data, "tenant", () => [["", "All tenants"], ...tenantOptions()], { onchange: search })),
        ),
    );
}

/** @param {Pick<EventLine, "type" | "contact" | "contactName">} event */
function eventContact({ type, contact, contactName }) {
    if (!contact) {
        return t.span({ className: "txt-hint" }, "–");
    }
    const label = contactName ? middleCut(contactName) : t.code(null, contact);
    return type === "contact.deleted" ? label : t.a({ className: "integrations-receiver", href: contactPath(contact) }, label);
}

/**
 * How many deliveries of an event are in which state.
 *
 * @param {EventLine["deliveries"]} counts
 */
function deliveryCounts(counts) {
    const states = /** @type {[DeliveryStatus, State][]} */ (Object.entries(deliveryStates)).filter(([status]) => counts[status]);
    return states.length
        ? t.span({ className: "integrations-figures" }, states.map(([status, { text, style }]) => stateLabel({ text: `${count(counts[status])} ${text.toLowerCase()}`, style })))
        : t.span({ className: "txt-hint" }, "Sent to no webhook");
}

/**
 * @param {EventLine} line
 * @param {EventsData} data
 */
function eventActions({ id }, data) {
    return t.div(
        { className: "integrations-buttons" },
        actionButton("Details", "ri-search-eye-line", () => openRow(data, "event", id, showEvent), { ariaLabel: `Details of ${id}` }),
        forEditors(actionButton("Redeliver…", "ri-refresh-line", () => attempt(() => redeliverEvent(id)), { ariaLabel: `Redeliver ${id}` })),
    );
}

/**
 * The drawer of an event.
 *
 * @param {string} id
 * @param {() => unknown} [onclose]
 */
function showEvent(id, onclose) {
    /** @type {{ event: EventDetails | null, fault: string }} */
    const state = store({ event: null, fault: "" });
    async function load() {
        try {
            keep(state, "event", await callIntegrations("GET", `/events/${id}`));
            state.fault = "";
        } catch (error) {
            state.fault = isNotFound(error) ? "This event no longer exists." : errorText(error);
        }
    }
    const polling = poll(load);
    openDialog({
        title: () => (state.event ? eventKinds[state.event.type] || state.event.type : "Event"),
        drawer: true,
        onclose: () => {
            polling.stop();
            onclose?.();
        },
        content: [
            () => (state.fault ? t.div({ className: "alert danger", role: "alert" }, state.fault) : null),
            () => {
                if (state.event) {
                    return eventParts(state.event, polling.again);
                }
                return state.fault ? null : t.div({ className: "skeleton-loader", role: "status", ariaLabel: "Loading" });
            },
        ],
        footer: (close) => [
            t.button({ type: "button", className: "btn transparent m-r-auto", onclick: close }, t.span({ className: "txt" }, "Close")),
            forEditors(t.button(
                { type: "button", className: "btn expanded", disabled: () => !state.event, onclick: () => attempt(() => redeliverEvent(id, "", polling.again)) },
                t.span({ className: "txt" }, "Redeliver…"),
            )),
        ],
    });
}

/**
 * @param {EventDetails} event
 * @param {() => unknown} again
 */
function eventParts(event, again) {
    const { id, contact, tenant, createdAt, payload, deliveries, recipients } = event;
    return [
        t.div({ className: "integrations-attempt-summary m-b-sm" }, copyableId(id), timeAgo(createdAt), contact ? eventContact(event) : null, tenant ? tenantCell({ tenant }) : null),
        t.section(
            { className: "integrations-block" },
            t.h3(null, "Deliveries"),
            recipients.length ? null : t.p({ className: "txt-hint" }, "Sent to no webhook."),
            ["failed", "pending", "delivered"].map((status) => recipientGroup(
                /** @type {DeliveryStatus} */ (status),
                deliveries[/** @type {DeliveryStatus} */ (status)],
                recipients.filter((recipient) => recipient.status === status),
                (webhook) => attempt(() => redeliverEvent(id, webhook, again)),
            )),
        ),
        payload ? changesBlock(JSON.stringify(payload)) : null,
        payload && !isErased(payload) ? null : t.p({ className: "txt-hint" }, erasedText),
        payload ? copyBlock("Payload", layOut(payload)) : null,
    ];
}

/**
 * The deliveries of an event in one state, folded where they are many.
 *
 * @param {DeliveryStatus} status
 * @param {number} number of all
 * @param {Recipient[]} recipients those that are known
 * @param {(webhook: string) => unknown} send
 */
function recipientGroup(status, number, recipients, send) {
    if (!number) {
        return null;
    }
    const { text, style } = deliveryStates[status];
    return t.details(
        { rid: status, className: "integrations-details", open: recipients.length <= 10 },
        t.summary(null, stateLabel({ text: `${count(number)} ${text.toLowerCase()}`, style })),
        t.ul(
            { className: "integrations-recipients" },
            recipients.map(({ id, webhook, webhookName: name, webhookURL: url }) => t.li(
                { rid: id },
                t.a({ href: webhookPath(webhook) }, middleCut(name || receiverLabel({ url }))),
                iconButton("Details", "ri-search-eye-line", () => showDelivery(id)),
                forEditors(iconButton("Redeliver", "ri-refresh-line", () => send(webhook))),
            )),
            number > recipients.length ? t.li({ className: "txt-hint" }, `and ${count(number - recipients.length)} more`) : null,
        ),
    );
}

/**
 * Asks to which webhook of the event's tenant it is sent again, and sends it.
 *
 * @param {string} id
 * @param {string} [webhook] that is chosen
 * @param {() => unknown} [done]
 */
async function redeliverEvent(id, webhook = "", done = () => {}) {
    const tenant = member()?.tenant || (await app.pb.collection("events").getOne(id.replace("evt_", ""), { fields: "id,tenant", requestKey: null })).tenant;
    const webhooks = await sendIntegrations("GET", "/webhooks", { query: { tenant, sort: "name", limit: maxOfferedWebhooks } });
    const data = store({ webhook });
    openForm({
        title: "Redeliver this event?",
        size: "sm",
        submit: "Send now",
        content: () => [
            t.p(null, "The event keeps its ID, so that receivers that already have it can recognize it."),
            selectField("Webhook", data, "webhook", () => [
                ["", "All that the event was sent to"],
                ...webhooks.data.map(/** @returns {[string, string]} */ (line) => [line.id, line.name || receiverLabel(line)]),
            ]),
        ],
        run: async () => {
            const { count: queued } = await callIntegrations("POST", `/events/${id}/redeliver`, data.webhook ? { webhook: data.webhook } : {});
            app.toasts.success(`${plural(queued, "delivery", "deliveries")} queued.`);
            refreshPage();
            done();
        },
    });
}
