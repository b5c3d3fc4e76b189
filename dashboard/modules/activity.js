// Charts of what happened, and the period that they show.

/** @typedef {"hour" | "day" | "week" | "month"} Period */

/** @type {Record<Period, { title: string, step: string }>} */
const periods = {
    hour: { title: "Last hour", step: "minute" },
    day: { title: "Last 24 hours", step: "hour" },
    week: { title: "Last 7 days", step: "6 hours" },
    month: { title: "Last 30 days", step: "day (UTC)" },
};

/** How long a step is, in milliseconds. */
const stepLengths = { hour: 60_000, day: 3_600_000, week: 21_600_000, month: 86_400_000 };

/** @type {Series[]} */
const attemptSeries = [{ name: "Delivered", tone: "good" }, { name: "Retried", tone: "waits" }, { name: "Failed", tone: "bad" }];

/**
 * The buttons that choose the period.
 *
 * @param {{ period: Period | "" }} data
 */
function periodButtons(data) {
    return t.div(
        { className: "integrations-periods", role: "group", ariaLabel: "Period" },
        /** @type {[Period, { title: string }][]} */ (Object.entries(periods)).map(([period, { title }]) => t.button(
            {
                type: "button",
                className: () => `btn sm ${data.period === period ? "" : "transparent secondary"}`,
                "html-aria-pressed": () => String(data.period === period),
                onclick: () => {
                    data.period = period;
                    refreshPage();
                },
            },
            t.span({ className: "txt" }, title),
        )),
    );
}

/**
 * @param {{ query: Record<string, string[] | undefined> }} route
 * @returns {Period | ""}
 */
function periodFromAddress({ query }) {
    const period = query.period?.[0] || "";
    return period in periods ? /** @type {Period} */ (period) : "";
}

/**
 * Loads what happened in the chosen period. Until somebody chooses one, it is the last 24 hours; the last hour if nothing happened
 * before it, so that a new installation sees its first minutes.
 *
 * @template {{ steps: { start: string }[] }} Activity
 * @param {{ period: Period | "" }} data
 * @param {(period: Period) => Promise<Activity>} load
 * @returns {Promise<Activity & { period: Period }>}
 */
async function loadActivity(data, load) {
    let period = data.period || "day";
    let activity = await load(period);
    if (!data.period) {
        const earlier = activity.steps.slice(0, -1).some((step) => Object.entries(step).some(([name, value]) => name !== "start" && value));
        if (!earlier) {
            period = "hour";
            activity = await load(period);
        }
        data.period ||= period;
    }
    return { ...activity, period };
}

/**
 * What a chart takes of an activity.
 *
 * @template {{ start: string }} Step
 * @param {{ period: Period, steps: Step[] } | null} activity
 * @param {(step: Step) => (number | null)[]} values
 * @returns {ChartData | null}
 */
function chartData(activity, values) {
    return activity && { period: activity.period, steps: activity.steps.map((step) => ({ start: step.start, values: values(step) })) };
}

/**
 * The attempts to deliver to a webhook, and how long its receiver took to answer.
 *
 * @param {{ activity: (WebhookActivity & { period: Period }) | null }} data
 */
function attemptCharts(data) {
    return t.div(
        { className: "integrations-charts" },
        chart({ label: "Attempts", series: attemptSeries, data: () => attemptData(data) }),
        chart({
            label: "Response time",
            series: [{ name: "Median (p50)", tone: "plain" }, { name: "p95", tone: "waits" }],
            lines: true,
            unit: milliseconds,
            headline: () => responseTimes(data.activity),
            data: () => chartData(data.activity, ({ p50Ms, p95Ms }) => [p50Ms, p95Ms]),
        }),
    );
}

/** @param {{ activity: (WebhookActivity & { period: Period }) | null }} data */
function attemptData({ activity }) {
    return chartData(activity, ({ delivered, retried, failed }) => [delivered, retried, failed]);
}

/** @param {Times | null} times */
function responseTimes(times) {
    return times?.p50Ms ? `median (p50) ${duration(times.p50Ms)}, p95 ${duration(times.p95Ms || 0)}` : "no responses yet";
}

/**
 * When a step begins.
 *
 * @param {string} start
 * @param {Period} period
 */
function stepName(start, period) {
    return period === "week" ? `${dayName(start, false)}, ${timeName(parseTime(start))}` : axisName(start, period);
}

/**
 * The same in short.
 *
 * @param {string} start
 * @param {Period} period
 */
function axisName(start, period) {
    return period === "hour" || period === "day" ? timeName(parseTime(start)) : dayName(start, period === "month");
}

/**
 * From when until when a step lasts.
 *
 * @param {string} start
 * @param {Period} period
 */
function stepSpan(start, period) {
    return period === "day" || period === "week"
        ? `${stepName(start, period)}–${timeName(new Date(parseTime(start).getTime() + stepLengths[period]))}`
        : stepName(start, period);
}

/**
 * @param {string} start
 * @param {boolean} isUTC
 */
function dayName(start, isUTC) {
    return parseTime(start).toLocaleDateString("en", { month: "short", day: "numeric", timeZone: isUTC ? "UTC" : undefined });
}

/** @param {Date} at */
function timeName(at) {
    return at.toLocaleTimeString("en", { hour: "2-digit", minute: "2-digit", hourCycle: "h23" });
}
