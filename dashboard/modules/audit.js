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

/** @type {Record<string, string>} */
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

function auditPage() {
    /** @type {{ rows: AuditEntry[] | null, tenant: string, cursors: string[], next: string | null }} */
    const data = store({ rows: null, tenant: "", cursors: [], next: null });

    async function load() {
        const page = await sendIntegrations("GET", "/audit", { query: { tenant: data.tenant || undefined, before: data.cursors.at(-1), limit: 50 } });
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
        content: () => [
            forSuperusers(t.div(
                { className: "integrations-filters" },
                selectField("Tenant", data, "tenant", () => [["", "All tenants"], ...tenantOptions()], { onchange: search }),
            )),
            table({
                label: "Audit log",
                data,
                empty: () => (data.tenant
                    ? emptyState("ri-search-line", "Nothing found", "The tenant has no entries.")
                    : emptyState("ri-history-line", "No entries yet", "The next change appears here.")),
                columns: [
                    { name: "When", cell: ({ created }) => timeAgo(created) },
                    { name: "Who", cell: auditActor },
                    { name: "What", cell: ({ action }) => stateLabel(auditActions[action] || { text: action, style: "" }) },
                    { name: "Record", cell: auditRecord },
                    { name: "Fields", className: "integrations-grows", cell: (entry) => auditFields(entry) || t.span({ className: "txt-hint" }, "–") },
                    { name: "Tenant", cell: ({ tenant }) => tenants.list.find(({ id }) => id === tenant)?.name || tenant },
                ],
            }),
            cursorPager(data, "entries"),
        ],
    });
}

/** @param {AuditEntry} entry */
function auditActor({ actorKind, actor, actorName }) {
    const kind = actorKinds[actorKind] || actorKind;
    const name = actorName || actor;
    return t.div({ className: "integrations-named" }, t.strong(null, name || kind), name ? t.span({ className: "txt-hint" }, kind) : null);
}

/**
 * Which fields changed. That a webhook was enabled also shows in its reason, which only Contactbase writes.
 *
 * @param {AuditEntry} entry
 */
function auditFields({ action, actorKind, fields }) {
    if (action !== "updated" || !fields.includes("disabled")) {
        return fields.join(", ");
    }
    const switched = fields.includes("disabledReason") ? (actorKind === "system" ? "disabled" : "enabled") : "enabled or disabled";
    return [switched, ...fields.filter((name) => !name.startsWith("disabled"))].join(", ");
}

/**
 * What the action was about. A record without a name, such as a deleted one, is shown by its id.
 *
 * @param {AuditEntry} entry
 */
function auditRecord({ action, collection, record, recordName }) {
    const kind = action === "link_created" || action === "revoked" && collection === "tenant_members" ? "Portal link" : auditedKinds[collection] || collection;
    const name = recordName ? t.span(null, recordName) : t.code({ className: "integrations-id" }, record);
    return t.div({ className: "integrations-named" }, t.span(null, kind), record ? name : null);
}
