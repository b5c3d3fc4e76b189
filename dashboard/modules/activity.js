// Charts of what happened, by the hour or the day.

/** @type {Series[]} */
const attemptSeries = [{ name: "Delivered", tone: "good" }, { name: "Retried", tone: "waits" }, { name: "Failed", tone: "bad" }];

/**
 * The attempts to deliver to a webhook, and how long its receiver took to answer.
 *
 * @param {{ activity: WebhookActivity | null, period: "day" | "month" }} data
 */
function attemptCharts(data) {
    const daily = () => data.period === "month";
    /** @param {(step: AttemptStep) => (number | null)[]} values */
    const steps = (values) => () => data.activity && data.activity.steps.map((step) => ({ start: step.start, values: values(step) }));
    return [
        periodField(data),
        t.div(
            { className: "integrations-charts" },
            chart({ label: "Attempts", series: attemptSeries, daily, steps: steps(({ delivered, retried, failed }) => [delivered, retried, failed]) }),
            chart({
                label: "Time to answer",
                series: [{ name: "Half of the answers within", tone: "plain" }, { name: "95 in 100 within", tone: "waits" }],
                daily,
                marks: true,
                unit: duration,
                headline: () => (data.activity?.p50Ms ? `p50 ${duration(data.activity.p50Ms)}, p95 ${duration(data.activity.p95Ms || 0)}` : "no answers yet"),
                steps: steps(({ p50Ms, p95Ms }) => [p50Ms, p95Ms]),
            }),
        ),
    ];
}

/** @param {{ period: "day" | "month" }} data */
function periodField(data) {
    return t.div(
        { className: "integrations-filters" },
        selectField("Charts show", data, "period", () => [["day", "the last 24 hours"], ["month", "the last 30 days (UTC)"]], { onchange: refreshPage }),
    );
}
