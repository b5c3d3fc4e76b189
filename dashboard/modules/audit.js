// The audit log: who changed what, and when.

/** @type {Record<ActorKind, string>} */
const actorKinds = { superuser: "Superuser", member: "Member", link: "Portal link", key: "API key", command: "Command line", system: "Contactbase" };

/** @type {Record<AuditAction, State>} */
const auditActions = {
    created: { text: "Created", style: "success" },
    updated: { text: "Updated", style: "" },
    deleted: { text: "Deleted", style: "danger" },
    rotated: { text: "Rotated", style: "warning" },
    revoked: { text: "Revoked", style: "danger" },
    exported: { text: "Exported", style: "" },
    imported: { text: "Imported", style: "" },
    merged: { text: "Merged", style: "" },
    undone: { text: "Undone", style: "warning" },
    redelivered: { text: "Redelivered", style: "" },
    recovered: { text: "Recovered", style: "" },
    link_created: { text: "Created", style: "success" },
    signed_in: { text: "Signed in", style: "" },
};

/** @type {Record<AuditedKind, string>} */
const auditedKinds = {
    tenants: "Tenant",
    api_keys: "API key",
    webhooks: "Webhook",
    inbound_webhooks: "Inbound webhook",
    tenant_members: "Member",
    contacts: "Contacts",
    deliveries: "Delivery",
    events: "Event",
    _superusers: "Superuser",
};

/**
 * The pages of records, "" for none. A delivery has a window instead.
 *
 * @type {Record<Exclude<AuditedKind, "deliveries">, (entry: AuditEntry) => string>}
 */
const auditedPages = {
    tenants: ({ recordName }) => tenantPath(recordName),
    api_keys: ({ record }) => keyCallsPath(record),
    webhooks: ({ record }) => webhookPath(record),
    inbound_webhooks: ({ record }) => `${integrationsPath}/inbound/${record}/requests`,
    tenant_members: ({ recordName }) => `${integrationsPath}/members?search=${encodeURIComponent(recordName)}`,
    contacts: ({ action, record }) => (action === "merged" ? contactPath(record) : importPath(record)),
    events: ({ record }) => eventPath(record),
    _superusers: ({ record }) => (member() ? "" : `#/collections?collection=_superusers&record=${record}`),
};

/**
 * The list of tenants with this one, "" for members.
 *
 * @param {string} name
 */
function tenantPath(name) {
    return member() ? "" : `${integrationsPath}/tenants?search=${encodeURIComponent(name)}`;
}

/** @typedef {"tenant" | "actor" | "action" | "collection" | "since" | "until" | "before"} AuditFilter */

/** @typedef {Record<AuditFilter, string> & { rows: AuditEntry[] | null, cursors: string[], next: string | null }} AuditData */

/** @param {Route<never>} route */
function auditPage(route) {
    const chosen = fromAddress(route, { tenant: "", actor: "", action: "", collection: "", since: "", until: "", before: "" });
    /** @type {AuditData} */
    const data = store({ rows: null, cursors: chosen.before ? [chosen.before] : [], next: null, ...chosen });

    async function load() {
        const { tenant, actor, action, collection, since, until } = data;
        const before = data.cursors.at(-1) || "";
        toAddress({ tenant, actor, action, collection, since, until, before });
        const page = await sendIntegrations("GET", "/audit", { query: { ...auditQuery(data), before: before || undefined, limit: 50 } });
        keep(data, "rows", page.data);
        data.next = page.nextBefore || null;
    }

    function search() {
        data.cursors = [];
        refreshPage();
    }

    return integrationsPage({
        title: "Audit log",
        intro: `Shows who changed ${member() ? "" : "tenants, "}keys, webhooks and members, imported, exported or merged contacts, or signed in. Entries cannot be changed. Changes to contacts are in their events.`,
        firstSteps: false,
        load,
        actions: t.button(
            { type: "button", className: "btn secondary", ariaLabel: "Download CSV", onclick: () => attempt(() => loadSheet("/audit", { ...auditQuery(data), format: "csv" })) },
            t.i({ className: "ri-file-download-line", ariaHidden: true }),
            t.span({ className: "txt" }, "Download CSV"),
        ),
        content: () => [
            auditFilters(data, search),
            table({
                label: "Audit log",
                data,
                empty: () => (Object.keys(auditQuery(data)).length
                    ? emptyState("ri-search-line", "Nothing found", data.next ? "None of the last 20,000 entries matches. Go to older entries to continue the search." : "No entry matches these filters.")
                    : emptyState("ri-history-line", "No entries yet", "The next change appears here.")),
                columns: [
                    { name: "When", cell: ({ created }) => timeAgo(created) },
                    { name: "Who", className: "integrations-person", cell: auditActor },
                    { name: "What", cell: ({ action }) => stateLabel(auditActions[action] || { text: action, style: "" }) },
                    { name: "Record", className: "integrations-half", cell: auditRecord },
                    { name: "Changes", className: "integrations-half", cell: auditDetails },
                    { name: "Tenant", className: "integrations-shrinks integrations-roomy", cell: auditTenant },
                ],
            }),
            cursorPager(data, "entries"),
        ],
    });
}

/**
 * The filters that are set.
 *
 * @param {AuditData} data
 */
