// Webhooks: list with health, rotate, enable and disable. The form is in webhookForm.js, the cells in webhookCells.js, test events
// in webhookTest.js, the page of one in webhook.js.

/** @typedef {Webhook & Pick<WebhookLine, "health" | "errorRate" | "attempts" | "pending" | "failed" | "lastSuccess" | "failingSince" | "lastError"> & { muted: boolean }} WebhookRow */

/** @typedef {List<WebhookRow> & { search: string, tenant: string, health: string, sort: string, selected: string[] }} WebhooksData */

/** How many webhooks a page has. */
const webhooksPerPage = 25;

/** @param {Route<never>} route */
function webhooksPage(route) {
    /** @type {WebhooksData} */
    const data = store({
        rows: null, page: pageFromAddress(route), totalPages: 0, totalItems: 0, selected: [],
        ...fromAddress(route, { search: "", tenant: "", health: "", sort: "-created" }),
    });

    return integrationsPage({
        title: "Webhooks",
        intro: "A webhook receives a signed request when a contact changes. Failed deliveries are retried for three days. Health and error rate cover the last 24 hours.",
        actions: [newButton("New webhook", () => editWebhook(undefined, data.tenant))],
        load: () => loadWebhooks(data),
        content: () => [
            tenantFilters("Search by name or URL", data, (search) => selectField("Health", data, "health", () => [["", "All"], ...Object.entries(healthStates).map(stateOption)], { onchange: search })),
            selectionBar(data, [
                ["Enable", () => switchWebhooks(data, false)],
                ["Disable", () => switchWebhooks(data, true)],
                ["Recover…", () => recoverDeliveries(data.selected)],
            ]),
            table({
                label: "Webhooks",
                data,
                empty: () => (data.search || data.tenant || data.health
                    ? emptyState("ri-search-line", "Nothing found", "No webhook matches.")
                    : emptyState(
                        "ri-webhook-line",
                        "No webhooks yet",
                        "Enter the URL of a receiver, then send it a test event.",
                        newButton("New webhook", () => editWebhook()),
                    )),
                columns: [...forEditors(selectColumn(data)), ...webhookColumns],
            }),
            pager(data),
        ],
    });
}

/**
 * Loads the page of the list that data asks for, with the records of its webhooks.
 *
 * @param {WebhooksData} data
 */
async function loadWebhooks(data) {
    listToAddress(data, "-created", { search: data.search, tenant: data.tenant, health: data.health });
    const lines = await loadPageOf(data, async (page) => {
        const found = await sendIntegrations("GET", "/webhooks", {
            query: {
                tenant: data.tenant || undefined,
                health: data.health || undefined,
                q: data.search || undefined,
                sort: data.sort,
                limit: webhooksPerPage,
                offset: (page - 1) * webhooksPerPage,
            },
        });
        const totals = Object.entries(found.totals || {}).filter(([state]) => !data.health || state === data.health);
        const totalItems = totals.reduce((sum, [, number]) => sum + number, 0);
        return { items: found.data, totalItems, totalPages: Math.ceil(totalItems / webhooksPerPage) };
    });
    const records = lines.length ? (await listRecords("webhooks", {
        perPage: webhooksPerPage,
        skipTotal: true,
        expand: "tenant",
        fields: webhookFields,
        conditions: [`(${lines.map(({ id }) => app.pb.filter("id = {:id}", { id })).join(" || ")})`],
    })).items : [];
    keep(data, "rows", lines.flatMap(({ id, health, errorRate, attempts, pending, failed, lastSuccess, failingSince, lastError }) => {
        const record = records.find((webhook) => webhook.id === id); // without one it has just been deleted
        return record ? [{ ...record, health, errorRate, attempts, pending, failed, lastSuccess, failingSince, lastError, muted: record.disabled }] : [];
    }));
}

/**
 * Enables or disables the selected webhooks.
 *
 * @param {WebhooksData} data
 * @param {boolean} disabled
 */
async function switchWebhooks(data, disabled) {
    const ids = data.selected;
    await attempt(async () => {
        for (const id of ids) {
            await app.pb.collection("webhooks").update(id, { disabled }, { requestKey: null });
        }
        data.selected = [];
    }, `${plural(ids.length, "webhook")} ${disabled ? "disabled" : "enabled"}.`);
    refreshPage();
}

/** @param {Webhook} webhook */
function rotateWebhook(webhook) {
    const data = store({ overlapHours: "24" });
    openForm({
        title: "Rotate the secret?",
        submit: "Rotate secret",
        size: "sm",
        style: () => (data.overlapHours === "0" ? "danger" : "warning"),
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
            app.toasts.success("The webhook was deleted.");
            refreshPage();
        },
    });
}
