// A page. What stands around it differs: superuser/settings.js has the frame of the dashboard, portal/frame.js that of the portal.

/**
 * The tenants that forms offer, by name.
 *
 * @type {{ known: boolean, list: Pick<Tenant, "id" | "name" | "apiEnabled">[] }}
 */
const tenants = store({ known: false, list: [] });

/** How many tenants forms offer; an installation with more is served by the command line and the records. */
const maxOfferedTenants = 500;

async function loadTenants() {
    const { items } = await listRecords("tenants", {
        perPage: maxOfferedTenants,
        sort: "name",
        fields: "id,name,apiEnabled",
        skipTotal: true,
    });
    keep(tenants, "list", items);
    tenants.known = true;
}

/**
 * A page. load is called when it opens and every few seconds after. While there is no tenant, the page offers the first
 * steps instead of its content.
 *
 * @param {object} page
 * @param {string | (() => string)} page.title
 * @param {[string, string][]} [page.trail] label and address of the pages above this one
 * @param {Gone} [page.gone] what the page says once load finds that its record does not exist
 * @param {string} [page.intro]
 * @param {Child} [page.actions] buttons in the header
 * @param {() => Child} page.content
 * @param {() => Promise<unknown>} [page.load]
 * @param {() => unknown} [page.opened] called once the page has opened
 * @param {() => unknown} [page.entered] whether something on the page is not saved
 * @param {boolean} [page.firstSteps]
 */
function integrationsPage({ title, trail = [], intro, actions = [], content, load, gone, opened, entered, firstSteps = true }) {
    const titleText = typeof title === "string" ? () => title : title;
    app.store.title = titleText();
    const state = store({ fault: "", starting: false, gone: false, isLoaded: false });
    const lost = () => (entered?.() ? unsavedInput : null);
    /** @type {ReturnType<typeof poll>} */
    let polling;

    async function loadAll() {
        try {
            await Promise.all([tenants.known && tenants.list.length ? null : loadTenants(), load?.(), loadStatus()]);
            state.fault = "";
            state.gone = false;
            state.isLoaded = true;
        } catch (error) {
            if (hasNoSession(error)) {
                app.checkApiError(error);
            }
            state.gone = Boolean(gone) && isNotFound(error);
            state.fault = state.gone ? "" : errorText(error);
        }
        app.store.title = titleText();
        state.starting ||= firstSteps && tenants.known && !tenants.list.length;
    }

    return t.div(
        {
            className: () => `page integrations-page ${state.fault ? "integrations-faulty" : ""}`,
            onmount: (element) => {
                loadTenants().catch(() => {}); // loadAll says what is wrong
                polling = poll(loadAll);
                element.addEventListener("integrations:changed", polling.again);
                losses.add(lost);
                opened?.();
            },
            onunmount: () => {
                losses.delete(lost);
                polling.stop();
            },
        },
        t.a({ className: "btn integrations-skip", href: "#", onclick: skipNavigation }, "Skip to content"),
        pageNavigation(),
        t.div(
            { className: "page-content full-height", tabIndex: -1 },
            t.header(
                { className: "page-header" },
                t.nav(
                    { className: "breadcrumbs", ariaLabel: "You are here" },
                    breadcrumbs(),
                    trail.map(([label, href]) => t.a({ className: "breadcrumb-item", href }, label)),
                    t.span({ className: "breadcrumb-item", role: "heading", ariaLevel: "1", "html-aria-current": "page", title: titleText }, titleText),
                ),
                t.div({ className: "page-header-primary-btns", hidden: () => !tenants.known || state.starting || state.gone }, actions),
            ),
            t.div({ role: "alert" }, () => (state.fault ? t.div(
                { className: "alert danger m-b-sm integrations-failed" },
                t.span(null, state.fault, state.isLoaded ? " What you see was loaded before." : ""),
                t.button({ type: "button", className: "btn sm secondary", onclick: () => polling.again() }, t.span({ className: "txt" }, "Retry")),
            ) : null)),
            statusLine,
            () => {
                if (state.gone && gone) {
                    const [label, href] = trail.at(-1) || ["Overview", integrationsPath];
                    return emptyState("ri-ghost-line", gone.title, gone.text, t.a({ className: "btn", href }, t.span({ className: "txt" }, label)));
                }
                if (!tenants.known) {
                    return t.div({ className: "skeleton-loader lg", role: "status", ariaLabel: "Loading" });
                }
                if (state.starting) {
                    return startSteps({ onfinish: () => (state.starting = false) });
                }
                return t.div(
                    { className: "integrations-content" },
                    intro ? t.p({ className: "integrations-intro txt-hint" }, intro) : null,
                    content(),
                );
            },
            t.footer({ className: "page-footer" }, app.components.credits()),
        ),
    );
}

