// Contacts that may be the same person or company, and merging them.

/** @type {[string, string][]} */
const comparisons = [["email", "Email address"], ["phone", "Phone number"], ["name", "Name and company"]];

/** How many contacts of a group the list shows. */
const maxListed = 5;

/** @param {Route<never>} route */
function duplicatesPage(route) {
    /** @type {{ rows: (DuplicateGroup & Row)[] | null, tenant: string, by: string, cursors: string[], next: string | null, shown: string }} tenant is "" for all */
    const data = store({
        rows: null, next: null, shown: "", cursors: route.query.page?.slice(0, 1) || [],
        ...fromAddress(route, { tenant: member()?.tenant || "", by: "email" }),
    });

    /** Where the next search for the wanted page continues, because the last one reached the limit of requests. */
    let reached = { wanted: "", cursor: /** @type {string | undefined} */ (undefined) };

    /** Reads pages until one has groups, and not again while the same page is wanted. */
    async function load() {
        toAddress({ tenant: member() ? "" : data.tenant, by: data.by, page: data.cursors.at(-1) || "" });
        const wanted = JSON.stringify([data.tenant, data.by, data.cursors]);
        if (data.shown === wanted) {
            return;
        }
        let cursor = reached.wanted === wanted ? reached.cursor : data.cursors.at(-1);
        let page;
        do {
            page = await sendIntegrations("GET", data.tenant ? `/tenants/${data.tenant}/duplicates` : "/duplicates", { query: { by: data.by, cursor } });
            cursor = page.next || undefined;
            reached = { wanted, cursor };
        } while (cursor && !page.data.length);
        keep(data, "rows", page.data.map((group) => ({ id: JSON.stringify([group.tenant, group.value, group.company]), ...group })));
        data.next = page.next;
        data.shown = wanted;
        reached.wanted = "";
    }

    function search() {
        Object.assign(data, { rows: null, cursors: [], shown: "" });
        refreshPage();
    }

    return integrationsPage({
        title: "Duplicates",
        intro: "Finds contacts with the same email address, phone number, or name and company. Merging keeps one contact and deletes the others.",
        load,
        content: () => [
            t.div(
                { className: "integrations-filters" },
                selectField("Compare", data, "by", () => comparisons, { onchange: search }),
                forSuperusers(selectField("Tenant", data, "tenant", () => [["", "All tenants"], ...tenantOptions()], { onchange: search })),
            ),
            table({
                label: "Duplicates",
                data,
                empty: () => emptyState("ri-file-copy-2-line", "No duplicates", duplicatesText(data)),
                columns: [
                    {
                        name: "Shared",
                        className: "integrations-half",
                        cell: ({ value, company }) => t.div({ className: "integrations-named" }, t.strong(null, middleCut(value)), company ? middleCut(company, "txt-hint") : null),
                    },
                    { name: "Tenant", className: "integrations-shrinks integrations-roomy", cell: ({ tenant = data.tenant }) => tenantCell({ tenant }) },
                    { name: "Number", className: "integrations-number", cell: (group) => group.count.toLocaleString("en") },
                    { name: "Contacts, the oldest first", className: "integrations-grows integrations-half", cell: duplicateList },
                    {
                        className: "integrations-actions",
                        cell: ({ contacts, tenant = data.tenant }) => forEditors(actionButton("Merge…", "ri-git-merge-line", () => attempt(() => mergeContacts(tenant, contacts, () => {
                            data.shown = "";
                            refreshPage();
                        })))),
                    },
                ],
            }),
            cursorPager(data, "groups", ["Previous", "Next", "First page"]),
        ],
    });
}

/** @param {{ tenant: string, by: string }} data */
function duplicatesText({ tenant, by }) {
    const compared = comparisons.find(([value]) => value === by)?.[1].toLowerCase();
    const where = member() ? "" : ` of ${tenant ? tenants.list.find(({ id }) => id === tenant)?.name || "this tenant" : "the same tenant"}`;
    return `No two contacts${where} share their ${compared}.`;
}

