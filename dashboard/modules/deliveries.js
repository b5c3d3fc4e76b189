// The deliveries of a webhook: a live list, filters, redelivery, recovery.

function deliveriesPage(route) {
    const webhookId = route.params.id;
    const data = store({
        rows: null,
        webhook: null,
        status: route.query.status?.[0] || "",
        type: "",
        contact: "",
        from: "",
        to: "",
        cursors: [], // of the pages before and of this one; none on the first
        next: null,
    });

    async function load() {
        const [webhook, page] = await Promise.all([
            app.pb.collection("webhooks").getOne(webhookId, { fields: "id,name,url,disabled,disabledReason", requestKey: null }),
            sendIntegrations("GET", "/deliveries", {
                query: {
                    webhook: webhookId,
                    status: data.status || undefined,
                    type: data.type || undefined,
                    contact: data.contact.trim() || undefined,
                    from: inputTime(data.from) || undefined,
                    to: inputTime(data.to) || undefined,
                    cursor: data.cursors.at(-1),
                },
            }),
        ]);
        keep(data, "webhook", webhook);
        keep(data, "rows", page.data);
        data.next = page.next;
    }

    function search() {
        data.cursors = [];
        refreshPage();
    }

    return integrationsPage({
        title: "Deliveries",
        trail: [["Webhooks", integrationsPath + "/webhooks"]],
        actions: [
            t.button(
                { type: "button", className: "btn secondary", ariaLabel: "Recover failed since…", onclick: () => recoverDeliveries(webhookId) },
                t.i({ className: "ri-history-line", ariaHidden: true }),
                t.span({ className: "txt" }, "Recover failed since…"),
            ),
        ],
        load,
        content: () => [
            () => (data.webhook ? deliveriesHead(data.webhook) : null),
            deliveriesFilters(data, search),
            table({
                label: "Deliveries",
                data,
                empty: () => (data.status || data.type || data.contact || data.from || data.to
                    ? emptyState("ri-search-line", "Nothing found", "No delivery matches these filters.")
                    : emptyState("ri-mail-send-line", "Nothing delivered yet", "Change a contact of the tenant, or send a test event: it appears here by itself.")),
                columns: [
                    { name: "Event", cell: deliveryEvent },
                    { name: "State", cell: (delivery) => stateLabel(deliveryStates[delivery.status]) },
                    { name: "Last answer", cell: lastAnswer },
                    { name: "Attempts", cell: (delivery) => String(delivery.attempts) },
                    { name: "Next attempt", cell: (delivery) => timeAgo(delivery.status === "pending" ? delivery.nextAttempt : "", "–") },
                    { name: "Made", cell: (delivery) => timeAgo(delivery.created) },
                    { className: "integrations-actions", cell: deliveryActions },
                ],
            }),
            cursorPager(data),
        ],
    });
}

function deliveriesHead({ name, url, disabled, disabledReason }) {
    return t.div(
        { className: "integrations-head" },
        t.p(null, "To ", t.strong(null, name || url), name ? t.span({ className: "txt-hint" }, " · " + url) : null),
        disabled ? t.div({ className: "alert warning" }, `The webhook is disabled: its events wait. ${disabledReason}`) : null,
    );
}

function deliveriesFilters(data, search) {
    let timer;
    const typed = (event) => {
        data.contact = event.target.value;
        clearTimeout(timer);
        timer = setTimeout(search, 250);
    };
    const timeField = (label, name) => textField(label, data, name, {
        type: "datetime-local",
        onchange: (event) => {
            data[name] = event.target.value;
            search();
        },
    });
    return t.div(
        { className: "integrations-filters" },
        selectField("State", data, "status", () => [["", "All"], ...Object.entries(deliveryStates).map(([value, { text }]) => [value, text])], { onchange: search }),
        selectField("Event", data, "type", () => [["", "All"], ...Object.entries(eventKinds)], { onchange: search }),
        textField("Contact", data, "contact", { type: "search", placeholder: "Id or e-mail address", oninput: typed }),
        timeField("From", "from"),
        timeField("Until", "to"),
    );
}

function deliveryEvent({ type, contact }) {
    return t.div(
        { className: "integrations-named" },
        t.strong(null, eventKinds[type] || type),
        contact ? t.code(null, contact) : null,
    );
}

function lastAnswer({ lastStatus, lastError, attempts }) {
    if (lastError) {
        return t.span({ className: "integrations-clamp", title: lastError }, lastError);
    }
    return lastStatus ? String(lastStatus) : t.span({ className: "txt-hint" }, attempts ? "none" : "not sent yet");
}

function deliveryActions(delivery) {
    return t.div(
        { className: "integrations-buttons" },
        actionButton("Details", "ri-search-eye-line", () => showDelivery(delivery)),
        actionButton("Redeliver", "ri-refresh-line", () => redeliver(delivery)),
    );
}

