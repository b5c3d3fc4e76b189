// Charts: stacked bars, or lines for times, with a tooltip and a table of the same numbers, the newest first.

/**
 * What is drawn: a name, and how it looks (styles/charts.css).
 *
 * @typedef {{ name: string, tone: "plain" | "good" | "waits" | "bad" }} Series
 */

/**
 * A step in time, with a value of each series; null if there is none.
 *
 * @typedef {{ start: string, values: (number | null)[] }} ChartStep
 */

/**
 * What a chart shows, once it is loaded.
 *
 * @typedef {{ period: Period, steps: ChartStep[] }} ChartData
 */

/**
 * How values are written: in full, and beside the grid lines.
 *
 * @typedef {{ text: (value: number) => string, tick: (value: number) => string }} Unit
 */

/** @type {Unit} */
const counts = { text: count, tick: compactCount };

/** @type {Unit} */
const milliseconds = { text: duration, tick: (value) => (value < 1000 ? `${value} ms` : `${value / 1000} s`) };

/**
 * @typedef {object} ChartOptions
 * @property {string} label
 * @property {Series[]} series
 * @property {() => ChartData | null} data asked again when the data changes; null until it is loaded
 * @property {Unit} [unit]
 * @property {boolean} [lines] instead of bars that are stacked
 * @property {() => string} [headline] what stands beside the label in place of the sums
 */

/** @param {ChartOptions} options */
function chart({ label, series, data, unit = counts, lines = false, headline }) {
    const height = lines ? highestOf : sumOf;
    const scale = () => chartScale((data()?.steps || []).map(({ values }) => height(values)));
    return t.figure(
        { className: "integrations-chart" },
        t.figcaption(
            null,
            t.span(null, t.strong(null, label), () => t.span({ className: "txt-hint" }, lines ? "" : ` per ${periods[data()?.period || "day"].step}`)),
            () => t.span({ className: "integrations-chart-sum" }, headline?.() ?? sums(series, data(), unit)),
        ),
        t.div(
            { className: "integrations-chart-body" },
            () => t.div({ className: "integrations-chart-ticks", ariaHidden: true }, scale().ticks.map((tick) =>
                t.span({ style: `bottom: ${tick / scale().top * 100}%` }, unit.tick(tick)))),
            chartPlot({ label, series, data, unit, lines }, scale),
        ),
        () => chartAxis(data()),
        () => cutNote(data(), scale(), height, unit),
        series.length > 1 ? t.ul({ className: "integrations-chart-legend" }, series.map(({ name, tone }) => t.li({ className: tone }, name))) : null,
        chartTable({ label, series, data, unit }),
    );
}

/**
 * The drawing. The pointer and the arrow keys lead from step to step.
 *
 * @param {ChartOptions} options
 * @param {() => Scale} scale
 */
function chartPlot({ label, series, data, unit = counts, lines = false }, scale) {
    const state = store({ at: -1 });
    const steps = () => data()?.steps || [];
    /** @param {PointerEvent & { currentTarget: HTMLElement }} event */
    const point = ({ currentTarget, clientX }) => {
        const { left, width } = currentTarget.getBoundingClientRect();
        state.at = Math.max(0, Math.min(steps().length - 1, Math.floor((clientX - left) / width * steps().length)));
    };
    /** @type {Record<string, () => number>} */
    const moves = { ArrowLeft: () => state.at - 1, ArrowRight: () => state.at + 1, Home: () => 0, End: () => steps().length - 1 };
    return t.div(
        {
            className: "integrations-chart-plot",
            tabIndex: 0,
            role: "slider",
            ariaLabel: `${label}, step by step`,
            "html-aria-valuemin": 0,
            "html-aria-valuemax": () => Math.max(0, steps().length - 1),
            "html-aria-valuenow": () => Math.max(0, state.at),
            "html-aria-valuetext": () => stepText(series, data(), state.at, unit),
            onpointerdown: point,
            onpointermove: point,
            onpointerleave: ({ pointerType }) => pointerType === "mouse" && (state.at = -1),
            onfocus: () => state.at < 0 && (state.at = steps().length - 1),
            onblur: () => (state.at = -1),
            onkeydown: (event) => {
                const move = moves[event.key];
                if (move) {
                    event.preventDefault();
                    state.at = Math.max(0, Math.min(steps().length - 1, move()));
                }
            },
        },
        () => (lines ? drawLines : drawBars)(series, steps(), scale()),
        () => (data() && !steps().some(({ values }) => sumOf(values)) ? t.span({ className: "integrations-chart-none txt-hint" }, "Nothing in this period") : null),
        () => chartTip(series, data(), state.at, unit),
    );
}

