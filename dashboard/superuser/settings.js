// The frame of the pages in the dashboard: Settings → Integrations.

const integrationsPath = "#/settings/integrations";

/** Where the pages are, before the names of those above one. */
function breadcrumbs() {
    return [
        t.span({ className: "breadcrumb-item" }, "Settings"),
        t.a({ className: "breadcrumb-item", href: integrationsPath }, "Integrations"),
    ];
}

/** The sidebar of the settings, which PocketBase does not export. */
function pageNavigation() {
    return app.components.pageSidebar(
        { className: "settings-sidebar" },
        t.nav({ className: "sidebar-content scrollable", ariaLabel: "Settings" }, () =>
            Object.entries(app.store.settingsNavGroups).map(([group, links]) =>
                t.details(
                    { className: "nav-group", open: true },
                    t.summary({ tabIndex: -1, onclick: () => false, onkeyup: () => false, onfocusout: () => false }, group),
                    () => links.map(navigationLink),
                ))),
    );
}

/** Why the session has ended while a form is open. PocketBase leads to the login instead. */
function sessionFault() {
    return "";
}
