// What changed: `previous` of an event against its `data`.

/**
 * @param {string} body of an event
 */
function changesBlock(body) {
    /** @type {{ data?: Record<string, unknown>, previous?: Record<string, unknown> }} */
    let event;
    try {
        event = JSON.parse(body);
    } catch {
        return null;
    }
    const { data, previous } = event;
    if (!data || !previous) {
        return null;
    }
    /** @param {unknown} value */
    const shown = (value) => (value === null || value === undefined ? t.span({ className: "txt-hint" }, "no value") : typeof value === "string" ? value : JSON.stringify(value));
    return t.section(
        { className: "integrations-block" },
        t.h3(null, "What changed"),
        t.dl({ className: "integrations-headers" }, Object.keys(previous).map((field) => [
            t.dt(null, field),
            t.dd(null, t.del(null, shown(previous[field])), " ", t.i({ className: "ri-arrow-right-line", ariaHidden: true }), " ", t.ins(null, shown(data[field]))),
        ])),
    );
}
