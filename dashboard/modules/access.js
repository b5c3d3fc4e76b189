// Who uses the pages: a superuser, in the dashboard, or a member of one tenant, in the portal.

/** The member who is signed in; null for a superuser. */
function member() {
    const { record } = app.pb.authStore;
    return record?.collectionName === "tenant_members" ? /** @type {Member} */ (record) : null;
}

/** Whether who is signed in may change something. The server decides; the pages only leave out what it would refuse. */
function mayChange() {
    const signedIn = member();
    return !signedIn || Boolean(signedIn.role === "admin" && signedIn.expand?.tenant?.apiEnabled);
}

/**
 * Leaves the parts out for those who may not change anything.
 *
 * @template T
 * @param {T[]} parts
 * @returns {T[]}
 */
function forEditors(...parts) {
    return mayChange() ? parts : [];
}

/**
 * Leaves the parts out for members.
 *
 * @template T
 * @param {T[]} parts
 * @returns {T[]}
 */
function forSuperusers(...parts) {
    return member() ? [] : parts;
}
