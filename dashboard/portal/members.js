// The people of the tenant: their list, for admins; and what somebody changes of themselves.

/** @type {Record<Member["role"], string>} */
const roleNames = { admin: "Admin", viewer: "Viewer" };

/** @type {[Member["role"], string, string][]} */
const roles = [
    ["admin", "Admin", "manages keys, webhooks and members"],
    ["viewer", "Viewer", "sees keys, webhooks and deliveries, but cannot change anything"],
];

/** @type {[string, string][]} */
const notices = [["immediately", "Immediately"], ["daily", "Once a day"], ["never", "Never"]];

/** Whether who is signed in may add, change and remove members. */
function managesMembers() {
    return mayChange() && !member()?.link;
}

function membersPage() {
    /** @type {List<Member>} */
    const data = store({ rows: null, page: 1, totalPages: 0, totalItems: 0 });
    return integrationsPage({
        title: "Members",
        intro: "The people who can sign in here. An admin manages keys, webhooks and members. A viewer sees keys, webhooks and deliveries.",
        actions: managesMembers() ? newButton("Add member", addMember) : [],
        load: async () => keep(data, "rows", await loadPage(data, "tenant_members", { sort: "link,created" })),
        content: () => [
            table({
                label: "Members",
                data,
                empty: () => null, // the list has at least the signed-in member
                columns: [
                    { name: "Name", cell: memberName },
                    { name: "Role", cell: ({ role }) => roleNames[role] },
                    { name: "Notices", cell: ({ role, notify, link }) => (link || role !== "admin" ? "–" : notices.find(([value]) => value === (notify || "immediately"))?.[1]) },
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
    return t.div({ className: "integrations-named" }, t.strong(null, memberLabel(listed)), name || link ? t.span({ className: "txt-hint" }, link ? "through a link" : email) : null);
}

/** @param {Member} listed */
function memberActions(listed) {
    const { id, role } = listed;
    if (id === member()?.id) {
        return t.span({ className: "txt-hint" }, "You");
    }
    if (!managesMembers()) {
        return null;
    }
    const other = role === "admin" ? "viewer" : "admin";
    return t.div({ className: "integrations-buttons" }, actionMenu(`More for ${memberLabel(listed)}`, [
        [`Make ${other}`, "ri-user-settings-line", () => changeRole(listed, other)],
        ["Remove", "ri-delete-bin-7-line", () => removeMember(listed), "integrations-bad"],
    ]));
}

/**
 * @param {Member} listed
 * @param {Member["role"]} role
 */
function changeRole(listed, role) {
    confirmDialog({
        title: `Make ${memberLabel(listed)} ${role === "admin" ? "an admin" : "a viewer"}?`,
        text: role === "admin" ? "They can then manage keys, webhooks and members, and remove you." : "They can then change nothing.",
        action: `Make ${role}`,
        style: "",
        run: async () => {
            await app.pb.collection("tenant_members").update(listed.id, { role });
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
            await app.pb.collection("tenant_members").delete(listed.id);
            refreshPage();
        },
    });
}

function addMember() {
    /** @type {{ email: string, name: string, role: Member["role"], password: string }} */
    const data = store({ email: "", name: "", role: "viewer", password: newPassword() });
    let added = false;
    openForm({
        title: "Add member",
        submit: "Add member",
        content: () => [
            t.p(null, "No email is sent: you get the address and the password to share with the member."),
            textField("Email", data, "email", { type: "email", required: true, autofocus: true }),
            textField("Name", data, "name", { maxLength: 255 }),
            radioField("Role", data, "role", roles),
            textField("Password", data, "password", { required: true, minLength: 8, help: "At least 8 characters. You can copy it once more in the next window." }),
        ],
        run: async () => {
            const { email, name, role, password } = data;
            const tenant = member()?.tenant;
            await app.pb.collection("tenant_members")
                .create({ tenant, email: email.trim(), emailVisibility: true, name: name.trim(), role, password, passwordConfirm: password });
            added = true;
            refreshPage();
        },
        onclose: () => added && showSignIn(data),
    });
}

/** Sixteen letters and digits. */
function newPassword() {
    const letters = "abcdefghijkmnopqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ23456789";
    return [...crypto.getRandomValues(new Uint32Array(16))].map((number) => letters[number % letters.length]).join("");
}

/** @param {{ email: string, password: string }} added */
function showSignIn({ email, password }) {
    openDialog({
        title: "Sign-in details",
        sticky: true,
        content: [
            t.div({ className: "alert warning m-b-sm" }, t.strong(null, "This is shown once. "), "Share it with the member now: no email was sent."),
            copyBlock("Sign-in", `${location.origin}${location.pathname}\n${email.trim()}\n${password}`, { autofocus: true }),
        ],
        footer: (close) => [t.button({ type: "button", className: "btn expanded m-l-auto", onclick: close }, t.span({ className: "txt" }, "I have stored it"))],
    });
}

/** What somebody may change of themselves. */
function editAccount() {
    const signedIn = /** @type {Member} */ (member());
    const data = store({ name: signedIn.name, email: signedIn.email, notify: signedIn.notify || "immediately", password: "", oldPassword: "" });
    openForm({
        title: "Account",
        submit: "Save",
        content: () => [
            textField("Name", data, "name", { maxLength: 255, autocomplete: "name" }),
            textField("Email", data, "email", {
                type: "email",
                required: true,
                readOnly: !settings.sendsMail,
                autocomplete: "email",
                help: settings.sendsMail ? "Confirm a new address with the link that is sent to it." : "To change it, ask the company that runs this portal: no mail server is set up.",
            }),
            signedIn.role === "admin" ? selectField("Notices by email", data, "notify", () => notices) : null, // which viewers do not receive
            textField("New password", data, "password", { type: "password", autocomplete: "new-password", help: "Leave empty to keep the current one. Changing it ends all sessions." }),
            () => (data.password ? textField("Current password", data, "oldPassword", { type: "password", required: true, autocomplete: "current-password" }) : null),
        ],
        run: async () => {
            const { name, email, notify, password, oldPassword } = data;
            const passwords = password ? { password, passwordConfirm: password, oldPassword } : {};
            if (email.trim() !== signedIn.email) {
                await askToSignIn("request-email-change", { newEmail: email.trim() });
                app.toasts.success("Check the new address for a link to confirm it.");
            }
            await app.pb.collection("tenant_members").update(signedIn.id, { name: name.trim(), notify, ...passwords });
            if (password) { // which ends all sessions
                endSession("Your password is changed. Sign in again.");
            }
            refreshPage();
        },
    });
}
