// Sending again what failed: one delivery, or all since a time.

/**
 * Says what it will do, and does it.
 *
 * @param {Pick<DeliveryRow, "id" | "type" | "status" | "created" | "contactName">} delivery
 * @param {() => unknown} [done]
 */
function redeliver(delivery, done = () => {}) {
    const { id, type, contactName, status, created } = delivery;
    const event = `“${eventKinds[type] || type}”${contactName ? ` about ${contactName}` : ""}, of ${parseTime(created).toLocaleString()},`;
    openForm({
        title: "Deliver it again?",
        size: "sm",
        submit: "Send it now",
        content: () => [
            t.p(null, `One event, ${event} is sent now, with the same id: a receiver that had it knows it by that.`),
            t.p(null, status === "pending"
                ? "Its next attempt is brought forward. Should that fail, the rest of the schedule follows."
                : "It starts again: with attempt 1, and should that fail, the whole schedule of about three days."),
        ],
        run: async () => {
            await callIntegrations("POST", `/deliveries/${id}/redeliver`);
            app.toasts.success("Queued: it is sent now.");
            refreshPage();
            done();
        },
    });
}

/**
 * Says what it will do before it does it.
 *
 * @param {string} webhookId
 */
function recoverDeliveries(webhookId) {
    const yesterday = app.utils.toDatetimeLocalInputValue(new Date(Date.now() - 24 * 60 * 60 * 1000)).slice(0, 16);
    /** @type {{ since: string, extent: ("before")[], missed: Missed | null, fault: string }} */
    const data = store({ since: yesterday, extent: [], missed: null, fault: "" });
    /** @param {boolean} dryRun */
    const recover = (dryRun) =>
        callIntegrations("POST", `/webhooks/${webhookId}/recover`, { since: inputTime(data.since), before: data.extent.includes("before"), dryRun });

    async function look() {
        data.missed = null;
        data.fault = "";
        if (!data.since) {
            return;
        }
        try {
            data.missed = await recover(true);
        } catch (error) {
            data.fault = errorText(error);
        }
    }
    look();

    openForm({
        title: "Recover failed deliveries",
        submit: "Queue them again",
        size: "sm",
        content: () => [
            t.p(null, "Everything that failed, or was never attempted, since then is sent again. Events keep their ids."),
            textField("Since", data, "since", {
                type: "datetime-local",
                required: true,
                onchange: (event) => {
                    data.since = event.currentTarget.value;
                    look();
                },
            }),
            checkboxesField("Which events", data, "extent", [["before", "Also those from before there was the webhook"]], { onchange: look }),
            t.p({ className: "integrations-outcome", role: "status" }, () => data.fault || (data.missed ? missedLabel(data.missed) : "Counting…")),
        ],
        run: async () => {
            const queued = await recover(false);
            app.toasts.success(`${plural(queued.count, "delivery", "deliveries")} queued.`);
            refreshPage();
        },
    });
}

/**
 * How many events of which kinds, from when.
 *
 * @param {Missed} missed
 */
function missedLabel({ count: all, types, oldest, newest }) {
    const sent = `${plural(all, "delivery", "deliveries")} would be sent again`;
    if (!oldest || !newest) {
        return `${sent}: nothing was missed.`;
    }
    const kinds = Object.entries(types).map(([type, times]) => `${count(times)} × ${eventKinds[/** @type {EventKind} */ (type)] || type}`);
    const [from, to] = [parseTime(oldest).toLocaleString(), parseTime(newest).toLocaleString()];
    return `${sent}: ${kinds.join(", ")}, ${from === to ? `of ${from}` : `from ${from} until ${to}`}.`;
}
