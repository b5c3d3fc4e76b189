// Starts the portal. This module comes last.

/** @type {Record<string, (route: Route<any>) => HTMLElement>} */
const portalPages = {};
const address = store({ hash: location.hash });

/** @type {typeof app} */
const shell = {
    pb: client,
    store: store({ title: "", errors: null, settings: { meta: settings } }),
    routes: {
        fallbackPath: integrationsPath,
        superuserOnly: (path, page) => (portalPages[path] = (route) => (session.record ? page(route) : signInPage())),
    },
    components: { credits: () => t.a({ href: client.buildURL("/docs/using-the-portal"), target: "_blank", rel: "noopener" }, "Documentation") },
    modals: {
        open: openWindow,
        close: async (element) => closers.get(element)?.(),
        getTop: () => openWindows().at(-1),
    },
    toasts: {
        success: (text, options) => addToast(text, "success", options?.duration),
        error: (text, options) => addToast(text, "error", options?.duration),
    },
    utils: {
        randomString: () => crypto.getRandomValues(new Uint32Array(3)).join("_"),
        toDatetimeLocalInputValue: localInputValue,
        isActivePath: (href, below = true) => address.hash === href || address.hash.startsWith(href + "?") || (below && address.hash.startsWith(href + "/")),
    },
    checkApiError: () => {}, // the client ends a session that the server no longer knows
};
Object.assign(window, { app: shell });

const scheme = matchMedia("(prefers-color-scheme: dark)");
const showScheme = () => (document.documentElement.dataset.colorScheme = scheme.matches ? "dark" : "light");
scheme.addEventListener("change", showScheme);
showScheme();
if (settings.accentColor) {
    document.documentElement.style.setProperty("--accentColor", settings.accentColor);
}

askBeforeLeaving();
window.addEventListener("hashchange", (event) => {
    const isNewSession = takeLinkToken();
    if (isNewSession && expired.reason) {
        event.stopImmediatePropagation(); // the page stays
        window.history.replaceState(null, "", event.oldURL);
        renewByLink();
        return;
    }
    address.hash = location.hash;
    if (isNewSession) {
        location.reload();
    }
    offerLink();
});
watch(() => (document.title = `${app.store.title} · ${settings.appName}`));
setInterval(endSessionInTime, 1000);

/** @type {{ page: HTMLElement | null }} */
const shown = store({ page: null });

async function start() {
    takeLinkToken();
    const { offered } = session;
    await finishOAuth2();
    listenToTabs();
    if (!session.token && !offered && !sessionStorage.getItem(reasonKey) && !leadsFromMail()) { // the form shows the reason first
        session.token = await askTabs();
        if (session.token) {
            sessionStorage.setItem(tokenKey, session.token);
        }
    }
    if (session.token) {
        try {
            await loadMember();
        } catch (error) {
            if (!sessionStorage.getItem(tokenKey)) {
                if (offered) {
                    takeReason();
                    startSession(offered);
                }
                return; // the session has ended: the page is loading again, which shows the reason
            }
            sessionStorage.setItem(reasonKey, errorText(error));
        }
    }
    document.body.replaceChildren(t.main({ className: "app" }, pageHeader(), () => shown.page), toasts);
    router(Object.fromEntries(Object.entries(portalPages).map(([path, page]) => [path, show(page)])), { fallbackPath: integrationsPath });
    offerLink();
}

/** @param {(route: Route<any>) => HTMLElement} page */
function show(page) {
    return (/** @type {Route<any>} */ route) => {
        shown.page = page(route);
    };
}

showSecretsOnce();
registerPages();
app.routes.superuserOnly(`${integrationsPath}/members`, membersPage);
for (const [path, page] of Object.entries(mailPages)) {
    portalPages[path] = ({ params }) => mailPage(params.token || "", page);
}
portalPages[invitationPath + "/{token}"] = ({ params }) => invitationPage(params.token);
portalPages[invitationPath] = () => invitationPage();
start();
