// Lists as tables. They become cards on a narrow screen (PocketBase's responsive-table).

/**
 * A table of the rows of a store.
 *
 *  - columns: [{ name, cell: (row) => element or text, className }]; the last one, without a name, holds the buttons
 *  - data.rows: null until loaded
 *  - empty: what to say where there are no rows
 */
function table({ label, columns, data, empty }) {
    return t.div(
        { className: "page-table-wrapper integrations-table", role: "region", ariaLabel: label, tabIndex: 0 },
        t.table(
            { className: "responsive-table", ariaLabel: label },
            t.thead(null, t.tr(null, columns.map(({ name, className = "" }) =>
                t.th({ scope: "col", className }, name || t.span({ className: "integrations-offscreen" }, "Actions"))))),
            t.tbody(null, () => tableRows(columns, data, empty)),
        ),
    );
}

function tableRows(columns, data, empty) {
    const rows = data.rows;
    if (!rows) {
        return t.tr(null, t.td({ colSpan: columns.length }, t.div({ className: "skeleton-loader", role: "status", ariaLabel: "Loading" })));
    }
    if (!rows.length) {
        return t.tr(null, t.td({ colSpan: columns.length, className: "integrations-empty" }, empty()));
    }
    return rows.map((row) =>
        t.tr(
            // a row that has not changed stays as it is, with the focus in it
            { rid: row.id + JSON.stringify(row), "html-data-id": row.id, className: row.muted ? "integrations-muted" : "" },
            columns.map(({ name, cell, className = "" }) => t.td({ className, "html-data-name": name }, cell(row))),
        ));
}

/** What an empty list says: what this is about, and what to do first. */
function emptyState(icon, title, text, action) {
    return t.div(
        { className: "integrations-empty-state" },
        t.i({ className: icon, ariaHidden: true }),
        t.h2(null, title),
        t.p({ className: "txt-hint" }, text),
        action || null,
    );
}

/** Pages by number, for lists that can be counted. */
function pager(data) {
    return () => {
        if (!data.totalPages || data.totalPages < 2) {
            return null;
        }
        return t.nav(
            { className: "integrations-pager", ariaLabel: "Pages" },
            pagerButton("ri-arrow-left-s-line", "Previous page", data.page <= 1, () => data.page--),
            t.span({ "html-aria-live": "polite" }, `Page ${data.page} of ${data.totalPages} · ${data.totalItems.toLocaleString("en")} in all`),
            pagerButton("ri-arrow-right-s-line", "Next page", data.page >= data.totalPages, () => data.page++),
        );
    };
}

function pagerButton(icon, label, disabled, turn) {
    return t.button(
        {
            type: "button",
            className: "btn sm circle secondary",
            ariaLabel: label,
            disabled,
            onclick: () => {
                turn();
                refreshPage();
            },
        },
        t.i({ className: icon, ariaHidden: true }),
    );
}

/** Loads the page of records that data asks for: data has page, and takes rows, totalPages and totalItems. */
async function loadPage(data, collection, options) {
    const result = await listRecords(collection, { page: data.page, ...options });
    if (data.page > 1 && !result.items.length) {
        data.page = Math.max(1, result.totalPages); // the last rows of the last page are gone
        return loadPage(data, collection, options);
    }
    data.totalPages = result.totalPages;
    data.totalItems = result.totalItems;
    return result.items;
}

/** A search field that calls search when the typing pauses. */
function searchField(label, data, search) {
    let timer;
    return textField(label, data, "search", {
        type: "search",
        oninput: (event) => {
            data.search = event.target.value;
            clearTimeout(timer);
            timer = setTimeout(search, 250);
        },
    });
}

function actionButton(label, icon, onclick, { style = "secondary", ...attributes } = {}) {
    return t.button(
        { type: "button", className: `btn sm transparent ${style}`, onclick, ...attributes },
        t.i({ className: icon, ariaHidden: true }),
        t.span({ className: "txt" }, label),
    );
}

/** A button with further actions: [label, icon, run, style] each. */
function actionMenu(label, actions) {
    const id = "integrations_" + app.utils.randomString();
    return [
        t.button(
            { type: "button", className: "btn sm circle transparent secondary", ariaLabel: label, "html-popovertarget": id },
            t.i({ className: "ri-more-2-line", ariaHidden: true }),
        ),
        t.div(
            { id, className: "dropdown sm nowrap", popover: "auto" },
            actions.filter(Boolean).map(([text, icon, run, style = ""]) =>
                t.button(
                    {
                        type: "button",
                        className: `dropdown-item ${style}`,
                        onclick: (event) => {
                            event.target.closest(".dropdown").hidePopover();
                            run();
                        },
                    },
                    t.i({ className: icon, ariaHidden: true }),
                    t.span({ className: "txt" }, text),
                )),
        ),
    ];
}
