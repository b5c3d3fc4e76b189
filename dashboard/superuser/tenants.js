// Tenants: list with counts, the switch of the paid feature, the rate limit.

const defaultRateLimit = 600; // requests a minute and key

/** @typedef {Tenant & { counts: Counts }} TenantRow */

/** @param {Route<never>} route */
function tenantsPage(route) {
    /** @type {List<TenantRow> & { search: string, sort: string }} */
    const data = store({ rows: null, page: pageFromAddress(route), totalPages: 0, totalItems: 0, ...fromAddress(route, { search: "", sort: "name" }) });

    async function load() {
        listToAddress(data, "name", { search: data.search });
        const rows = await loadPage(data, "tenants", {
            sort: data.sort,
            fields: "id,name,apiEnabled,rateLimit,country",
            conditions: [data.search && app.pb.filter("name ~ {:search}", { search: data.search })],
        });
        const ids = rows.map(({ id }) => id).join(",");
        // one for each tenant, in their order
        const counts = ids ? await callIntegrations("GET", `/tenants/counts?ids=${ids}`) : [];
        keep(data, "rows", rows.map((tenant, index) => ({ ...tenant, counts: /** @type {Counts} */ (counts[index]) })));
    }

    function search() {
        data.page = 1;
        refreshPage();
    }

    return integrationsPage({
        title: "Tenants",
        intro: "Tenants are the customers of your CRM. Each has its own contacts, keys and webhooks. The switch enables or disables its API.",
        actions: [newButton("New tenant", () => editTenant())],
        load,
        content: () => [
            t.div({ className: "integrations-filters" }, searchField("Search by name", data, search)),
            table({
                label: "Tenants",
                data,
                empty: () => emptyState("ri-search-line", "Nothing found", "No tenant matches."),
                columns: [
                    { name: "Name", className: "integrations-grows", cell: tenantName, sort: "name" },
                    { name: "API", cell: tenantSwitch, sort: "apiEnabled" },
                    { name: "Requests per minute", className: "integrations-number integrations-wide", cell: ({ rateLimit }) => (rateLimit || defaultRateLimit).toLocaleString("en"), sort: "rateLimit", descends: true },
                    { name: "Contacts", className: "integrations-number", cell: ({ counts }) => cappedCount(counts.contacts) },
                    { name: "Keys", className: "integrations-number integrations-roomy", cell: ({ counts }) => cappedCount(counts.keys) },
                    { name: "Webhooks", className: "integrations-number integrations-roomy", cell: ({ counts }) => cappedCount(counts.webhooks) },
                    { name: "Members", className: "integrations-number", cell: ({ id, name, counts }) => t.a({ href: `${integrationsPath}/members?tenant=${id}`, ariaLabel: `${count(counts.members)} members of ${name}` }, count(counts.members)) },
                    { name: "Inbound", className: "integrations-number integrations-wide", cell: ({ counts }) => cappedCount(counts.inbound) },
                    { name: "Stored requests", className: "integrations-number integrations-wide", cell: ({ counts }) => storedLabel(counts) },
                    { className: "integrations-actions", cell: tenantActions },
                ],
            }),
            pager(data),
        ],
    });
}

/**
 * The name, and whether the tenant is closed for writes.
 *
 * @param {TenantRow} tenant
 */
function tenantName({ name, counts }) {
    const closed = { open: "", frozen: " (being moved: read-only)", arriving: " (being imported: not served yet)" };
    return t.span(null, t.strong(null, middleCut(name)), closed[counts.state]);
}

/**
 * How much of what may be stored of a tenant's calls is: "12 of 64 MiB".
 *
 * @param {Counts} counts
 */
function storedLabel({ storedBytes, storedLimit }) {
    const used = storedBytes && storedBytes < 2 ** 20 ? "< 1" : Math.round(storedBytes / 2 ** 20);
    return `${used} of ${storedLimit / 2 ** 20} MiB`;
}

/** @param {Tenant} tenant */
function tenantSwitch(tenant) {
    return switchControl(
        t.span(null, tenant.apiEnabled ? "Enabled" : "Disabled", t.span({ className: "integrations-offscreen" }, ` for ${tenant.name}`)),
        tenant.apiEnabled,
        async (apiEnabled) => {
            const update = () => app.pb.collection("tenants").update(tenant.id, { apiEnabled }, { requestKey: null });
            const done = await (apiEnabled ? attempt(update) : disableTenant(tenant, update));
            loadTenants().finally(refreshPage);
            return done;
        },
    );
}

/**
 * Asks before a customer's programs stop, and reports whether they do.
 *
 * @param {Tenant} tenant
 * @param {() => Promise<unknown>} update
 * @returns {Promise<boolean>}
 */
function disableTenant({ name }, update) {
    let done = false;
    return new Promise((resolve) => {
        confirmDialog({
            title: `Disable the API of ${name}?`,
            text: "Calls with its keys and requests to its inbound webhooks are rejected immediately (403 feature_not_enabled), and its members can only read. " +
                "Pending deliveries wait. Events that happen meanwhile are not sent: recover them once the API is enabled again.",
            action: "Disable API",
            run: async () => {
                await update();
                done = true;
            },
            onclose: () => resolve(done),
        });
    });
}

/** @param {TenantRow} tenant */
function tenantActions(tenant) {
    return t.div(
        { className: "integrations-buttons" },
        actionButton("Edit", "ri-edit-line", () => editTenant(tenant), { ariaLabel: `Edit ${tenant.name}` }),
        actionMenu(`More for ${tenant.name}`, [
            ["Open portal as…", "ri-external-link-line", () => openPortal(tenant)],
            ["Copy portal link…", "ri-link", () => copyPortalLink(tenant)],
            ["Delete", "ri-delete-bin-7-line", () => deleteTenant(tenant), "integrations-bad"],
        ]),
    );
}

