// API keys: list, create, rotate, revoke.

/** @type {Record<Permission, string>} */
const permissionNames = { "contacts:read": "Read", "contacts:write": "Write", "contacts:delete": "Delete", "portal:link": "Portal links", "portal:link-admin": "Portal links of admins" };

/** @type {Permission[]} */
const defaultPermissions = ["contacts:read", "contacts:write"];

/**
 * The permissions that somebody may grant: a portal link, which ends, makes no key that deletes contacts or creates portal links.
 *
 * @returns {[Permission, string][]}
 */
function grantedPermissions() {
    return [
        ["contacts:read", "Read contacts"],
        ["contacts:write", "Create and update contacts"],
        ...(member()?.link ? [] : /** @type {[Permission, string][]} */ ([
            ["contacts:delete", "Delete contacts"],
            ["portal:link", "Create portal links of viewers"],
            ["portal:link-admin", "Create portal links of viewers and admins"],
        ])),
    ];
}

/**
 * Whether only somebody who has signed in may change or rotate the key.
 *
 * @param {ApiKey} key
 */
function isGuarded({ permissions }) {
    return permissions?.some((permission) => !defaultPermissions.includes(permission));
}

/** How long before it expires a key asks to be rotated, in milliseconds. */
const soon = 14 * 24 * 60 * 60 * 1000;

/** @param {Route<never>} route */
function keysPage(route) {
    /** @type {List<ApiKey> & { search: string, tenant: string, sort: string }} */
    const data = store({
        rows: null, page: pageFromAddress(route), totalPages: 0, totalItems: 0,
        ...fromAddress(route, { search: "", tenant: "", sort: "-created" }),
    });

    async function load() {
        listToAddress(data, "-created", { search: data.search, tenant: data.tenant });
        keep(data, "rows", await loadPage(data, "api_keys", {
            sort: data.sort,
            expand: "tenant",
            fields: "id,name,prefix,permissions,expires,revoked,lastUsed,tenant,expand.tenant.name,expand.tenant.apiEnabled",
            conditions: filterConditions(data, ["name", "prefix"]),
        }));
    }

    return integrationsPage({
        title: "API keys",
        intro: "A key lets a program read or write contacts. It is shown once, when it is created. After that, its name and prefix identify it.",
        actions: [newButton("New key", () => newKey(data.tenant))],
        load,
        content: () => [
            forSuperusers(t.h2({ className: "integrations-subtitle" }, "Keys")),
            tenantFilters("Search by name or prefix", data),
            table({
                label: "API keys",
                data,
                empty: () => (data.search || data.tenant
                    ? emptyState("ri-search-line", "Nothing found", "No key matches.")
                    : emptyState("ri-key-2-line", "No keys yet", "Create the first one, then give it to the program that needs it.", newButton("New key", () => newKey()))),
                columns: [
                    { name: "Name", className: "integrations-grows", cell: (key) => t.div({ className: "integrations-named" }, t.strong(null, middleCut(key.name)), t.code(null, key.prefix + "…")), sort: "name" },
                    { name: "Tenant", className: "integrations-shrinks integrations-roomy", cell: tenantCell },
                    { name: "Permissions", className: "integrations-wide", cell: (key) => permissionLabel(key.permissions) },
                    { name: "Last used", cell: (key) => timeAgo(key.lastUsed), sort: "lastUsed", descends: true },
                    { name: "Expires", className: "integrations-roomy", cell: (key) => timeAgo(key.expires), sort: "expires", descends: true },
                    { name: "Status", cell: keyStateCell },
                    { className: "integrations-actions", cell: keyActions },
                ],
            }),
            pager(data),
            forSuperusers(
                t.h2({ className: "integrations-subtitle" }, "Calls without a valid key"),
                t.p(
                    null,
                    "Calls that sent no key, or one that does not exist, are rejected with 401. ",
                    t.a({ href: keyCallsPath(unknownKey) }, "Show them"),
                ),
            ),
        ],
    });
}

/** @param {Permission[]} permissions */
function permissionLabel(permissions) {
    const chosen = permissions?.length ? permissions : defaultPermissions;
    const names = chosen.map((permission, i) => (i ? permissionNames[permission].toLowerCase() : permissionNames[permission]));
    return new Intl.ListFormat("en-GB").format(names);
}

