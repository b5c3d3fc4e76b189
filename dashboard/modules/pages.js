// The pages that superusers and members share, and the links to them.

/** @typedef {[path: string, icon: string, label: string]} PageLink */

/** @type {PageLink} */
const firstStepsLink = ["/start", "ri-rocket-line", "First steps"];

/** @type {PageLink} */
const importsLink = ["/imports", "ri-file-transfer-line", "Import and export"];

/** @type {PageLink} */
const auditLink = ["/audit", "ri-history-line", "Audit log"];

/** @type {PageLink} */
const membersLink = ["/members", "ri-group-line", "Members"];

/** @returns {NavigationLink[]} */
function pageLinks() {
    /** @type {PageLink[]} */
    const links = [
        ...forEditors(firstStepsLink),
        ["/contacts", "ri-contacts-line", "Contacts"],
        ["/keys", "ri-key-2-line", "API keys"],
        ["/webhooks", "ri-webhook-line", "Webhooks"],
        ["/events", "ri-broadcast-line", "Events"],
        ["/inbound", "ri-login-box-line", "Inbound webhooks"],
        ["/duplicates", "ri-file-copy-2-line", "Duplicates"],
        ...forEditors(importsLink, auditLink),
    ];
    return [
        { href: integrationsPath, icon: "ri-dashboard-line", label: "Overview" },
        ...links.map(pageLink),
    ];
}

/**
 * A link that is active on the pages below it too.
 *
 * @param {PageLink} link
 * @returns {NavigationLink}
 */
function pageLink([path, icon, label]) {
    const href = integrationsPath + path;
    return { href, icon, label, isActive: () => app.utils.isActivePath(href) };
}

/** @param {NavigationLink} link */
function navigationLink(link) {
    const isActive = () => link.isActive?.() || app.utils.isActivePath(link.href, false);
    return t.a(
        {
            href: link.href,
            title: link.label, // which a folded navigation leaves out
            className: () => `nav-item ${isActive() ? "active" : ""}`,
            "html-aria-current": () => (isActive() ? "page" : undefined),
        },
        t.i({ className: link.icon, ariaHidden: true }),
        t.span({ className: "txt" }, link.label),
    );
}

function registerPages() {
    app.routes.superuserOnly(integrationsPath, overviewPage);
    app.routes.superuserOnly(`${integrationsPath}/start`, startPage);
    app.routes.superuserOnly(`${integrationsPath}/keys`, keysPage);
    app.routes.superuserOnly(`${integrationsPath}/keys/{id}`, keyCallsPage);
    app.routes.superuserOnly(`${integrationsPath}/webhooks`, webhooksPage);
    app.routes.superuserOnly(`${integrationsPath}/webhooks/{id}`, webhookPage);
    app.routes.superuserOnly(`${integrationsPath}/webhooks/{id}/deliveries`, webhookPage); // its address in mails of before
    app.routes.superuserOnly(`${integrationsPath}/webhooks/{id}/inspect`, inspectPage);
    app.routes.superuserOnly(`${integrationsPath}/events`, eventsPage);
    app.routes.superuserOnly(`${integrationsPath}/inbound`, inboundPage);
    app.routes.superuserOnly(`${integrationsPath}/inbound/{id}/requests`, inboundRequestsPage);
    app.routes.superuserOnly(`${integrationsPath}/contacts`, contactsPage);
    app.routes.superuserOnly(`${integrationsPath}/contacts/{id}`, contactPage);
    app.routes.superuserOnly(`${integrationsPath}/duplicates`, duplicatesPage);
    app.routes.superuserOnly(`${integrationsPath}/imports`, importsPage);
    app.routes.superuserOnly(`${integrationsPath}/imports/{id}`, importPage);
    app.routes.superuserOnly(`${integrationsPath}/audit`, auditPage);
    app.routes.superuserOnly("#/{path...}", missingPage);
}

/**
 * The page of an address that no page has.
 *
 * @param {{ path: string }} route
 */
function missingPage({ path }) {
    if (path === "#/") {
        location.hash = integrationsPath;
    }
    return integrationsPage({
        title: "Page not found",
        firstSteps: false,
        content: () => emptyState("ri-ghost-line", "This page does not exist", "Check the address, or go on from the overview.", t.a({ className: "btn", href: integrationsPath }, t.span({ className: "txt" }, "Overview"))),
    });
}
