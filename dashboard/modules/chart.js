// Charts: bars, or marks for times, with a table of the same numbers, the newest first.

/**
 * What is drawn: a name, and how it looks (styles/charts.css).
 *
 * @typedef {{ name: string, tone: "plain" | "good" | "waits" | "bad" }} Series
 */

/**
 * A step in time, with a value of each series; null where there is none.
 *
 * @typedef {{ start: string, values: (number | null)[] }} ChartStep
 */

const svgNamespace = "http://www.w3.org/2000/svg";

/** A drawing is this high, and each step this wide; the page stretches both. */
const chartHeight = 100;
const stepWidth = 10;

/**
 * A chart. steps is asked again when the data changes; null is for what is not loaded yet.
 *
 * @param {object} options
 * @param {string} options.label
 * @param {Series[]} options.series
 * @param {() => ChartStep[] | null} options.steps
 * @param {() => boolean} [options.daily] whether a step is a day, instead of an hour
 * @param {(value: number) => string} [options.unit] a value with its unit
 * @param {boolean} [options.marks] a mark at each value, instead of bars that are stacked
 * @param {() => string} [options.headline] what the legend says in place of the sums
 */
function chart({ label, series, steps, daily = () => false, unit = count, marks = false, headline }) {
    const draw = marks ? drawMarks : drawBars;
    return t.figure(
        { className: "integrations-chart" },
        t.figcaption(null, t.strong(null, label), () => t.span({ className: "integrations-chart-sum" }, headline?.() ?? sums(series, steps(), unit))),
        () => t.div({ className: "integrations-chart-top" }, unit(highest(steps() || [], marks))),
        t.div({ className: "integrations-chart-frame" }, () => draw(label, series, steps() || [], daily(), unit)),
        () => axis(steps() || [], daily()),
        series.length > 1 ? t.ul({ className: "integrations-chart-legend" }, series.map(({ name, tone }) => t.li({ className: tone }, name))) : null,
        t.details(
            { className: "integrations-details" },
            t.summary({ ariaLabel: `${label} as a table` }, "As a table"),
            t.div(
                { className: "integrations-chart-table", tabIndex: 0, role: "region", ariaLabel: `Table: ${label}` },
                t.table(
                    null,
                    t.thead(null, t.tr(null, t.th({ scope: "col" }, "From"), series.map(({ name }) => t.th({ scope: "col" }, name)))),
                    t.tbody(null, () => (steps() || []).toReversed().map((step) => t.tr(
                        null,
                        t.th({ scope: "row" }, stepName(step.start, daily())),
                        step.values.map((value) => t.td(null, value === null ? "–" : unit(value))),
                    ))),
                ),
            ),
        ),
    );
}

/** @param {number} value */
function count(value) {
    return value.toLocaleString("en");
}

/**
 * @param {Series[]} series
 * @param {ChartStep[] | null} steps
 * @param {(value: number) => string} unit
 */
function sums(series, steps, unit) {
    if (!steps) {
        return "";
    }
    return series.map(({ name }, index) => {
        const sum = steps.reduce((total, { values }) => total + (values[index] || 0), 0);
        return series.length > 1 ? `${unit(sum)} ${name.toLowerCase()}` : unit(sum);
    }).join(", ");
}

/**
 * The top of the drawing: what the highest step has, at least 1.
 *
 * @param {ChartStep[]} steps
 * @param {boolean} marks
 */
function highest(steps, marks) {
    return Math.max(1, ...steps.map(({ values }) => {
        const known = values.map((value) => value || 0);
        return marks ? Math.max(...known) : known.reduce((total, value) => total + value, 0);
    }));
}

/**
 * @param {string} start
 * @param {boolean} daily a day is one in UTC
 */
function stepName(start, daily) {
    const at = parseTime(start);
    return daily
        ? at.toLocaleDateString("en", { month: "short", day: "numeric", timeZone: "UTC" })
        : at.toLocaleTimeString("en", { hour: "2-digit", minute: "2-digit", hour12: false });
}

/**
 * @param {ChartStep[]} steps
 * @param {boolean} daily
 */
function axis(steps, daily) {
    const shown = [steps[0], steps[Math.floor(steps.length / 2)], steps.at(-1)];
    return t.div({ className: "integrations-chart-axis", ariaHidden: true }, shown.map((step) => t.span(null, step ? stepName(step.start, daily) : "")));
}

/**
 * @param {string} name
 * @param {Record<string, string | number>} attributes
 * @param {Element[]} [children]
 */
function svg(name, attributes, children = []) {
    const element = document.createElementNS(svgNamespace, name);
    for (const [attribute, value] of Object.entries(attributes)) {
        element.setAttribute(attribute, String(value));
    }
    element.append(...children);
    return element;
}

/**
 * The drawing: for each step what shape makes of it, below a text that is shown on hover.
 *
 * @param {string} label
 * @param {Series[]} series
 * @param {ChartStep[]} steps
 * @param {boolean} daily
 * @param {(value: number) => string} unit
 * @param {(step: ChartStep, left: number) => Element[]} shape
 */
function drawing(label, series, steps, daily, unit, shape) {
    const columns = steps.map((step, index) => {
        const left = index * stepWidth;
        const title = svg("title", {});
        title.textContent = `${stepName(step.start, daily)}: ` +
            series.map(({ name }, of) => `${name.toLowerCase()} ${step.values[of] === null ? "–" : unit(step.values[of] || 0)}`).join(", ");
        return svg("g", {}, [title, svg("rect", { class: "hover", x: left, y: 0, width: stepWidth, height: chartHeight }), ...shape(step, left)]);
    });
    return svg("svg", {
        viewBox: `0 0 ${Math.max(1, steps.length) * stepWidth} ${chartHeight}`,
        preserveAspectRatio: "none",
        role: "img",
        "aria-label": `${label}: ${sums(series, steps, unit)}`,
    }, columns);
}

/** @type {(label: string, series: Series[], steps: ChartStep[], daily: boolean, unit: (value: number) => string) => SVGElement} */
function drawBars(label, series, steps, daily, unit) {
    const scale = chartHeight / highest(steps, false);
    return drawing(label, series, steps, daily, unit, ({ values }, left) => {
        let top = chartHeight;
        return values.flatMap((value, of) => {
            if (!value) {
                return [];
            }
            const height = Math.max(1.5, value * scale); // what there is, is seen
            top = Math.max(0, top - height);
            return [svg("rect", { class: series[of]?.tone || "plain", x: left + 1, y: top, width: stepWidth - 2, height })];
        });
    });
}

/** @type {(label: string, series: Series[], steps: ChartStep[], daily: boolean, unit: (value: number) => string) => SVGElement} */
function drawMarks(label, series, steps, daily, unit) {
    const scale = (chartHeight - 4) / highest(steps, true);
    return drawing(label, series, steps, daily, unit, ({ values }, left) => values.flatMap((value, of) =>
        value === null ? [] : [svg("rect", { class: series[of]?.tone || "plain", x: left + 1, y: chartHeight - value * scale - 3, width: stepWidth - 2, height: 3 })]));
}