/**
 * @param {Series[]} series
 * @param {ChartData | null} data
 * @param {number} at
 * @param {Unit} unit
 */
function chartTip(series, data, at, unit) {
    const step = data?.steps[at];
    if (!data || !step) {
        return null;
    }
    const middle = (at + .5) / data.steps.length * 100;
    return [
        t.div({ className: "integrations-chart-cursor", style: `left: ${middle}%` }),
        t.div(
            { className: "integrations-chart-tip", role: "tooltip", style: middle > 50 ? `right: ${100 - middle}%` : `left: ${middle}%` },
            t.strong(null, stepSpan(step.start, data.period)),
            t.ul({ className: "integrations-chart-legend" }, series.map(({ name, tone }, of) =>
                t.li({ className: tone }, `${name}: `, t.strong(null, valueText(step.values[of], unit))))),
        ),
    ];
}

/**
 * What a step says, in one line.
 *
 * @param {Series[]} series
 * @param {ChartData | null} data
 * @param {number} at
 * @param {Unit} unit
 */
function stepText(series, data, at, unit) {
    const step = data?.steps[at];
    if (!data || !step) {
        return "no step";
    }
    return `${stepSpan(step.start, data.period)}: ` + series.map(({ name }, of) => `${name} ${valueText(step.values[of], unit)}`).join(", ");
}

/**
 * @param {number | null | undefined} value
 * @param {Unit} unit
 */
function valueText(value, unit) {
    return value === null || value === undefined ? "–" : unit.text(value);
}

/** @param {ChartOptions} options */
function chartTable({ label, series, data, unit = counts }) {
    return t.details(
        { className: "integrations-details" },
        t.summary({ ariaLabel: `${label} as a table` }, "As a table"),
        t.div(
            { className: "integrations-chart-table", tabIndex: 0, role: "region", ariaLabel: `Table: ${label}` },
            t.table(
                null,
                t.thead(null, t.tr(null, t.th({ scope: "col" }, "From"), series.map(({ name }) => t.th({ scope: "col", className: "integrations-number" }, name)))),
                t.tbody(null, () => {
                    const shown = data();
                    return shown && shown.steps.toReversed().map((step) => t.tr(
                        null,
                        t.th({ scope: "row" }, stepName(step.start, shown.period)),
                        step.values.map((value) => t.td({ className: "integrations-number" }, valueText(value, unit))),
                    ));
                }),
            ),
        ),
    );
}

/**
 * The sum of each series.
 *
 * @param {Series[]} series
 * @param {ChartData | null} data
 * @param {Unit} unit
 */
function sums(series, data, unit) {
    if (!data) {
        return "";
    }
    return series.map(({ name }, index) => {
        const sum = sumOf(data.steps.map(({ values }) => values[index] || 0));
        return series.length > 1 ? `${unit.text(sum)} ${name.toLowerCase()}` : unit.text(sum);
    }).join(", ");
}

/**
 * The times below the drawing.
 *
 * @param {ChartData | null} data
 */
function chartAxis(data) {
    const { period, steps } = data || { period: /** @type {Period} */ ("day"), steps: [] };
    const shown = [0, 1, 2, 3].map((quarter) => steps[Math.floor(steps.length * quarter / 4)]);
    return t.div(
        { className: "integrations-chart-axis", ariaHidden: true },
        shown.map((step) => t.span(null, step ? axisName(step.start, period) : "")),
        t.span(null, "now"),
    );
}
