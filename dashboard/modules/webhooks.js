// Webhooks: list with health, test, rotate, enable and disable. The form is in webhookForm.js, the cells in webhookCells.js.

/** @typedef {Webhook & { health: Health, muted: boolean }} WebhookRow */

/** @param {Route<never>} route */
function webhooksPage(route) {
    /** @type {List<WebhookRow> & { search: string, tenant: string }} */
    const data = store({ rows: null, page: 1, totalPages: 0, totalItems: 0, search: "", tenant: route.query.tenant?.[0] || "" });

    async function load() {
        const webhooks = await loadPage(data, "webhooks", {
            sort: "-created",
            expand: "tenant",
            fields: "id,tenant,name,url,events,headerNames,filter,maxPerSecond,disabled,disabledReason,expand.tenant.name",
            conditions: filterConditions(data, ["name", "url"]),
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
        intro: "A webhook receives a signed request when a contact changes. Failed deliveries are retried for three days. The numbers cover the last 24 hours.",
        actions: [newButton("New webhook", () => editWebhook(undefined, data.tenant))],
        load,
        content: () => [
            tenantFilters("Search by name or URL", data),
            table({
                label: "Webhooks",
                data,
                empty: () => (data.search || data.tenant
                    ? emptyState("ri-search-line", "Nothing found", "No webhook matches.")
                    : emptyState(
                        "ri-webhook-line",
                        "No webhooks yet",
                        "Enter the URL of a receiver, then send it a test event.",
                        newButton("New webhook", () => editWebhook()),
                    )),
                columns: webhookColumns,
            }),
            pager(data),
        ],
    });
}

/**
 * Sends a ping and shows the response.
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
                return t.p({ className: "integrations-waiting" }, t.span({ className: "loader sm", ariaHidden: true }), ` Sending to ${receiverLabel(webhook)}…`);
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
    const data = store({ overlapHours: "24" });
    openForm({
        title: "Rotate the secret?",
        submit: "Rotate secret",
        size: "sm",
        style: "warning",
        content: () => [
            t.p(null, "Creates a new secret and shows it once. X-Signature uses it immediately."),
            selectField("The old secret", data, "overlapHours", () => [
                ["24", "also signs webhook-signature for 24 hours"],
                ["0", "ends immediately, with all older ones"],
            ]),
        ],
        run: () => callIntegrations("POST", `/webhooks/${webhook.id}/rotate`, { overlapHours: Number(data.overlapHours) }),
    });
}

/**
 * @param {Webhook} webhook
 * @param {boolean} disabled
 */
async function switchWebhook(webhook, disabled) {
    await attempt(
        () => app.pb.collection("webhooks").update(webhook.id, { disabled }, { requestKey: null }),
        disabled
            ? "Disabled. Pending deliveries wait. Once it is enabled, recover the events missed meanwhile."
            : "Enabled. Pending deliveries keep their schedule. Recover the events missed meanwhile.",
    );
    refreshPage();
}

/** @param {Webhook} webhook */
function deleteWebhook(webhook) {
    confirmDialog({
        title: "Delete the webhook?",
        text: `${receiverLabel(webhook)} receives no more events. Its delivery history is deleted too.`,
        action: "Delete webhook",
        run: async () => {
            await app.pb.collection("webhooks").delete(webhook.id, { requestKey: null });
            refreshPage();
        },
    });
}
