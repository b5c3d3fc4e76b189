// Lists as tables. They become cards on a narrow screen (PocketBase's responsive-table).

/** @typedef {{ id: string, muted?: boolean }} Row */

/**
 * A column; the last one, without a name, holds the buttons. Columns of the classes integrations-wide and integrations-roomy
 * disappear on narrow screens, in that order. The first click on one that descends, which has times or numbers, shows the
 * newest or the largest first.
 *
 * @template R
 * @typedef {{ name?: string, hiddenName?: boolean, className?: string, cell: (row: R) => Child, sort?: string, descends?: boolean }} Column
 */

/**
 * A list that can be counted: its rows, null until loaded, and which page of it they are.
 *
 * @template R
 * @typedef {{ rows: R[] | null, page: number, totalPages: number, totalItems: number }} List
 */

/**
 * A table of the rows of a store. A column with an order has a button that sorts by it: data has it in sort, with - in
 * front where it descends. The column of the tenant is left out where only one is shown.
 *
 * @template {Row} R
 * @param {object} options
 * @param {string} options.label
 * @param {Column<R>[]} options.columns
 * @param {{ rows: R[] | null, sort?: string, page?: number, tenant?: string }} options.data
 * @param {() => Child} options.empty the text without rows
 */
function table({ label, columns: all, data, empty }) {
    const columns = () => all.filter(({ name }) => name !== "Tenant" || !member() && !data.tenant);
    return t.div(
        { className: "page-table-wrapper integrations-table", role: "region", ariaLabel: label, tabIndex: 0 },
        t.table(
            { className: "responsive-table", ariaLabel: label },
            t.thead(null, () => t.tr(null, columns().map((column) => columnHead(column, data)))),
            t.tbody(null, () => tableRows(columns(), data, empty)),
        ),
    );
}

/**
 * @template R
 * @param {Column<R>} column
 * @param {{ sort?: string, page?: number }} data
 */
function columnHead({ name, hiddenName, className = "", sort, descends }, data) {
    if (!sort) {
        return t.th({ scope: "col", className }, hiddenName ? t.span({ className: "integrations-offscreen" }, name) : name || t.span({ className: "integrations-offscreen" }, "Actions"));
    }
    return t.th(
        { scope: "col", className, "html-aria-sort": () => (data.sort === sort ? "ascending" : data.sort === "-" + sort ? "descending" : "none") },
        t.button(
            {
                type: "button",
                className: "integrations-sort",
                onclick: () => {
                    const isSorted = data.sort === sort || data.sort === "-" + sort;
                    data.sort = (isSorted ? data.sort === sort : descends) ? "-" + sort : sort;
                    data.page = 1;
                    refreshPage();
                },
            },
            name,
            t.i({ ariaHidden: true, className: () => (data.sort === sort ? "ri-arrow-up-s-line" : data.sort === "-" + sort ? "ri-arrow-down-s-line" : "ri-expand-up-down-line") }),
        ),
    );
}

/**
 * @template {Row} R
 * @param {Column<R>[]} columns
 * @param {{ rows: R[] | null }} data
 * @param {() => Child} empty
 */
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
            { rid: columns.length + row.id + JSON.stringify(row), "html-data-id": row.id, className: row.muted ? "integrations-muted" : "" },
            columns.map(({ name, cell, className = "" }) => t.td({ className, "html-data-name": name }, cell(row))),
        ));
}

/**
 * What an empty list says: what this is about, and what to do first. A viewer has no button for that.
 *
 * @param {string} icon
 * @param {string} title
 * @param {string} text
 * @param {Child} [action]
 */
function emptyState(icon, title, text, action) {
    return t.div(
        { className: "integrations-empty-state" },
        t.i({ className: icon, ariaHidden: true }),
        t.h2(null, title),
        t.p({ className: "txt-hint" }, Array.isArray(action) && !action.length && member()?.role === "viewer" ? "Only admins can create one." : text),
        action || null,
    );
}

/**
 * Pages by number, for lists that can be counted.
 *
 * @param {Omit<List<unknown>, "rows">} data
 */
function pager(data) {
    return () => {
        if (!data.totalPages || data.totalPages < 2) {
            return null;
        }
        return t.nav(
            { className: "integrations-pager", ariaLabel: "Pages" },
            pagerButton("ri-arrow-left-s-line", "Previous page", data.page <= 1, () => data.page--),
            t.span({ "html-aria-live": "polite" }, `Page ${data.page} of ${data.totalPages} · ${data.totalItems.toLocaleString("en")} total`),
            pagerButton("ri-arrow-right-s-line", "Next page", data.page >= data.totalPages, () => data.page++),
        );
    };
}

/**
 * @param {string} icon
 * @param {string} label
 * @param {boolean} disabled
 * @param {() => unknown} turn
 */
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

