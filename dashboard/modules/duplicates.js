// Contacts that may be the same person or company, and merging them.

/** @type {[string, string][]} */
const comparisons = [["email", "Email address"], ["phone", "Phone number"], ["name", "Name and company"]];

function duplicatesPage() {
    /** @type {{ rows: (DuplicateGroup & Row)[] | null, tenant: string, by: string, cursors: string[], next: string | null, shown: string }} */
    const data = store({ rows: null, tenant: member()?.tenant || "", by: "email", cursors: [], next: null, shown: "" });

    /** Where the next search for the wanted page continues, because the last one reached the limit of requests. */
    let reached = { wanted: "", cursor: /** @type {string | undefined} */ (undefined) };

    /** Reads pages until one has groups, and not again while the same page is wanted. */
    async function load() {
        if (!tenants.known) {
            await loadTenants();
        }
        data.tenant ||= tenants.list[0]?.id || "";
        const wanted = JSON.stringify([data.tenant, data.by, data.cursors]);
        if (!data.tenant || data.shown === wanted) {
            return;
        }
        let cursor = reached.wanted === wanted ? reached.cursor : data.cursors.at(-1);
        let page;
        do {
            page = await sendIntegrations("GET", `/tenants/${data.tenant}/duplicates`, { query: { by: data.by, cursor } });
            cursor = page.next || undefined;
            reached = { wanted, cursor };
        } while (cursor && !page.data.length);
        keep(data, "rows", page.data.map((group) => ({ id: JSON.stringify([group.value, group.company]), ...group })));
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
                selectField("Same", data, "by", () => comparisons, { onchange: search }),
                forSuperusers(selectField("Tenant", data, "tenant", tenantOptions, { onchange: search })),
            ),
            table({
                label: "Duplicates",
                data,
                empty: () => emptyState("ri-file-copy-2-line", "No duplicates", "No two contacts are the same in this way."),
                columns: [
                    { name: "Same", cell: ({ value, company }) => t.div({ className: "integrations-named" }, t.strong(null, value), company ? t.span({ className: "txt-hint" }, company) : null) },
                    { name: "Contacts", className: "integrations-number", cell: (group) => group.count.toLocaleString("en") },
                    { name: "Oldest first", className: "integrations-grows", cell: ({ contacts }) => t.div(null, contacts.slice(0, 5).map((contact) => t.div(null, duplicateLabel(contact)))) },
                    {
                        className: "integrations-actions",
                        cell: ({ contacts }) => forEditors(actionButton("Merge…", "ri-git-merge-line", () => attempt(() => mergeContacts(data.tenant, contacts, () => {
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

/** @param {Contact} contact */
function duplicateLabel({ id, name, email, phone, company, externalId }) {
    return [name, email, phone, company, externalId].filter(Boolean).join(" · ") || id;
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
