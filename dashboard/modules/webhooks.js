// Webhooks: list with health, test, rotate, enable and disable. The form is in webhookForm.js.

/** @typedef {Webhook & { health: Health, muted: boolean }} WebhookRow */

function webhooksPage() {
    /** @type {List<WebhookRow>} */
    const data = store({ rows: null, page: 1, totalPages: 0, totalItems: 0 });

    async function load() {
        const webhooks = await loadPage(data, "webhooks", {
            sort: "-created",
            expand: "tenant",
            fields: "id,tenant,name,url,events,headerNames,filter,maxPerSecond,disabled,disabledReason,expand.tenant.name",
        });
        const ids = webhooks.map(({ id }) => id).join(",");
        // one for each webhook, in their order
        const health = ids ? await callIntegrations("GET", `/webhooks/health?ids=${ids}`) : [];
        keep(data, "rows", webhooks.map((webhook, index) => ({
            ...webhook,
            health: /** @type {Health} */ (health[index]),
            muted: webhook.disabled,
        })));
    }

    return integrationsPage({
        title: "Webhooks",
        intro: "A webhook receives a signed request when a contact of its tenant changes. Failed deliveries are retried for three days.",
        actions: [newButton("New webhook", () => editWebhook())],
        load,
        content: () => [
            table({
                label: "Webhooks",
                data,
                empty: () => emptyState(
                    "ri-webhook-line",
                    "No webhooks yet",
                    "Enter the address of a receiver, then send it a test event.",
                    newButton("New webhook", () => editWebhook()),
                ),
                columns: [
                    { name: "Receiver", cell: webhookName },
                    { name: "Tenant", cell: (webhook) => webhook.expand?.tenant?.name || webhook.tenant },
                    { name: "Events", cell: (webhook) => eventLabel(webhook.events) },
                    { name: "Last 24 hours", cell: healthCell },
                    { name: "State", cell: webhookState },
                    { className: "integrations-actions", cell: webhookActions },
                ],
            }),
            pager(data),
        ],
    });
}

/** @param {Webhook} webhook */
function webhookName(webhook) {
    return t.div(
        { className: "integrations-named" },
        webhook.name ? t.strong(null, webhook.name) : null,
        t.span({ className: "integrations-url", title: webhook.url }, receiverLabel(webhook)),
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
    return chosen.map((kind) => kind.replace("contact.", "")).join(", ");
}

/** @param {WebhookRow} webhook */
function healthCell({ id, health }) {
    const { delivered, failed, pending, oldestPending } = health;
    if (!delivered && !failed && !pending) {
        return t.span({ className: "txt-hint" }, "nothing sent");
    }
    return t.div(
        { className: "integrations-health" },
        t.span(null, t.strong(null, cappedCount(delivered, delivered + failed)), " delivered"),
        failed ? t.a({ className: "integrations-bad", href: deliveriesPath(id) + "?status=failed" }, t.strong(null, cappedCount(failed, delivered + failed)), " failed") : null,
        pending
            ? t.span({ className: "integrations-waits" }, t.strong(null, cappedCount(pending)), " waiting, the oldest from ", timeAgo(oldestPending))
            : null,
    );
}

/** @param {Webhook} webhook */
function webhookState({ disabled, disabledReason }) {
    if (!disabled) {
        return stateLabel({ text: "Enabled", style: "success" });
    }
    return t.div(
        { className: "integrations-named" },
        stateLabel({ text: "Disabled", style: "danger" }),
        disabledReason ? t.span({ className: "txt-sm" }, disabledReason) : null,
    );
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
        webhook.url === inspectURL
            ? t.a(
                { className: "btn sm transparent secondary", href: inspectPath(webhook.id), ariaLabel: `Inspect ${called}` },
                t.i({ className: "ri-radar-line", ariaHidden: true }),
                t.span({ className: "txt" }, "Inspect"),
            )
            : null,
        actionButton("Send test event", "ri-send-plane-line", () => testWebhook(webhook), { ariaLabel: `Send test event to ${called}` }),
        t.a(
            { className: "btn sm transparent secondary", href: deliveriesPath(webhook.id), ariaLabel: `Deliveries to ${called}` },
            t.i({ className: "ri-list-check", ariaHidden: true }),
            t.span({ className: "txt" }, "Deliveries"),
        ),
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

/**
 * Sends a ping and shows what came back.
 *
 * @param {Webhook} webhook
 */
function testWebhook(webhook) {
    /** @type {{ attempt: AttemptDetails | null, fault: string }} */
    const state = store({ attempt: null, fault: "" });
    openDialog({
        title: "Test event",
        content: t.div({ "html-aria-live": "polite" }, () => {
            if (state.fault) {
                return t.div({ className: "alert danger" }, state.fault);
            }
            if (!state.attempt) {
                return t.p({ className: "integrations-waiting" }, t.span({ className: "loader sm", ariaHidden: true }), ` Sending to ${receiverLabel(webhook)} …`);
            }
            return [t.p({ className: "integrations-url m-b-sm" }, receiverLabel(webhook)), attemptDetails(state.attempt)];
        }),
        footer: (close) => [
            t.button({ type: "button", className: "btn expanded m-l-auto", autofocus: true, onclick: close }, t.span({ className: "txt" }, "Close")),
        ],
    });
    callIntegrations("POST", `/webhooks/${webhook.id}/ping`)
        .then((made) => (state.attempt = made))
        .catch((error) => (state.fault = errorText(error)))
        .finally(refreshPage);
}

/** @param {Webhook} webhook */
function rotateWebhook(webhook) {
    confirmDialog({
        title: "Rotate the secret?",
        text: "A new secret is made and shown once. For 24 hours the old one signs beside it in the header webhook-signature; X-Signature uses the new one at once.",
        action: "Rotate secret",
        style: "warning",
        run: () => callIntegrations("POST", `/webhooks/${webhook.id}/rotate`),
    });
}

/**
 * @param {Webhook} webhook
 * @param {boolean} disabled
 */
async function switchWebhook(webhook, disabled) {
    await attempt(
        () => app.pb.collection("webhooks").update(webhook.id, { disabled }, { requestKey: null }),
        disabled ? "Disabled. Its events are kept." : "Enabled. What waits is delivered now.",
    );
    refreshPage();
}

/** @param {Webhook} webhook */
function deleteWebhook(webhook) {
    confirmDialog({
        title: "Delete the webhook?",
        text: `${receiverLabel(webhook)} receives nothing any more, and its record of deliveries is deleted too.`,
        action: "Delete webhook",
        run: async () => {
            await app.pb.collection("webhooks").delete(webhook.id, { requestKey: null });
            refreshPage();
        },
    });
}