/**
 * Opens the form; without a tenant, for a new one.
 *
 * @param {Tenant} [tenant]
 */
function editTenant(tenant) {
    const data = store({ name: tenant?.name || "", rateLimit: String(tenant?.rateLimit || ""), country: tenant?.country || "", repeated: "" });
    openForm({
        title: tenant ? `Edit ${tenant.name}` : "New tenant",
        submit: tenant ? "Save" : "Create tenant",
        size: "sm",
        content: () => [
            textField("Name", data, "name", { required: true, maxLength: 255, autofocus: true }),
            textField("Requests per minute", data, "rateLimit", {
                type: "number",
                min: "0",
                step: "1",
                placeholder: String(defaultRateLimit),
                help: "Applies to each key. Leave empty for the default.",
            }),
            textField("Country", data, "country", {
                maxLength: 2,
                placeholder: "DE",
                help: "Two letters. Imports and inbound webhooks read phone numbers of this country.",
            }),
        ],
        run: async () => {
            const values = { name: data.name.trim(), rateLimit: Number(data.rateLimit), country: data.country.trim() };
            const options = { query: { sameName: values.name === data.repeated }, requestKey: null };
            try {
                if (tenant) {
                    await app.pb.collection("tenants").update(tenant.id, values, options);
                } else {
                    await app.pb.collection("tenants").create({ ...values, apiEnabled: true }, options);
                }
            } catch (error) {
                if (!isTaken(error)) {
                    throw error;
                }
                data.repeated = values.name;
                throw fieldFault("name", `Another tenant has this name. To use it anyway, choose ${tenant ? "Save" : "Create tenant"} again.`);
            }
            await loadTenants();
            refreshPage();
        },
    });
}

/**
 * Whether an error says that another tenant has the name.
 *
 * @param {unknown} error
 */
function isTaken(error) {
    const { response } = /** @type {Failure} */ (error || {});
    return response?.data?.name?.code === "validation_tenant_name_taken";
}

/** @param {TenantRow} tenant */
function deleteTenant(tenant) {
    const { contacts, keys, webhooks, inbound, members } = tenant.counts;
    const data = store({ name: "" });
    openForm({
        title: `Delete ${tenant.name}?`,
        submit: "Delete tenant",
        style: "danger",
        size: "sm",
        content: () => [
            t.p(
                null,
                `${cappedPlural(contacts, "contact")}, ${cappedPlural(keys, "key")}, ${cappedPlural(webhooks, "webhook")}, ${cappedPlural(inbound, "inbound webhook")} and ${plural(members, "member")} are deleted with it. This cannot be undone.`,
            ),
            textField("Type its name to confirm", data, "name", { required: true, autofocus: true }),
        ],
        run: async () => {
            if (data.name !== tenant.name) {
                throw fieldFault("name", "The name does not match.");
            }
            await app.pb.collection("tenants").delete(tenant.id, { requestKey: null });
            app.toasts.success(`${tenant.name} was deleted.`);
            await loadTenants();
            refreshPage();
        },
    });
}

/** @type {[string, string][]} */
const linkDurations = [["300", "Five minutes"], ["3600", "One hour"], ["86400", "One day"]];

/**
 * Opens the portal of a tenant in a new tab, as somebody with the role would see it.
 *
 * @param {Tenant} tenant
 */
function openPortal(tenant) {
    /** @type {{ role: Member["role"] }} */
    const data = store({ role: "viewer" });
    openForm({
        title: `Open the portal of ${tenant.name}`,
        submit: "Open portal",
        size: "sm",
        content: () => [
            t.p(null, "Opens the portal in a new tab, for an hour. The audit log shows what you do there as actions of a portal link."),
            radioField("As", data, "role", roles),
        ],
        run: async () => {
            const tab = window.open("about:blank"); // before anything is awaited, or the browser blocks it
            try {
                const { token } = await callIntegrations("POST", `/tenants/${tenant.id}/portal-link`, { role: data.role, name: "Superuser" });
                if (!tab) {
                    throw new Error("The browser blocked the new tab. Allow it, or copy a link.");
                }
                tab.sessionStorage.clear(); // a new tab begins with that of this one
                tab.opener = null;
                tab.location.replace(app.pb.buildURL("/portal/") + "#token=" + token);
            } catch (error) {
                tab?.close();
                throw error;
            }
        },
    });
}

/** @param {Tenant} tenant */
function copyPortalLink(tenant) {
    /** @type {{ role: Member["role"], name: string, expiresIn: string }} */
    const data = store({ role: "viewer", name: "", expiresIn: "3600" });
    let link = "";
    openForm({
        title: `Portal link for ${tenant.name}`,
        submit: "Create link",
        content: () => [
            t.p(null, "Anyone with the link can open the portal without a password until it expires."),
            radioField("Role", data, "role", roles),
            textField("Name", data, "name", { maxLength: 255, help: "Who uses it. The portal, the list of members and the audit log show it." }),
            selectField("Works for", data, "expiresIn", () => linkDurations),
        ],
        run: async () => {
            const { role, name, expiresIn } = data;
            const { token } = await callIntegrations("POST", `/tenants/${tenant.id}/portal-link`, { role, name: name.trim(), expiresIn: Number(expiresIn) });
            link = `${siteAddress()}/portal/#token=${token}`;
        },
        onclose: () => link && openShownOnce({
            title: `Portal link for ${tenant.name}`,
            content: (oncopied) => copyBlock("Link", link, { autofocus: true, oncopied }),
            done: "Done",
        }),
    });
}