/** @typedef {{ title: string, text: string }} Gone */

/**
 * Leads the focus to the content: the address is that of the page, so that a link to a part of it would lead away.
 *
 * @param {Event} event
 */
function skipNavigation(event) {
    event.preventDefault();
    /** @type {HTMLElement | null} */ (document.querySelector(".page-content"))?.focus();
}

/**
 * The values that the address of a page has, or else the defaults.
 *
 * @template {Record<string, string>} Values
 * @param {{ query: Record<string, string[] | undefined> }} route
 * @param {Values} defaults
 * @returns {Values}
 */
function fromAddress(route, defaults) {
    return /** @type {Values} */ (Object.fromEntries(Object.entries(defaults).map(([name, value]) => [name, route.query[name]?.[0] || value])));
}

/**
 * Keeps values in the address of the page, so that it shows the same after a reload and to somebody else. "" is left out.
 *
 * @param {Record<string, string>} values
 */
function toAddress(values) {
    const [path = ""] = location.hash.split("?");
    const query = new URLSearchParams(Object.entries(values).filter(([, value]) => value)).toString();
    const address = query ? `${path}?${query}` : path;
    if (address !== location.hash) {
        window.history.replaceState(window.history.state, "", address);
    }
}

/** @param {{ query: Record<string, string[] | undefined> }} route */
function pageFromAddress(route) {
    return Math.max(1, Math.trunc(Number(route.query.page?.[0])) || 1);
}

/**
 * Keeps the filters, the order and the page of a list in the address.
 *
 * @param {{ page: number, sort: string }} list
 * @param {string} defaultSort
 * @param {Record<string, string>} filters
 */
function listToAddress({ page, sort }, defaultSort, filters) {
    toAddress({ ...filters, sort: sort === defaultSort ? "" : sort, page: page > 1 ? String(page) : "" });
}

/**
 * Opens the window of a row, whose id the address has while it is open. show gets the id and what to do once the window is gone.
 *
 * @template {string} Name
 * @param {Record<Name, string>} data
 * @param {Name} name of the value in the address
 * @param {string} id
 * @param {(id: string, onclose: () => unknown) => unknown} show
 */
function openRow(data, name, id, show) {
    const keepId = (/** @type {string} */ value) => {
        data[name] = value;
        refreshPage();
    };
    keepId(id);
    show(id, () => keepId(""));
}

/**
 * Opens the window of the row that the address names, if any.
 *
 * @template {string} Name
 * @param {Record<Name, string>} data
 * @param {Name} name of the value in the address
 * @param {(id: string, onclose: () => unknown) => unknown} show
 */
function openedRow(data, name, show) {
    if (data[name]) {
        openRow(data, name, data[name], show);
    }
}

/** Shows a change at once, without waiting for the next poll. */
function refreshPage() {
    document.querySelector(".integrations-page")?.dispatchEvent(new CustomEvent("integrations:changed"));
}

/**
 * @param {string} label
 * @param {() => unknown} onclick
 */
function newButton(label, onclick) {
    return forEditors(t.button(
        { type: "button", className: "btn expanded", ariaLabel: label, onclick }, // on a narrow screen only the icon is left
        t.i({ className: "ri-add-line", ariaHidden: true }),
        t.span({ className: "txt" }, label),
    ));
}
