// Sending again what failed.

/**
 * Says how many there are before it acts.
 *
 * @param {string} webhookId
 */
function recoverDeliveries(webhookId) {
    const yesterday = app.utils.toDatetimeLocalInputValue(new Date(Date.now() - 24 * 60 * 60 * 1000)).slice(0, 16);
    /** @type {{ since: string, count: number | null, fault: string }} */
    const data = store({ since: yesterday, count: null, fault: "" });
    /** @param {boolean} dryRun */
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
                    data.since = event.currentTarget.value;
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
            const queued = await recover(false);
            app.toasts.success(`${plural(queued.count, "delivery", "deliveries")} queued.`);
            refreshPage();
        },
    });
}
