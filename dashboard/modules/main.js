// Registers the pages. This module comes last.

document.head.append(t.link({ rel: "stylesheet", href: app.pb.buildURL("/_/extensions/contactbase/integrations.css") }));

showSecretsOnce();

app.store.creditLinks.push({ href: app.pb.buildURL("/docs"), icon: "ri-contacts-book-line", label: `Contactbase ${programVersion}` });

app.store.settingsNavGroups["Integrations"] = [
    { href: integrationsPath, icon: "ri-rocket-line", label: "First steps" },
    { href: integrationsPath + "/keys", icon: "ri-key-2-line", label: "API keys" },
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
    { href: integrationsPath + "/tenants", icon: "ri-building-line", label: "Tenants" },
];

app.routes.superuserOnly(integrationsPath, startPage);
app.routes.superuserOnly(`${integrationsPath}/keys`, keysPage);
app.routes.superuserOnly(`${integrationsPath}/webhooks`, webhooksPage);
app.routes.superuserOnly(`${integrationsPath}/webhooks/{id}/deliveries`, deliveriesPage);
app.routes.superuserOnly(`${integrationsPath}/inbound`, inboundPage);
app.routes.superuserOnly(`${integrationsPath}/inbound/{id}/requests`, inboundRequestsPage);
app.routes.superuserOnly(`${integrationsPath}/tenants`, tenantsPage);
