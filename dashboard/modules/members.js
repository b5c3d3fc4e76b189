// The people of tenants: their list, invitations, roles; for superusers, and for admins of a tenant.

/** @type {Record<Member["role"], string>} */
const roleNames = { admin: "Admin", viewer: "Viewer" };

/** @type {[Member["role"], string, string][]} */
const roles = [
    ["admin", "Admin", "manages keys, webhooks and members"],
    ["viewer", "Viewer", "sees contacts, keys, webhooks and deliveries, but cannot change anything"],
];

/** @type {[string, string][]} */
const notices = [["immediately", "Immediately"], ["daily", "Once a day"], ["never", "Never"]];

/**
 * What the filter of the status offers: its name in the address, its label, and the condition of the members.
 *
 * @type {[string, string, string][]}
 */
const memberStates = [
    ["active", "Active", "link = false && accepted = true"],
    ["invited", "Invited", "link = false && accepted = false && invitedUntil > @now"],
    ["unchosen", "Password not chosen", "link = false && accepted = false && invitedUntil <= @now"],
    ["links", "Portal links", "link = true"],
];

/** @typedef {List<Member> & { search: string, tenant: string, status: string, sort: string }} MembersData */

/** Whether who is signed in may add, change and remove members. */
function managesMembers() {
    return mayChange() && !member()?.link;
}

/** @param {Route<never>} route */
function membersPage(route) {
    /** @type {MembersData} */
    const data = store({ rows: null, page: 1, totalPages: 0, totalItems: 0, ...fromAddress(route, { search: "", tenant: "", status: "", sort: "" }) });

    async function load() {
        const { search, tenant, status, sort } = data;
        toAddress({ search, tenant, status, sort });
        keep(data, "rows", await loadPage(data, "tenant_members", {
            sort: sort || "link,created",
            expand: "tenant",
            conditions: [...filterConditions(data, ["name", "email"]), memberStates.find(([name]) => name === status)?.[2] || ""],
        }));
    }

    return integrationsPage({
        title: "Members",
        intro: `The people who can sign in ${member() ? "here" : "to the portal of their tenant"}. An admin manages keys, webhooks and members. A viewer sees contacts, keys, webhooks and deliveries.`,
        actions: managesMembers() ? newButton("Invite member", () => addMember(data.tenant)) : [],
        load,
        content: () => [
            tenantFilters("Search by name or address", data, (search) => selectField("Status", data, "status", () => [["", "All"], ...memberStates.map(/** @returns {[string, string]} */ ([name, label]) => [name, label])], { onchange: search })),
            table({
                label: "Members",
                data,
                empty: () => (data.search || data.tenant || data.status
                    ? emptyState("ri-search-line", "Nothing found", "No member matches.")
                    : emptyState("ri-group-line", "No members yet", "Invite somebody from a tenant. They choose a password and sign in to the portal.", newButton("Invite member", () => addMember()))),
                columns: [
                    { name: "Name", sort: "name", className: "integrations-grows", cell: memberName },
                    { name: "Tenant", className: "integrations-shrinks integrations-roomy", cell: tenantCell },
                    { name: "Role", sort: "role", cell: ({ role }) => roleNames[role] },
                    { name: "Status", cell: memberState },
                    { name: "Notices", className: "integrations-wide", cell: ({ role, notify, link }) => (link || role !== "admin" ? "–" : notices.find(([value]) => value === (notify || "immediately"))?.[1]) },
                    { name: "Added", sort: "created", descends: true, className: "integrations-wide", cell: ({ created }) => timeAgo(created) },
                    { className: "integrations-actions", cell: memberActions },
                ],
            }),
            pager(data),
        ],
    });
}

/**
 * The name or address that identifies a member. A link has no address of its own.
 *
 * @param {Member} listed
 */
function memberLabel({ name, email, link }) {
    return name || (link ? "Unnamed" : email);
}

/** @param {Member} listed */
function memberName(listed) {
    const { name, email, link } = listed;
    return t.div({ className: "integrations-named" }, t.strong(null, middleCut(memberLabel(listed))), name || link ? t.span({ className: "txt-hint" }, link ? "through a link" : middleCut(email)) : null);
}

/** @param {Member} listed */
function isInvited({ invitedUntil }) {
    return Boolean(invitedUntil) && parseTime(invitedUntil).getTime() > Date.now();
}

/** @param {Member} listed */
function memberState(listed) {
    const { link, accepted, invitedUntil } = listed;
    if (link) {
        return stateLabel({ text: "Portal link", style: "" });
    }
    if (accepted) {
        return stateLabel({ text: "Active", style: "success" });
    }
    if (isInvited(listed)) {
        return t.div({ className: "integrations-named" }, stateLabel({ text: "Invited", style: "info" }), t.span({ className: "txt-hint" }, "expires ", timeAgo(invitedUntil)));
    }
    return stateLabel(invitedUntil ? { text: "Invitation expired", style: "warning" } : { text: "Password not chosen", style: "" });
}

