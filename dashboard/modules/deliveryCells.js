// The cells of the list of deliveries.

/** @param {DeliveryRow} delivery */
function deliveryContact({ contact, contactName, count: alike, isOpen }) {
    if (alike > 1 && !isOpen) {
        return t.span({ className: "txt-hint" }, "Several");
    }
    if (!contact) {
        return t.span({ className: "txt-hint" }, "–");
    }
    return contactName ? t.span({ className: "integrations-ellipsis", title: `${contactName} · ${contact}` }, contactName) : t.code(null, contact);
}

/** How late an attempt may be before it is no longer "now", in milliseconds. */
const dueTime = 5_000;

/**
 * When a pending delivery is attempted again.
 *
 * @param {Delivery} delivery
 * @param {DeliveriesData} data
 */
function nextAttempt({ status, nextAttempt: at }, { webhook, health }) {
    if (status === "pending" && webhook?.disabled) {
        return t.span({ className: "txt-hint" }, "once enabled");
    }
    if (status === "pending" && at && parseTime(at).getTime() < Math.max(clock.now, Date.now()) - dueTime) {
        return health?.failingSince
            ? t.span({ className: "txt-hint", title: "The endpoint fails, so it receives one attempt at a time, at most a minute apart." }, "paused")
            : t.span({ className: "txt-hint" }, "due");
    }
    return timeAgo(status === "pending" ? at : "", "–");
}

/**
 * The last response; for a line that stands for several deliveries, also their number.
 *
 * @param {Delivery} delivery
 */
function lastAnswer({ lastStatus, lastError, attempts, count: alike }) {
    const answer = lastStatus ? statusText(lastStatus) : lastError || (attempts ? "No response" : "Not sent yet");
    const text = alike > 1 ? `${answer} · ${plural(alike, "delivery", "deliveries")}` : answer;
    return t.span({ className: `integrations-clamped ${lastStatus || lastError ? "" : "txt-hint"}`, title: lastError || text }, text);
}

/**
 * @param {DeliveryRow} delivery
 * @param {DeliveriesData} data
 */
function deliveryActions(delivery, data) {
    const { count: alike, since, isOpen } = delivery;
    const toggle = () => {
        data.open = isOpen ? data.open.filter((other) => other !== since) : [...data.open, since];
        refreshPage();
    };
    return t.div(
        { className: "integrations-buttons" },
        alike > 1 ? iconButton(isOpen ? "Hide others" : `Show all ${count(alike)}`, isOpen ? "ri-arrow-up-s-line" : "ri-arrow-down-s-line", toggle) : null,
        iconButton("Details", "ri-search-eye-line", () => openRow(data, "delivery", delivery.id, showDelivery)),
        forEditors(iconButton(alike > 1 ? "Redeliver this one" : "Redeliver", "ri-refresh-line", () => redeliver(delivery))),
    );
}