function redeliver(delivery) {
    return attempt(() => callIntegrations("POST", `/deliveries/${delivery.id}/redeliver`), "Queued: it is sent now.").finally(refreshPage);
}

/** Pages one after the other: a list that grows at the top has no page numbers that stay. */
function cursorPager(data) {
    return () => {
        if (!data.next && !data.cursors.length) {
            return null;
        }
        return t.nav(
            { className: "integrations-pager", ariaLabel: "Pages" },
            pagerButton("ri-arrow-left-s-line", "Newer deliveries", !data.cursors.length, () => (data.cursors = data.cursors.slice(0, -1))),
            t.span({ "html-aria-live": "polite" }, data.cursors.length ? `Page ${data.cursors.length + 1}` : "The latest"),
            pagerButton("ri-arrow-right-s-line", "Older deliveries", !data.next, () => (data.cursors = [...data.cursors, data.next])),
        );
    };
}

/** The drawer with the event and all attempts; it goes on looking, so that a redelivery shows its outcome. */
function showDelivery(delivery) {
    const state = store({ delivery, payload: null, attempts: null, fault: "" });
    async function load() {
        try {
            const [fresh, event, attempts] = await Promise.all([
                app.pb.collection("deliveries").getOne(delivery.id, { fields: "id,status", requestKey: null }),
                // the whole record: choosing fields would put the properties of the payload into another order
                state.payload ? null : app.pb.collection("events").getOne(delivery.event, { requestKey: null }),
                listRecords("delivery_attempts", {
                    perPage: 50,
                    sort: "-number,-started",
                    skipTotal: true,
                    conditions: [app.pb.filter("delivery = {:delivery}", { delivery: delivery.id })],
                }),
            ]);
            keep(state, "delivery", { ...delivery, ...fresh });
            keep(state, "attempts", attempts.items);
            if (event) {
                state.payload = layOut(event.payload);
            }
            state.fault = "";
        } catch (error) {
            state.fault = errorText(error);
        }
    }
    const polling = poll(load, 2);
    openDialog({
        title: eventKinds[delivery.type] || delivery.type,
        drawer: true,
        onclose: polling.stop,
        content: [
            () => (state.fault ? t.div({ className: "alert danger", role: "alert" }, state.fault) : null),
            t.div({ className: "integrations-attempt-summary m-b-sm" }, () => stateLabel(deliveryStates[state.delivery.status]), t.code(null, delivery.id)),
            () => textBlock("Request body", state.payload, "Loading…"),
            t.h3({ className: "m-b-10" }, "Attempts"),
            () => {
                if (!state.attempts?.length) {
                    return t.p({ className: "txt-hint" }, state.attempts ? "None yet." : "Loading…");
                }
                return state.attempts.map((attempt) => t.div({ rid: attempt.id }, attemptDetails(attempt)));
            },
        ],
        footer: (close) => [
            t.button({ type: "button", className: "btn transparent m-r-auto", onclick: close }, t.span({ className: "txt" }, "Close")),
            t.button(
                { type: "button", className: "btn expanded", onclick: () => redeliver(delivery).then(polling.again) },
                t.span({ className: "txt" }, "Redeliver"),
            ),
        ],
    });
}

/** Says how many there are before it acts. */
function recoverDeliveries(webhookId) {
    const yesterday = app.utils.toDatetimeLocalInputValue(new Date(Date.now() - 24 * 60 * 60 * 1000)).slice(0, 16);
    const data = store({ since: yesterday, count: null, fault: "" });
    const recover = (dryRun) => callIntegrations("POST", `/webhooks/${webhookId}/recover`, { since: inputTime(data.since), dryRun });

    async function count() {
        data.count = null;
        data.fault = "";
        if (!data.since) {
            return;
        }
        try {
            data.count = (await recover(true)).count;
        } catch (error) {
            data.fault = errorText(error);
        }
    }
    count();

    openForm({
        title: "Recover failed deliveries",
        submit: "Queue them again",
        size: "sm",
        content: () => [
            t.p(null, "Everything that failed, or was never attempted, since then is sent again."),
            textField("Since", data, "since", {
                type: "datetime-local",
                required: true,
                onchange: (event) => {
                    data.since = event.target.value;
                    count();
                },
            }),
            t.p({ className: "integrations-outcome", role: "status" }, () => {
                if (data.fault) {
                    return data.fault;
                }
                return data.count === null ? "Counting…" : `${plural(data.count, "delivery", "deliveries")} would be sent again.`;
            }),
        ],
        run: async () => {
            const { count } = await recover(false);
            app.toasts.success(`${plural(count, "delivery", "deliveries")} queued.`);
            refreshPage();
        },
    });
}
