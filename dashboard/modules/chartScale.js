// The scale of a chart: a round top, grid lines at round numbers, and a top that one spike does not push away.

/**
 * Where the drawing ends, the grid lines, and whether higher values are cut off there.
 *
 * @typedef {{ top: number, ticks: number[], cuts: boolean }} Scale
 */

/** Into how many parts grid lines divide a drawing at most. */
const maxParts = 4;

/** A value that is so many times as high as all others is a spike: it would flatten the rest. */
const spike = 3;

/** At most one in so many values counts as a spike. */
const valuesPerSpike = 10;

/**
 * The scale for the heights of all steps.
 *
 * @param {number[]} heights
 * @returns {Scale}
 */
function chartScale(heights) {
    const sorted = heights.filter(Boolean).sort((a, b) => b - a);
    const most = Math.floor(sorted.length / valuesPerSpike);
    let highest = sorted[0] || 0;
    let cuts = false;
    for (let spikes = 1; spikes <= most; spikes++) {
        const rest = sorted[spikes] || 0;
        if ((sorted[spikes - 1] || 0) >= spike * rest) {
            highest = rest;
            cuts = true;
            break;
        }
    }
    const step = roundStep(Math.max(1, highest / maxParts));
    const parts = Math.max(1, Math.ceil(highest / step));
    return { top: parts * step, ticks: Array.from({ length: parts + 1 }, (_, part) => part * step), cuts };
}

/**
 * The least of 1, 2, 5, 10, 20, 50 and so on that is not less.
 *
 * @param {number} least
 */
function roundStep(least) {
    const power = 10 ** Math.floor(Math.log10(least));
    return power * ([1, 2, 5].find((factor) => factor * power >= least) || 10);
}

/**
 * Says which values are higher than the drawing.
 *
 * @param {ChartData | null} data
 * @param {Scale} scale
 * @param {(values: (number | null)[]) => number} height
 * @param {Unit} unit
 */
function cutNote(data, { top, cuts }, height, unit) {
    if (!data || !cuts) {
        return null;
    }
    const cut = data.steps.filter(({ values }) => height(values) > top)
        .map(({ start, values }) => `${unit.text(height(values))} at ${stepName(start, data.period)}`);
    return t.p({ className: "integrations-chart-note" }, `Cut off to keep the rest readable: ${cut.join(", ")}.`);
}

/** @param {(number | null)[]} values */
function highestOf(values) {
    return Math.max(...values.map((value) => value || 0));
}

/** @param {(number | null)[]} values */
function sumOf(values) {
    return values.reduce((/** @type {number} */ sum, value) => sum + (value || 0), 0);
}
