// Registers the pages. This module comes last.

document.head.append(t.link({ rel: "stylesheet", href: app.pb.buildURL("/_/extensions/contactbase/integrations.css") }));

showSecretsOnce();
askBeforeLeaving();
putContactsFirst();
linkContactsToEvents();

watch(() => {
    const [title] = [app.store.title, app.store.settings?.meta?.appName]; // PocketBase sets the browser's title from them, too
    if (title && location.hash.startsWith(integrationsPath)) {
        queueMicrotask(() => (document.title = `${title} · Contactbase`)); // after it has
    }
});

app.store.creditLinks.push({ href: app.pb.buildURL("/docs"), icon: "ri-contacts-book-line", label: `Contactbase ${programVersion}` });

app.store.settingsNavGroups = {
    Integrations: [...pageLinks(), { href: integrationsPath + "/tenants", icon: "ri-building-line", label: "Tenants" }, pageLink(membersLink)],
    ...app.store.settingsNavGroups,
};

// where an admin looks first, and lands after the login
app.store.headerLinks.unshift({ href: integrationsPath, icon: "ri-plug-line", label: "Integrations" });
app.routes.fallbackPath = integrationsPath;
for (const link of app.store.headerLinks.filter(({ href }) => href === "#/settings")) {
    link.href = "#/settings?"; // which, unlike without the mark, is not the beginning of our addresses: only one link may be active
    link.isActive = () => app.utils.isActivePath("#/settings") && !app.utils.isActivePath(integrationsPath);
}

registerPages();
app.routes.superuserOnly(`${integrationsPath}/tenants`, tenantsPage);
app.routes.superuserOnly(`${integrationsPath}/members`, membersPage);
