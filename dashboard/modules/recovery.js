// Sending again what failed: one delivery, or all since a time.

/**
 * Says what it will do, and does it.
 *
 * @param {DeliverySummary} delivery
 * @param {() => unknown} [done]
 */
function redeliver(delivery, done = () => {}) {
    const { id, type, contactName, status, created, count: alike = 1 } = delivery;
    const event = `“${eventKinds[type] || type}”${contactName ? ` for ${contactName}` : ""} (${parseTime(created).toLocaleString()})`;
    openForm({
        title: "Redeliver this event?",
        size: "sm",
        submit: "Send now",
        content: () => [
            t.p(null, `Sends the event ${event} again, with the same ID. A receiver that already has it recognizes the ID.`),
            alike > 1 ? t.p(null, `Only this delivery is sent, not all ${count(alike)}. To send them all, use Recover… or Retry now.`) : null,
            t.p(null, status === "pending"
                ? "If this attempt fails, the remaining retries follow on schedule."
                : "The delivery starts again at attempt 1. If that fails, it is retried for about three days."),
        ],
        run: async () => {
            await callIntegrations("POST", `/deliveries/${id}/redeliver`);
            app.toasts.success("Queued for delivery.");
            refreshPage();
            done();
        },
    });
}

/**
 * Says what it will do before it does it.
 *
 * @param {string[]} webhooks their ids
 * @param {string | null} [oldestPending] from when the oldest pending delivery is
 */
function recoverDeliveries(webhooks, oldestPending = null) {
    const yesterday = Date.now() - 24 * 60 * 60 * 1000;
    const earliest = oldestPending ? Math.min(yesterday, parseTime(oldestPending).getTime()) : yesterday;
    /** @type {{ since: string, extent: ("before" | "pending")[], missed: Missed | null, fault: string }} */
    const data = store({ since: app.utils.toDatetimeLocalInputValue(new Date(earliest)).slice(0, 16), extent: [], missed: null, fault: "" });
    /** @param {boolean} dryRun */
    const recover = async (dryRun) => addMissed(await Promise.all(webhooks.map((id) =>
        callIntegrations("POST", `/webhooks/${id}/recover`, { since: inputTime(data.since), before: data.extent.includes("before"), retryPending: data.extent.includes("pending"), dryRun }))));

    /** @param {boolean} [opens] */
    async function look(opens = false) {
        data.missed = null;
        data.fault = "";
        if (!data.since) {
            return;
        }
        try {
            data.missed = await recover(true);
            if (opens && data.missed.pending) {
                data.extent = ["pending"];
            }
        } catch (error) {
            data.fault = errorText(error);
        }
    }
    look(true);

    const retried = () => data.extent.includes("pending") && data.missed?.pending || 0;

    openForm({
        title: "Recover deliveries",
        submit: "Recover deliveries",
        ready: () => Boolean(data.missed?.count || retried()),
        size: "sm",
        content: () => [
            t.p(null, "Sends again all deliveries that have failed since this time, and events that were never sent. Events keep their IDs."),
            textField("Since", data, "since", {
                type: "datetime-local",
                required: true,
                onchange: (event) => {
                    data.since = event.currentTarget.value;
                    look();
                },
            }),
            checkboxesField("Events", data, "extent", [
                ["pending", "Send pending deliveries now, before their next scheduled attempt"],
                ["before", "Include events from before the webhook was created"],
            ], { onchange: () => look() }),
            t.p({ className: "integrations-outcome", role: "status" }, () => data.fault || (data.missed ? missedLabel(data.missed, retried()) : "Counting…")),
        ],
        run: async () => {
            const queued = await recover(false);
            app.toasts.success(`${plural(queued.count + (queued.pendingRetried || 0), "delivery", "deliveries")} queued.`);
            refreshPage();
        },
    });
}

/**
 * @param {Missed[]} all
 * @returns {Missed}
 */
function addMissed(all) {
    /** @type {Missed} */
    const sum = { count: 0, failed: 0, missed: 0, pending: 0, pendingRetried: 0, types: {}, oldest: null, newest: null };
    for (const one of all) {
        for (const name of /** @type {const} */ (["count", "failed", "missed", "pending", "pendingRetried"])) {
            sum[name] = (sum[name] || 0) + (one[name] || 0);
        }
        for (const [type, times] of /** @type {[EventKind, number][]} */ (Object.entries(one.types))) {
            sum.types[type] = (sum.types[type] || 0) + times;
        }
        sum.oldest = [sum.oldest, one.oldest].filter(Boolean).sort()[0] || null;
        sum.newest = [sum.newest, one.newest].filter(Boolean).sort().at(-1) || null;
    }
    return sum;
}

/**
 * Says how many deliveries a recovery finds, and which of them it will send.
 *
 * @param {Missed} missed
 * @param {number} retried pending deliveries that will be sent
 */
function missedLabel({ count: all, failed, missed, pending, types, oldest, newest }, retried) {
    if (!all && !pending) {
        return "Nothing to recover. Test events are not recovered.";
    }
    const sentences = [`${count(failed)} failed, ${count(missed)} never sent, ${count(pending)} pending.`];
    if (oldest && newest) {
        const kinds = Object.entries(types).map(([type, times]) => `${eventKinds[/** @type {EventKind} */ (type)] || type} · ${count(times)}`);
        const [from, to] = [parseTime(oldest).toLocaleString(), parseTime(newest).toLocaleString()];
        sentences.push(`${plural(all, "delivery", "deliveries")} will be sent again (${kinds.join(", ")}), ${from === to ? `created ${from}` : `created from ${from} to ${to}`}.`);
    }
    if (retried) {
        sentences.push(`${plural(retried, "pending delivery", "pending deliveries")} will be sent now.`);
    }
    return sentences.join(" ");
}