/** @param {ApiKey} key */
function keyStateCell(key) {
    const state = keyState(key);
    if (state.style === "success" && key.expand?.tenant?.apiEnabled === false) {
        return t.span({ className: "label warning", title: "The API is not enabled for the tenant: calls are rejected" }, "Tenant disabled");
    }
    return t.div({ className: "integrations-named" }, stateLabel(state), key.revoked ? timeAgo(key.revoked) : null);
}

/** @param {ApiKey} key */
function keyActions(key) {
    const calls = t.a(
        { className: "btn sm transparent secondary", href: keyCallsPath(key.id), ariaLabel: `Calls with the key ${key.name}` },
        t.i({ className: "ri-bar-chart-2-line", ariaHidden: true }),
        t.span({ className: "txt" }, "Calls"),
    );
    if (key.revoked || (member()?.link && isGuarded(key))) {
        return t.div({ className: "integrations-buttons" }, calls);
    }
    const active = keyState(key).text === "Active"; // an expired key cannot be rotated
    return t.div(
        { className: "integrations-buttons" },
        calls,
        forEditors(
            ...(active ? [actionButton("Rotate", "ri-refresh-line", () => rotateKey(key), { ariaLabel: `Rotate the key ${key.name}` })] : []),
            actionButton("Revoke", "ri-forbid-line", () => revokeKey(key), { style: "danger", ariaLabel: `Revoke the key ${key.name}` }),
        ),
    );
}

/** @param {string} [tenant] */
function newKey(tenant = "") {
    /** @type {{ tenant: string, name: string, permissions: Permission[], expires: string }} */
    const data = store({ tenant: tenant || onlyTenant(), name: "", permissions: [...defaultPermissions], expires: "" });
    openForm({
        title: "New API key",
        submit: "Create key",
        content: () => [
            tenantField(data),
            textField("Name", data, "name", { required: true, maxLength: 255, autofocus: true, help: "Where the key is used, for example: nightly import." }),
            checkboxesField("Permissions", data, "permissions", grantedPermissions(), { help: "A key that creates portal links gives access to the portal of its tenant. See Portal links in the documentation." }),
            expiresField(data),
        ],
        run: async () => {
            if (!data.permissions.length) {
                throw fieldFault("permissions", "Choose at least one permission.");
            }
            await app.pb.collection("api_keys").create({
                tenant: chosenTenant(data),
                name: data.name.trim(),
                permissions: data.permissions,
                expires: futureTime(data.expires),
            });
            refreshPage();
        },
    });
}

/** @param {{ expires: string }} data */
function expiresField(data) {
    return textField("Expires", data, "expires", { type: "datetime-local", help: "Leave empty for a key that works until it is revoked." });
}

/**
 * What an input of an expiry says, as the server wants it. A key with one in the past would never work.
 *
 * @param {string} value
 */
function futureTime(value) {
    const time = inputTime(value);
    if (time && parseTime(time).getTime() <= Date.now()) {
        throw fieldFault("expires", "Choose an expiry in the future.");
    }
    return time;
}

/** @param {ApiKey} key */
function rotateKey(key) {
    const expires = key.expires ? parseTime(key.expires) : null;
    const far = expires && expires.getTime() > Date.now() + soon;
    const data = store({ overlapHours: "24", expires: far ? app.utils.toDatetimeLocalInputValue(expires).slice(0, 16) : "" });
    openForm({
        title: `Rotate the key ${key.name}`,
        submit: "Rotate key",
        style: () => (data.overlapHours === "0" ? "danger" : ""),
        size: "sm",
        content: () => [
            t.p(null, "Creates a new key with the same permissions and shows it once."),
            expiresField(data),
            selectField("The old key", data, "overlapHours", () => [
                ["0", "stops working immediately"],
                ["1", "keeps working for one hour"],
                ["24", "keeps working for one day"],
                ["168", "keeps working for one week"],
            ]),
        ],
        run: async () => {
            await callIntegrations("POST", `/keys/${key.id}/rotate`, { overlapHours: Number(data.overlapHours), expires: futureTime(data.expires) || null });
            refreshPage();
        },
    });
}

/** @param {ApiKey} key */
function revokeKey(key) {
    confirmDialog({
        title: `Revoke the key ${key.name}?`,
        text: `Programs that use ${key.prefix}… are rejected from their next request. This cannot be undone.`,
        action: "Revoke key",
        run: async () => {
            await app.pb.collection("api_keys").update(key.id, { revoked: new Date().toISOString() }, { requestKey: null });
            app.toasts.success("The key was revoked.");
            refreshPage();
        },
    });
}