/** @param {Member} listed */
function memberActions(listed) {
    const { id, role, link, accepted } = listed;
    if (id === member()?.id) {
        return t.span({ className: "txt-hint" }, "You");
    }
    if (!managesMembers()) {
        return null;
    }
    const other = role === "admin" ? "viewer" : "admin";
    const label = memberLabel(listed);
    const inviting = isInvited(listed) ? "Invite again" : "Invite";
    return t.div(
        { className: "integrations-buttons" },
        link || accepted ? null : actionButton(inviting, "ri-mail-send-line", () => attempt(async () => showInvitation(label, await invite(id))), { ariaLabel: `${inviting}: ${label}` }),
        actionMenu(`More for ${label}`, [
            [`Make ${other}`, "ri-user-settings-line", () => changeRole(listed, other)],
            ["Remove", "ri-delete-bin-7-line", () => removeMember(listed), "integrations-bad"],
        ]),
    );
}

/** @param {string} id */
async function invite(id) {
    const invitation = await callIntegrations("POST", `/members/${id}/invitation`);
    refreshPage();
    return invitation;
}

/**
 * Says that an invitation was sent, or shows the link to pass on.
 *
 * @param {string} label of the member
 * @param {Invitation} invitation
 */
function showInvitation(label, { sent, url, expires }) {
    if (sent) {
        app.toasts.success(`The invitation was sent to ${label}.`);
        return;
    }
    if (!url) {
        app.toasts.error(`The mail server did not accept the invitation. Invite ${label} again later.`, { duration: 10_000 });
        return;
    }
    openShownOnce({
        title: `Invitation for ${label}`,
        content: (oncopied) => [
            t.p(null, `No email was sent, because no mail server is set up. Share this link only with ${label}: anyone who has it can choose the password. It works once, until ${parseTime(expires).toLocaleString()}.`),
            copyBlock("Link", siteAddress() + url.slice(url.indexOf("/portal/#")), { autofocus: true, oncopied }),
        ],
        done: "Done",
    });
}

/**
 * @param {Member} listed
 * @param {Member["role"]} role
 */
function changeRole(listed, role) {
    const ends = isInvited(listed) ? " Their invitation ends: invite them again." : "";
    confirmDialog({
        title: `Make ${memberLabel(listed)} ${role === "admin" ? "an admin" : "a viewer"}?`,
        text: (role === "admin" ? `They can then manage keys, webhooks and members${member() ? ", and remove you" : ""}.` : "They can then no longer change anything.") + ends,
        action: `Make ${role}`,
        style: "",
        run: async () => {
            await app.pb.collection("tenant_members").update(listed.id, { role }, { requestKey: null });
            app.toasts.success(`${memberLabel(listed)} is now ${role === "admin" ? "an admin" : "a viewer"}.`);
            refreshPage();
        },
    });
}

/** @param {Member} listed */
function removeMember(listed) {
    confirmDialog({
        title: `Remove ${memberLabel(listed)}?`,
        text: "Their session ends immediately. Keys and webhooks that they created remain.",
        action: "Remove",
        run: async () => {
            await app.pb.collection("tenant_members").delete(listed.id, { requestKey: null });
            app.toasts.success(`${memberLabel(listed)} was removed.`);
            refreshPage();
        },
    });
}

/** @param {string} [tenant] */
function addMember(tenant = "") {
    /** @type {{ tenant: string, email: string, name: string, role: Member["role"] }} */
    const data = store({ tenant: member()?.tenant || tenant || onlyTenant(), email: "", name: "", role: "viewer" });
    /** @type {Invitation | undefined} */
    let invitation;
    openForm({
        title: "Invite member",
        submit: "Invite",
        content: () => [
            t.p(null, "They choose a password with a link that works for three days. They receive it by email. If no mail server is set up, you copy it."),
            tenantField(data),
            textField("Email", data, "email", { type: "email", required: true, autofocus: true }),
            textField("Name", data, "name", { maxLength: 255 }),
            radioField("Role", data, "role", roles),
        ],
        run: async () => {
            const { email, name, role } = data;
            const created = await app.pb.collection("tenant_members")
                .create({ tenant: chosenTenant(data), email: email.trim(), emailVisibility: true, name: name.trim(), role }, { requestKey: null });
            await attempt(async () => (invitation = await invite(created.id))); // the member is there: the list offers to invite them again
            refreshPage();
        },
        onclose: () => invitation && showInvitation(data.name.trim() || data.email.trim(), invitation),
    });
}
