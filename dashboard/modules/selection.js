// Rows that are selected, to do something with all of them.

/**
 * The column with a checkbox in each row.
 *
 * @template {Row} R
 * @param {{ selected: string[] }} data
 * @returns {Column<R>}
 */
function selectColumn(data) {
    return {
        name: "Select",
        hiddenName: true,
        className: "integrations-select",
        cell: ({ id }) => {
            const field = fieldId();
            return t.div(
                { className: "field" },
                t.input({
                    id: field,
                    type: "checkbox",
                    checked: () => data.selected.includes(id),
                    onchange: (event) => {
                        const others = data.selected.filter((other) => other !== id);
                        data.selected = event.currentTarget.checked ? [...others, id] : others;
                    },
                }),
                t.label({ htmlFor: field }, t.span({ className: "integrations-offscreen" }, "Select this row")),
            );
        },
    };
}

/**
 * What can be done with the selected rows: label and action each. It stands above the list while rows are selected.
 *
 * @param {{ selected: string[], rows: Row[] | null }} data
 * @param {[string, () => unknown][]} actions
 */
function selectionBar(data, actions) {
    return () => (data.selected.length ? t.div(
        { className: "integrations-selection", role: "region", ariaLabel: "Selected rows" },
        t.strong({ "html-aria-live": "polite" }, `${count(data.selected.length)} selected`),
        t.button({ type: "button", className: "btn sm transparent secondary", onclick: () => (data.selected = (data.rows || []).map(({ id }) => id)) }, t.span({ className: "txt" }, "Select all on this page")),
        actions.map(([label, run]) => t.button({ type: "button", className: "btn sm secondary", onclick: run }, t.span({ className: "txt" }, label))),
        t.button({ type: "button", className: "btn sm transparent secondary", onclick: () => (data.selected = []) }, t.span({ className: "txt" }, "Clear")),
    ) : null);
}