/** @param {DuplicateGroup} group */
function duplicateList({ contacts, count: number, value, company }) {
    const shared = [value, company].map((text) => text.toLowerCase());
    return t.div(
        null,
        contacts.slice(0, maxListed).map((contact) => middleCut(duplicateLabel(contact, shared))),
        number > maxListed ? t.span({ className: "txt-hint" }, `and ${count(number - maxListed)} more`) : null,
    );
}

/**
 * @param {Contact} contact
 * @param {string[]} [shared] what all contacts of a group have, in lower case, and their labels leave out
 */
function duplicateLabel({ id, name, email, phone, company, externalId }, shared = []) {
    return [name, email, phone, company, externalId].filter((text) => text && !shared.includes(String(text).toLowerCase())).join(" · ") || id;
}

/**
 * Asks which of the contacts remains and whose values it gets, shows what it would be, and merges them.
 *
 * @param {string} tenant
 * @param {Contact[]} contacts
 * @param {() => unknown} done
 */
async function mergeContacts(tenant, contacts, done) {
    const names = (await callIntegrations("GET", "/contacts/fields"))
        .filter((name) => name !== "id" && new Set(contacts.map((contact) => fieldText(contact[name] ?? null))).size > 1);
    /** @type {{ remaining: string, chosen: string[], outcome: Contact | null, fault: string }} */
    const data = store({ remaining: contacts[0]?.id || "", chosen: contacts.map(({ id }) => id), outcome: null, fault: "" });
    /** @type {Record<string, string>} the id of the contact whose value wins, by field */
    const winners = store(Object.fromEntries(names.map((name) => [name, ""])));
    const chosen = () => contacts.filter(({ id }) => data.chosen.includes(id));
    const ready = () => data.chosen.length > 1 && data.chosen.includes(data.remaining);

    /** @param {boolean} dryRun */
    const merge = (dryRun) => callIntegrations("POST", `/tenants/${tenant}/contacts/${data.remaining}/merge`, {
        from: data.chosen.filter((id) => id !== data.remaining),
        fields: Object.fromEntries(Object.entries(winners).filter(([, id]) => data.chosen.includes(id))),
        dryRun,
    });

    let turn = 0;
    async function preview() {
        const own = ++turn;
        if (!data.chosen.includes(data.remaining)) {
            data.remaining = data.chosen[0] || "";
        }
        if ("externalId" in winners && !data.chosen.includes(winners.externalId || "")) {
            winners.externalId = chosen().find((contact) => contact.externalId)?.id || data.remaining;
        }
        /** @type {Pick<typeof data, "outcome" | "fault">} */
        const result = { outcome: null, fault: "Choose at least two contacts." };
        try {
            if (ready()) {
                Object.assign(result, { outcome: await merge(true), fault: "" });
            }
        } catch (error) {
            result.fault = errorText(error);
        }
        if (own === turn) {
            Object.assign(data, result);
        }
    }

    openForm({
        title: "Merge contacts",
        submit: "Merge",
        style: "danger",
        size: "lg",
        ready: () => ready() && Boolean(data.outcome),
        content: () => t.div(
            { className: "integrations-try", onmount: preview },
            t.div(
                { className: "integrations-form" },
                checkboxesField("Contacts", data, "chosen", contacts.map((contact) => [contact.id, duplicateLabel(contact)]), { onchange: preview }),
                selectField("Contact that remains", data, "remaining", () => chosen().map((contact) => [contact.id, duplicateLabel(contact)]), {
                    onchange: preview,
                    help: "It keeps its ID. The others are deleted, and relations to them are moved to it.",
                }),
                names.map((name) => selectField(fieldTitle(name), winners, name, () => [
                    .../** @type {[string, string][]} */ (name === "externalId" ? [] : [["", "Automatic"]]), // it has to be chosen
                    ...chosen().map(/** @returns {[string, string]} */ (contact) => [contact.id, fieldText(contact[name] ?? null) || "No value"]),
                ], { onchange: preview })),
            ),
            t.section(
                { className: "integrations-try-result", ariaLabel: "Result", "html-aria-live": "polite" },
                t.h3({ className: "m-b-10" }, "Result"),
                () => (data.outcome ? contactCard(data.outcome) : t.p({ className: "integrations-bad" }, data.fault)),
            ),
        ),
        run: async () => {
            await merge(false);
            app.toasts.success("Merged.");
            done();
        },
    });
}
