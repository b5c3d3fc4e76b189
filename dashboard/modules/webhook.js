// A webhook's page: what it is and how it does, above its deliveries, which deliveries.js has.

/**
 * The URL, settings and figures of a webhook.
 *
 * @param {Webhook} webhook
 * @param {DeliveriesData} data
 */
function webhookHead(webhook, data) {
    const { disabled, disabledReason } = webhook;
    return t.div(
        { className: "integrations-head" },
        t.div(
            { className: "integrations-delivery-head" },
            () => (data.health ? stateLabel(healthStates[data.health.state]) : null),
            middleCut(receiverLabel(webhook)),
            webhook.url === inspectURL ? t.a({ href: inspectPath(webhook.id) }, "Inspect") : null,
        ),
        () => failureLine(data.health),
        disabled ? t.div(
            { className: "alert warning integrations-section" },
            t.span(null, ["This webhook is disabled.", disabledReason, "Pending deliveries wait. After you enable it, recover the events that it missed."].filter(Boolean).join(" ")),
            forEditors(t.button({ type: "button", className: "btn sm", onclick: () => switchWebhook(webhook, false) }, t.span({ className: "txt" }, "Enable"))),
        ) : null,
        webhook.undeclaredEvents.length ? t.div(
            { className: "alert warning integrations-section" },
            `No extension declares ${webhook.undeclaredEvents.join(", ")} any more, so no new events of ${webhook.undeclaredEvents.length === 1 ? "this type" : "these types"} are sent.`,
        ) : null,
        t.dl(
            { className: "integrations-facts" },
            fact("Success rate (24 hours)", () => successRate(data.health)),
            fact("Response time", () => (data.activity ? `${responseTimes(data.activity)} · ${periods[data.activity.period].title.toLowerCase()}` : "–")),
            fact("Events", () => t.span(null, eventLabel(webhook.events))),
            webhook.filter ? fact("Filter", () => t.code(null, middleCut(webhook.filter))) : null,
            fact("Secret", () => (webhook.secretPrefix ? t.code(null, webhook.secretPrefix + "…") : "Your own")),
            webhook.headerNames.length ? fact("Own headers", () => webhook.headerNames.join(", ")) : null,
            webhook.maxPerSecond ? fact("Maximum per second", () => count(webhook.maxPerSecond)) : null,
            forSuperusers(fact("Tenant", () => tenantCell(webhook))),
            fact("Created", () => timeAgo(webhook.created)),
            fact("ID", () => copyableId(webhook.id)),
        ),
    );
}

/**
 * @param {string} name
 * @param {() => Part} value
 */
function fact(name, value) {
    return t.div(null, t.dt(null, name), t.dd(null, value));
}

/**
 * Why the endpoint fails and since when, or that a failing one works again.
 *
 * @param {Health | null} health
 */
function failureLine(health) {
    if (health?.failingSince) {
        return t.p({ className: "integrations-bad" }, `${health.lastError || "Attempts fail"} · all attempts failed since `, timeAgo(health.failingSince));
    }
    return health?.state === "failing" ? t.p(
        { className: "integrations-well" },
        "The last attempt succeeded. The webhook still counts as failing, because over half of its attempts of the last 24 hours failed.",
    ) : null;
}

/** @param {Health | null} health */
function successRate(health) {
    if (!health?.attempts) {
        return "no attempts";
    }
    const { attempts, failedAttempts } = health;
    return t.span({ title: `${count(failedAttempts)} of ${plural(attempts, "attempt")} failed` }, percentage(attempts - failedAttempts, attempts));
}

/**
 * What is pending, with a button that sends it now.
 *
 * @param {DeliveriesData} data
 */
function pendingLine({ webhook, health }) {
    if (!webhook || !health?.pending || webhook.disabled) {
        return null;
    }
    const { pending, oldestPending } = health;
    return t.div(
        { className: "integrations-section integrations-pending", role: "status" },
        t.span(null, `${cappedCount(pending)} pending ${pending === 1 ? "delivery" : "deliveries"}, the oldest from `, timeAgo(oldestPending)),
        forEditors(t.button(
            { type: "button", className: "btn sm secondary", onclick: () => recoverDeliveries([webhook.id], oldestPending) },
            t.span({ className: "txt" }, `Retry ${cappedCount(pending)} now`),
        )),
    );
}

/**
 * The buttons of the page of a webhook.
 *
 * @param {DeliveriesData} data
 */
function webhookPageActions(data) {
    return () => {
        const { webhook } = data;
        return webhook ? t.div(
            { rid: JSON.stringify(webhook), className: "integrations-buttons" },
            forEditors(
                t.button(
                    { type: "button", className: "btn secondary", ariaLabel: "Send test event", onclick: () => testWebhook(webhook) },
                    t.i({ className: "ri-send-plane-line", ariaHidden: true }),
                    t.span({ className: "txt" }, "Test"),
                ),
                t.button(
                    { type: "button", className: "btn secondary", ariaLabel: "Recover…", onclick: () => recoverDeliveries([webhook.id], data.health?.oldestPending) },
                    t.i({ className: "ri-history-line", ariaHidden: true }),
                    t.span({ className: "txt" }, "Recover…"),
                ),
            ),
            webhookMenu(webhook),
        ) : null;
    };
}
