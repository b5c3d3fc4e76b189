// What a chart draws: bars or lines over its grid.

const svgNamespace = "http://www.w3.org/2000/svg";

/** How high a drawing is, in pixels. */
const chartHeight = 120;

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
 * The grid lines and what is drawn over them. Widths are percentages, heights pixels, so that nothing is distorted.
 *
 * @param {Scale} scale
 * @param {Element[]} shapes
 */
function drawing({ top, ticks }, shapes) {
    const grid = ticks.map((tick) => {
        const y = chartHeight - tick / top * chartHeight;
        return svg("line", { class: tick ? "grid" : "base", x1: 0, x2: "100%", y1: y, y2: y });
    });
    return svg("svg", { height: chartHeight, "aria-hidden": "true" }, [...grid, ...shapes]);
}

/** @type {(series: Series[], steps: ChartStep[], scale: Scale) => SVGElement} */
function drawBars(series, steps, scale) {
    const width = 100 / Math.max(1, steps.length);
    return drawing(scale, steps.map(({ values }, index) => {
        const sum = sumOf(values);
        const high = chartHeight / Math.max(scale.top, sum);
        let top = chartHeight;
        const bars = values.flatMap((value, of) => {
            if (!value) {
                return [];
            }
            const height = Math.min(top, Math.max(1.5, value * high)); // what there is, is seen
            top -= height;
            return [svg("rect", { class: series[of]?.tone || "plain", x: `${(index + .12) * width}%`, y: top, width: `${.76 * width}%`, height })];
        });
        const cut = sum > scale.top ? [svg("rect", { class: "cut", x: `${index * width}%`, y: 10, width: `${width}%`, height: 4 })] : [];
        return svg("g", {}, [...bars, ...cut]);
    }));
}

/** @type {(series: Series[], steps: ChartStep[], scale: Scale) => SVGElement} */
function drawLines(series, steps, scale) {
    /** @param {number} index */
    const x = (index) => `${(index + .5) / steps.length * 100}%`;
    /** @param {number} value */
    const y = (value) => chartHeight - Math.min(1, value / scale.top) * chartHeight;
    return drawing(scale, series.flatMap(({ tone }, of) => steps.flatMap(({ values }, index) => {
        const [value, before] = [values[of], steps[index - 1]?.values[of]];
        if (value === null || value === undefined) {
            return [];
        }
        const dot = svg("circle", { class: tone, cx: x(index), cy: y(value), r: 2.5 });
        return before === null || before === undefined
            ? [dot]
            : [svg("line", { class: `${tone} curve`, x1: x(index - 1), y1: y(before), x2: x(index), y2: y(value) }), dot];
    })));
}