/**
 * Loads the page of records that data asks for: data has page, and takes rows, totalPages and totalItems.
 *
 * @template {keyof Records} Name
 * @param {Omit<List<unknown>, "rows">} data
 * @param {Name} collection
 * @param {ListOptions} options
 * @returns {Promise<Records[Name][]>}
 */
function loadPage(data, collection, options) {
    return loadPageOf(data, (page) => listRecords(collection, { page, ...options }));
}

/**
 * Like loadPage, of a list that load returns the pages of.
 *
 * @template R
 * @param {Omit<List<unknown>, "rows">} data
 * @param {(page: number) => Promise<RecordPage<R>>} load
 * @returns {Promise<R[]>}
 */
async function loadPageOf(data, load) {
    const result = await load(data.page);
    if (data.page > 1 && !result.items.length) {
        data.page = Math.max(1, result.totalPages); // the last rows of the last page were deleted
        return loadPageOf(data, load);
    }
    data.totalPages = result.totalPages;
    data.totalItems = result.totalItems;
    return result.items;
}

/**
 * A search field that calls search when the typing pauses.
 *
 * @param {string} label
 * @param {{ search: string }} data
 * @param {() => unknown} search
 */
function searchField(label, data, search) {
    let timer = 0;
    return textField(label, data, "search", {
        type: "search",
        oninput: (event) => {
            data.search = event.currentTarget.value;
            clearTimeout(timer);
            timer = setTimeout(search, 250);
        },
    });
}

/**
 * A search field, a choice of the tenant, and what else narrows the list below them.
 *
 * @param {string} label of the search field
 * @param {{ search: string, tenant: string, page: number }} data
 * @param {(search: () => void) => Child} [more]
 */
function tenantFilters(label, data, more) {
    const search = () => {
        data.page = 1;
        refreshPage();
    };
    return t.div(
        { className: "integrations-filters" },
        searchField(label, data, search),
        forSuperusers(selectField("Tenant", data, "tenant", () => [["", "All tenants"], ...tenantOptions()], { onchange: search })),
        more?.(search),
    );
}

/**
 * The conditions of the records that these filters let through.
 *
 * @param {{ search: string, tenant: string }} data
 * @param {string[]} fields that are searched
 */
function filterConditions(data, fields) {
    return [
        data.search && app.pb.filter(`(${fields.map((field) => `${field} ~ {:search}`).join(" || ")})`, { search: data.search }),
        data.tenant && app.pb.filter("tenant = {:tenant}", { tenant: data.tenant }),
    ];
}

/**
 * @param {string} label
 * @param {string} icon
 * @param {() => unknown} onclick
 * @param {{ style?: string, ariaLabel?: string }} [attributes]
 */
function actionButton(label, icon, onclick, { style = "secondary", ...attributes } = {}) {
    return t.button(
        { type: "button", className: `btn sm transparent ${style}`, title: label, onclick, ...attributes },
        t.i({ className: icon, ariaHidden: true }),
        t.span({ className: "txt" }, label),
    );
}

/**
 * A link that looks as an actionButton.
 *
 * @param {string} label
 * @param {string} icon
 * @param {string} href
 * @param {string} ariaLabel
 */
function actionLink(label, icon, href, ariaLabel) {
    return t.a(
        { className: "btn sm transparent secondary", href, title: label, ariaLabel },
        t.i({ className: icon, ariaHidden: true }),
        t.span({ className: "txt" }, label),
    );
}

/**
 * A button that is only an icon; its label is shown on hover.
 *
 * @param {string} label
 * @param {string} icon
 * @param {() => unknown} onclick
 */
function iconButton(label, icon, onclick) {
    return t.button({ type: "button", className: "btn sm circle transparent secondary", ariaLabel: label, title: label, onclick }, t.i({ className: icon, ariaHidden: true }));
}

/**
 * A button with further actions, which all change something: label, icon, what it does and its style each.
 *
 * @param {string} label
 * @param {[string, string, () => unknown, string?][]} actions
 */
function actionMenu(label, actions) {
    if (!mayChange()) {
        return [];
    }
    const id = "integrations_" + app.utils.randomString();
    const menu = t.div(
        { id, className: "dropdown sm nowrap", popover: "auto" },
        actions.map(([text, icon, run, style = ""]) =>
            t.button(
                {
                    type: "button",
                    className: `dropdown-item ${style}`,
                    onclick: () => {
                        menu.hidePopover();
                        run();
                    },
                },
                t.i({ className: icon, ariaHidden: true }),
                t.span({ className: "txt" }, text),
            )),
    );
    return [
        t.button(
            { type: "button", className: "btn sm circle transparent secondary", ariaLabel: label, title: label, "html-popovertarget": id },
            t.i({ className: "ri-more-2-line", ariaHidden: true }),
        ),
        menu,
    ];
}