function auditQuery({ tenant, actor, action, collection, since, until }) {
    const all = { tenant, actor: actor.trim(), action, collection, since: inputTime(since), until: inputTime(until) };
    return Object.fromEntries(Object.entries(all).filter(([, value]) => value));
}

/**
 * @param {AuditData} data
 * @param {() => unknown} search
 */
function auditFilters(data, search) {
    /** @param {"since" | "until"} name */
    const at = (name) => ({
        type: "datetime-local",
        onchange: (/** @type {{ currentTarget: HTMLInputElement }} */ event) => {
            data[name] = event.currentTarget.value;
            search();
        },
    });
    return t.details(
        { className: "integrations-details integrations-folded-filters", open: matchMedia("(min-width: 601px)").matches },
        t.summary(null, "Filters"),
        t.div(
            { className: "integrations-filters" },
            forSuperusers(selectField("Tenant", data, "tenant", () => [["", "All tenants"], ...tenantOptions()], { onchange: search })),
            selectField("Who", data, "actor", () => auditActors(data), { onchange: search }),
            selectField("What", data, "action", () => [["", "Everything"], ...Object.entries(auditActions).map(auditActionOption)], { onchange: search }),
            selectField("Record", data, "collection", () => [["", "All records"], ...Object.entries(auditedKinds)], { onchange: search }),
            textField("Since", data, "since", at("since")),
            textField("Before", data, "until", at("until")),
        ),
    );
}

/**
 * @param {[string, State]} action
 * @returns {[string, string]}
 */
function auditActionOption([action, { text }]) {
    return [action, action === "link_created" ? "Created a portal link" : text];
}

/**
 * The kinds of actors, and those of the entries at hand.
 *
 * @param {AuditData} data
 * @returns {[string, string][]}
 */
function auditActors({ rows, actor }) {
    const people = new Map((rows || []).filter((entry) => entry.actor).map((entry) => [entry.actor, entry.actorName || entry.actor]));
    if (actor && !people.has(actor) && !(actor in actorKinds)) {
        people.set(actor, actor);
    }
    return [["", "Everybody"], ...Object.entries(actorKinds), ...people];
}

/** @param {AuditEntry} entry */
function auditActor({ actorKind, actor, actorName }) {
    const kind = actorKinds[actorKind] || actorKind;
    const name = actorName || actor;
    return t.div({ className: "integrations-named" }, t.strong(null, middleCut(name || kind)), name ? t.span({ className: "txt-hint" }, kind) : null);
}

/**
 * What changed: old and new values, the names of the other fields, and why. What the program itself did is folded.
 *
 * @param {AuditEntry} entry
 */
function auditDetails(entry) {
    const { action, actorKind, fields, changes, count: number, reason } = entry;
    const others = fields.filter((name) => !(name in changes) && name !== "disabledReason").join(", ");
    const values = Object.entries(changes).map(([name, { old, new: present }]) => t.li(
        null,
        t.strong(null, name),
        action === "updated" ? [" ", t.span({ className: "txt-hint" }, auditValue(old)), " → "] : ": ",
        auditValue(action === "deleted" ? old : present),
    ));
    const all = [
        reason ? t.p(null, reason) : null,
        number ? t.p(null, `${count(number)} sent`) : null,
        values.length ? t.ul({ className: "integrations-remarks" }, values) : null,
        others ? t.p({ className: "txt-hint" }, others) : null,
    ].filter(Boolean);
    if (!all.length) {
        return t.span({ className: "txt-hint" }, "–");
    }
    return actorKind === "system"
        ? t.details({ className: "integrations-details" }, t.summary(null, reason || fields.join(", ") || "Details"), all)
        : t.div(null, all);
}

/** @param {unknown} value */
function auditValue(value) {
    if (value === null || value === "" || Array.isArray(value) && !value.length) {
        return "none";
    }
    return typeof value === "boolean" ? (value ? "yes" : "no") : Array.isArray(value) ? value.join(", ") : String(value);
}

/** @param {AuditEntry} entry */
function auditTenant({ tenant }) {
    const name = tenants.list.find(({ id }) => id === tenant)?.name;
    return name && tenantPath(name) ? t.a({ href: tenantPath(name) }, middleCut(name)) : name || tenant;
}

/**
 * What the action was about. A record without a name, such as a deleted one, is shown by its id.
 *
 * @param {AuditEntry} entry
 */
function auditRecord(entry) {
    const { action, collection, record, recordName } = entry;
    const kind = action === "link_created" || action === "revoked" && collection === "tenant_members" ? "Portal link" : auditedKinds[collection] || collection;
    const shown = recordName ? middleCut(recordName) : t.code({ className: "integrations-id" }, record);
    const address = auditAddress(entry);
    return t.div(
        { className: "integrations-named" },
        t.span(null, kind),
        record ? (address ? t.a({ href: address }, shown) : shown) : null,
        record && collection === "deliveries" ? iconButton("Details of the delivery", "ri-search-eye-line", () => showDelivery(record)) : null,
    );
}

/**
 * The page of a record, "" if it has none or is deleted: then it has no name, unless its kind never has one.
 *
 * @param {AuditEntry} entry
 */
function auditAddress(entry) {
    const { action, collection, record, recordName } = entry;
    const isNameless = collection === "events" || collection === "_superusers" || action === "merged";
    if (!record || collection === "deliveries" || action === "deleted" || !recordName && !isNameless) {
        return "";
    }
    return auditedPages[collection](entry);
}
