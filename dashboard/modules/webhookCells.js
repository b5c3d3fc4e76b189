// The columns of the list of webhooks: each row is one line.

/** @type {Column<WebhookRow>[]} */
const webhookColumns = [
    { name: "Receiver", className: "integrations-grows", cell: webhookName, sort: "name" },
    { name: "Tenant", className: "integrations-shrinks integrations-roomy", cell: tenantCell },
    { name: "Events", className: "integrations-wide", cell: ({ events }) => eventLabel(events) },
    { name: "Health", cell: webhookHealth },
    { name: "Error rate", className: "integrations-number", cell: errorShare, sort: "errorRate", descends: true },
    { name: "Failed", className: "integrations-number integrations-wide", cell: failedCount },
    { name: "Pending", className: "integrations-number", cell: waitingCount, sort: "pending", descends: true },
    { name: "Last error", className: "integrations-shrinks integrations-roomy", cell: lastFailure },
    { name: "Last success", className: "integrations-wide", cell: ({ lastSuccess }) => (lastSuccess ? timeAgo(lastSuccess) : t.span({ className: "txt-hint" }, "–")) },
    { className: "integrations-actions", cell: webhookActions },
];

/** @param {OfTenant} record */
function tenantCell({ tenant, expand }) {
    return middleCut(expand?.tenant?.name || tenants.list.find(({ id }) => id === tenant)?.name || tenant);
}

/** @param {Webhook} webhook */
function webhookName(webhook) {
    const receiver = receiverLabel(webhook);
    return t.a(
        { className: "integrations-receiver", href: webhookPath(webhook.id) },
        t.strong(null, middleCut(webhook.name || receiver)),
        webhook.name ? middleCut(receiver, "txt-hint") : null,
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
function webhookHealth({ health, disabledReason }) {
    const { text, style } = healthStates[health];
    return t.span({ className: `label ${style}`, title: health === "disabled" ? disabledReason : "" }, text);
}

/**
 * Why the last attempt failed, and since when all do.
 *
 * @param {WebhookRow} webhook
 */
function lastFailure({ health, failingSince, lastError }) {
    if (!failingSince) {
        return t.span({ className: "txt-hint" }, health === "failing" ? "Last attempt succeeded" : "–");
    }
    return t.div(
        { className: "integrations-named" },
        t.span({ className: "integrations-ellipsis", title: lastError || "" }, lastError || "Unknown"),
        t.span({ className: "txt-hint" }, "since ", timeAgo(failingSince)),
    );
}

/** @param {WebhookRow} webhook */
function errorShare({ attempts, errorRate }) {
    if (!attempts) {
        return t.span({ className: "txt-hint" }, "–");
    }
    const failed = Math.round(errorRate * attempts);
    return t.span({ title: `${count(failed)} of ${plural(attempts, "attempt")} failed` }, percentage(failed, attempts));
}

/** @param {WebhookRow} webhook */
function failedCount({ id, failed }) {
    return failed ? t.a({ className: "integrations-bad", href: webhookPath(id) + "?status=failed" }, cappedCount(failed)) : "0";
}

/** @param {WebhookRow} webhook */
function waitingCount({ id, pending }) {
    return pending ? t.a({ className: "integrations-waits", href: webhookPath(id) + "?status=pending" }, cappedCount(pending)) : "0";
}

/** @param {string} id */
function webhookPath(id) {
    return `${integrationsPath}/webhooks/${id}`;
}

/** @param {Webhook} webhook */
function webhookActions(webhook) {
    const called = webhook.name || webhook.url;
    return t.div(
        { className: "integrations-buttons" },
        webhook.url === inspectURL ? actionLink("Inspect", "ri-radar-line", inspectPath(webhook.id), `Inspect ${called}`) : null,
        forEditors(actionButton("Test", "ri-send-plane-line", () => testWebhook(webhook), { ariaLabel: `Send test event to ${called}` })),
        webhookMenu(webhook),
        t.a({ className: "btn sm circle transparent secondary", href: webhookPath(webhook.id), ariaLabel: `Open ${called}` }, t.i({ className: "ri-arrow-right-s-line", ariaHidden: true })),
    );
}

/** @param {Webhook} webhook */
function webhookMenu(webhook) {
    return actionMenu(`More for ${webhook.name || webhook.url}`, [
        ["Edit", "ri-edit-line", () => editWebhook(webhook)],
        ["Rotate secret", "ri-refresh-line", () => rotateWebhook(webhook)],
        webhook.disabled
            ? ["Enable", "ri-play-line", () => switchWebhook(webhook, false)]
            : ["Disable", "ri-pause-line", () => switchWebhook(webhook, true)],
        ["Delete", "ri-delete-bin-7-line", () => deleteWebhook(webhook), "integrations-bad"],
    ]);
}
