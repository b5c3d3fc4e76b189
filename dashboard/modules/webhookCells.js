// The columns of the list of webhooks: each row is one line.

/** @type {Column<WebhookRow>[]} */
const webhookColumns = [
    { name: "Receiver", className: "integrations-grows", cell: webhookName },
    { name: "Tenant", className: "integrations-shrinks", cell: tenantCell },
    { name: "Events", cell: ({ events }) => eventLabel(events) },
    { name: "Health", cell: webhookHealth },
    { name: "Error rate", className: "integrations-number", cell: errorRate },
    { name: "Delivered", className: "integrations-number", cell: ({ health: { delivered, failed } }) => cappedCount(delivered, delivered + failed) },
    { name: "Failed", className: "integrations-number", cell: failedCount },
    { name: "Pending", className: "integrations-number", cell: waitingCount },
    { className: "integrations-actions", cell: webhookActions },
];

/** @param {OfTenant} record */
function tenantCell({ tenant, expand }) {
    const name = expand?.tenant?.name || tenant;
    return t.span({ className: "integrations-ellipsis", title: name }, name);
}

/** @param {Webhook} webhook */
function webhookName(webhook) {
    const receiver = receiverLabel(webhook);
    return t.a(
        { className: "integrations-receiver", href: deliveriesPath(webhook.id), title: receiver },
        webhook.name ? [t.strong(null, webhook.name), " ", t.span({ className: "txt-hint" }, receiver)] : t.strong(null, receiver),
    );
}

/**
 * No event chosen means all.
 *
 * @param {EventKind[]} events
 */
function eventLabel(events) {
    const chosen = (events || []).filter((kind) => kind !== "webhook.ping");
    if (!chosen.length) {
        return "All";
    }
    if (chosen.length === 1) {
        return chosen[0]?.replace("contact.", "");
    }
    return t.span({ title: chosen.join(", ") }, `${chosen.length} event types`);
}

/** @param {WebhookRow} webhook */
function webhookHealth({ health: { state }, disabledReason }) {
    const { text, style } = healthStates[state];
    return t.span({ className: `label ${style}`, title: state === "disabled" ? disabledReason : "" }, text);
}

/** @param {WebhookRow} webhook */
function errorRate({ health: { attempts, failedAttempts } }) {
    if (!attempts) {
        return t.span({ className: "txt-hint" }, "–");
    }
    return t.span({ title: `${count(failedAttempts)} of ${plural(attempts, "attempt")} failed` }, percentage(failedAttempts, attempts));
}

/** @param {WebhookRow} webhook */
function failedCount({ id, health: { delivered, failed } }) {
    return failed
        ? t.a({ className: "integrations-bad", href: deliveriesPath(id) + "?status=failed" }, cappedCount(failed, delivered + failed))
        : "0";
}

/** @param {WebhookRow} webhook */
function waitingCount({ id, health: { pending, oldestPending } }) {
    return pending
        ? t.a(
            {
                className: "integrations-waits",
                href: deliveriesPath(id) + "?status=pending",
                title: `The oldest has been pending since ${parseTime(oldestPending || "").toLocaleString()}`,
            },
            cappedCount(pending),
        )
        : "0";
}

/** @param {string} id */
function deliveriesPath(id) {
    return `${integrationsPath}/webhooks/${id}/deliveries`;
}

/** @param {Webhook} webhook */
function webhookActions(webhook) {
    const called = webhook.name || webhook.url;
    return t.div(
        { className: "integrations-buttons" },
        webhook.url === inspectURL ? actionLink("Inspect", "ri-radar-line", inspectPath(webhook.id), `Inspect ${called}`) : null,
        forEditors(actionButton("Test", "ri-send-plane-line", () => testWebhook(webhook), { ariaLabel: `Send test event to ${called}` })),
        actionLink("Deliveries", "ri-list-check", deliveriesPath(webhook.id), `Deliveries to ${called}`),
        actionMenu(`More for ${called}`, [
            ["Edit", "ri-edit-line", () => editWebhook(webhook)],
            ["Rotate secret", "ri-refresh-line", () => rotateWebhook(webhook)],
            webhook.disabled
                ? ["Enable", "ri-play-line", () => switchWebhook(webhook, false)]
                : ["Disable", "ri-pause-line", () => switchWebhook(webhook, true)],
            ["Delete", "ri-delete-bin-7-line", () => deleteWebhook(webhook), "integrations-bad"],
        ]),
    );
}
