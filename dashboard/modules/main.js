// Registers the pages. This module comes last.

document.head.append(t.link({ rel: "stylesheet", href: app.pb.buildURL("/_/extensions/contactbase/integrations.css") }));

showSecretsOnce();
putContactsFirst();
linkContactsToEvents();

watch(() => {
    const [title] = [app.store.title, app.store.settings?.meta?.appName]; // of which PocketBase makes the browser's title, too
    if (title && location.hash.startsWith(integrationsPath)) {
        queueMicrotask(() => (document.title = `${title} · Contactbase`)); // after it has
    }
});

app.store.creditLinks.push({ href: app.pb.buildURL("/docs"), icon: "ri-contacts-book-line", label: `Contactbase ${programVersion}` });

app.store.settingsNavGroups = {
    Integrations: [
        { href: integrationsPath, icon: "ri-dashboard-line", label: "Overview" },
        { href: integrationsPath + "/start", icon: "ri-rocket-line", label: "First steps" },
        {
            href: integrationsPath + "/keys",
            icon: "ri-key-2-line",
            label: "API keys",
            isActive: () => app.utils.isActivePath(integrationsPath + "/keys"), // its calls too
        },
        {
            href: integrationsPath + "/webhooks",
            icon: "ri-webhook-line",
            label: "Webhooks",
            isActive: () => app.utils.isActivePath(integrationsPath + "/webhooks"), // its deliveries too
        },
        {
            href: integrationsPath + "/inbound",
            icon: "ri-login-box-line",
            label: "Inbound webhooks",
            isActive: () => app.utils.isActivePath(integrationsPath + "/inbound"), // its requests too
        },
        {
            href: importsPath,
            icon: "ri-file-transfer-line",
            label: "Import and export",
            isActive: () => app.utils.isActivePath(importsPath), // one of the imports too
        },
        { href: integrationsPath + "/tenants", icon: "ri-building-line", label: "Tenants" },
        { href: integrationsPath + "/audit", icon: "ri-history-line", label: "Audit log" },
    ],
    ...app.store.settingsNavGroups,
};

// where an admin looks first, and lands after the login
app.store.headerLinks.unshift({ href: integrationsPath, icon: "ri-plug-line", label: "Integrations" });
app.routes.fallbackPath = integrationsPath;
for (const link of app.store.headerLinks.filter(({ href }) => href === "#/settings")) {
    link.href = "#/settings?"; // which, unlike without the mark, is not the beginning of our addresses: only one link is to be active
    link.isActive = () => app.utils.isActivePath("#/settings") && !app.utils.isActivePath(integrationsPath);
}

app.routes.superuserOnly(integrationsPath, overviewPage);
app.routes.superuserOnly(`${integrationsPath}/start`, startPage);
app.routes.superuserOnly(`${integrationsPath}/keys`, keysPage);
app.routes.superuserOnly(`${integrationsPath}/keys/{id}`, keyCallsPage);
app.routes.superuserOnly(`${integrationsPath}/webhooks`, webhooksPage);
app.routes.superuserOnly(`${integrationsPath}/webhooks/{id}/deliveries`, deliveriesPage);
app.routes.superuserOnly(`${integrationsPath}/webhooks/{id}/inspect`, inspectPage);
app.routes.superuserOnly(`${integrationsPath}/inbound`, inboundPage);
app.routes.superuserOnly(`${integrationsPath}/inbound/{id}/requests`, inboundRequestsPage);
app.routes.superuserOnly(`${integrationsPath}/contacts/{id}`, contactPage);
app.routes.superuserOnly(importsPath, importsPage);
app.routes.superuserOnly(`${importsPath}/{id}`, importPage);
app.routes.superuserOnly(`${integrationsPath}/tenants`, tenantsPage);
app.routes.superuserOnly(`${integrationsPath}/audit`, auditPage);
