// The contacts of a tenant: list, search and count. The page of one is in contact.js.

/**
 * Filters that only links set: the import that has created the contacts, and when they were created and last changed.
 *
 * @typedef {"import" | "createdBefore" | "updatedSince" | "updatedBefore"} LinkedFilter
 */

/**
 * @typedef {Record<"search" | "tenant" | "sort" | "cursor" | LinkedFilter, string> & {
 *     rows: Contact[] | null, found: { count: number, more?: boolean } | null, cursors: string[], next: string | null, shown: string, listed: string,
 * }} ContactsData
 */

const contactsPerPage = 25;

/** The order of the list unless somebody has chosen another: the newest first. */
const contactsOrder = "-createdAt";

/** @param {Route<never>} route */
function contactsPage(route) {
    const chosen = fromAddress(route, { search: "", tenant: "", sort: contactsOrder, cursor: "", import: "", createdBefore: "", updatedSince: "", updatedBefore: "" });
    /** @type {ContactsData} */
    const data = store({ rows: null, found: null, cursors: chosen.cursor ? [chosen.cursor] : [], next: null, shown: "", listed: "", ...chosen });

    return integrationsPage({
        title: "Contacts",
        load: () => loadContacts(data),
        content: () => [
            t.div(
                { className: "integrations-filters" },
                searchField("Search by name, email, phone or company", data, refreshPage),
                forSuperusers(selectField("Tenant", data, "tenant", tenantOptions, { onchange: () => showAllContacts(data) })),
            ),
            () => linkedFilterText(data),
            t.p({ className: "txt-hint", role: "status" }, () => foundText(data)),
            table({
                label: "Contacts",
                data,
                empty: () => (data.search || linkedFilters.some((name) => data[name])
                    ? emptyState("ri-search-line", "Nothing found", data.search ? "No contact matches. All words must be in the name, email address, phone number or company." : "These contacts have since been changed or deleted.")
                    : emptyState(
                        "ri-contacts-line",
                        "No contacts yet",
                        "Contacts come from the API, from inbound webhooks and from imports.",
                        forEditors(t.a({ className: "btn", href: `${integrationsPath}/imports` }, t.span({ className: "txt" }, "Import contacts"))),
                    )),
                columns: [
                    { name: "Name", className: "integrations-grows", sort: "name", cell: contactLink },
                    { name: "Phone", className: "integrations-wide", cell: ({ phone }) => contactText(phone) },
                    { name: "Company", className: "integrations-shrinks integrations-roomy", cell: ({ company }) => contactText(company) },
                    { name: "Created", sort: "createdAt", descends: true, cell: ({ createdAt }) => timeAgo(String(createdAt)) },
                    { name: "Updated", className: "integrations-wide", sort: "updatedAt", descends: true, cell: ({ updatedAt }) => timeAgo(String(updatedAt)) },
                ],
            }),
            cursorPager(data, "contacts", ["Previous", "Next", "First page"]),
        ],
    });
}

/** @type {LinkedFilter[]} */
const linkedFilters = ["import", "createdBefore", "updatedSince", "updatedBefore"];

/**
 * The address of a list with such filters.
 *
 * @param {Partial<Record<LinkedFilter | "tenant" | "sort", string>>} filters
 */
function contactsPath(filters) {
    return `${integrationsPath}/contacts?${new URLSearchParams(filters)}`;
}

/** @param {ContactsData} data */
function linkedFilterText(data) {
    if (!linkedFilters.some((name) => data[name])) {
        return null;
    }
    return t.div(
        { className: "integrations-selection" },
        data.import
            ? t.span(null, "Only contacts that ", mayChange() ? t.a({ href: importPath(data.import) }, "this import") : "an import", " created.")
            : t.span(null, "Only older contacts that were last changed between ", parseTime(data.updatedSince).toLocaleString(), " and ", parseTime(data.updatedBefore).toLocaleString(), "."),
        actionButton("Show all contacts", "ri-close-line", () => showAllContacts(data)),
    );
}

/** @param {ContactsData} data */
function showAllContacts(data) {
    for (const name of linkedFilters) {
        data[name] = "";
    }
    refreshPage();
}

/** @param {ContactsData} data */
async function loadContacts(data) {
    if (!member() && !data.tenant) {
        await (tenants.known ? null : loadTenants());
        data.tenant = tenants.list[0]?.id || "";
    }
    if (!member() && !data.tenant) {
        return; // the page offers the first steps
    }
    const search = data.search.trim();
    const linked = Object.fromEntries(linkedFilters.map((name) => [name, data[name]]).filter(([, value]) => value));
    const query = { ...(data.tenant && { tenant: data.tenant }), ...(search && { q: search }), ...linked };
    const listed = JSON.stringify([query, data.sort]);
    if (data.listed && data.listed !== listed) {
        data.cursors = [];
    }
    data.listed = listed;
    const cursor = data.cursors.at(-1) || "";
    toAddress({ search, tenant: data.tenant, ...linked, sort: data.sort === contactsOrder ? "" : data.sort, cursor });
    const { answer, headers } = await withHeaders("GET", "/contacts", {
        query: { ...query, sort: data.sort, limit: contactsPerPage, cursor: cursor || undefined },
    });
    const shown = JSON.stringify([listed, cursor, answer.data.map(({ id }) => id)]);
    if (listed !== data.listed) {
        return; // another search has begun meanwhile
    }
    if (data.shown !== shown) { // counting reads many contacts: not at each poll
        keep(data, "found", await callIntegrations("GET", /** @type {"/contacts/count"} */ ("/contacts/count?" + new URLSearchParams(query))));
    }
    keep(data, "rows", answer.data);
    data.next = nextCursor(headers);
    data.shown = shown;
}

/**
 * The cursor of the next page, which is in the header Link.
 *
 * @param {Headers} headers
 */
function nextCursor(headers) {
    const [, address] = headers.get("Link")?.match(/^<([^>]+)>/) || [];
    return address ? new URL(address).searchParams.get("cursor") : null;
}

/** @param {ContactsData} data */
function foundText({ rows, found, search }) {
    if (!rows || !found) {
        return "";
    }
    const number = found.more ? `More than ${plural(found.count, "contact")}` : plural(found.count, "contact");
    return search.trim() ? `${number} found` : number;
}

/** @param {Contact} contact */
function contactLink(contact) {
    const { id, name, email } = contact;
    return t.a(
        { className: "integrations-receiver", href: contactPath(id) },
        t.strong(null, middleCut(name || email || id)),
        name && email ? middleCut(email, "txt-hint") : null,
    );
}

/** @param {unknown} value */
function contactText(value) {
    return value ? middleCut(String(value)) : t.span({ className: "txt-hint" }, "–");
}
