// The frame of the pages in the portal: header, navigation, and a line where the API is not enabled.

const integrationsPath = "#/integrations";

function breadcrumbs() {
    return null;
}

function pageNavigation() {
    const links = pageLinks();
    if (managesMembers()) {
        links.push(pageLink(membersLink));
    }
    /** @type {ResizeObserver} */
    let resized;
    return t.div(
        {
            className: "page-sidebar portal-navigation",
            onmount: (element) => { // on a phone, also once it is turned
                resized = new ResizeObserver(() => element.querySelector(".active")?.scrollIntoView({ block: "nearest", inline: "center" }));
                resized.observe(element);
            },
            onunmount: () => resized.disconnect(),
        },
        t.nav({ className: "sidebar-content", ariaLabel: "Pages" }, t.div({ className: "nav-group" }, links.map(navigationLink))),
    );
}

/** What somebody may do. */
const rights = () => JSON.stringify([mayChange(), member()?.role, member()?.tenant]);

let shownRights = "";

/** A page is made for what somebody may do: once that has changed, it loads again, unless something is unsaved. */
async function loadStatus() {
    shownRights ||= rights();
    await loadMember();
    if (rights() !== shownRights && !unsaved()) {
        location.reload();
    }
}

function statusLine() {
    return member()?.expand?.tenant?.apiEnabled === false
        ? t.p({ className: "alert warning m-b-sm", role: "status" }, "The API is not enabled. Until it is, nothing can be changed, and calls are rejected.")
        : null;
}

function pageHeader() {
    const signedIn = member();
    if (!signedIn) {
        return null;
    }
    const { name, email, link, expand } = signedIn;
    const called = link ? name || "Link" : name || email;
    return t.header(
        { className: "app-header accent-surface" },
        t.a({ className: "logo portal-brand", href: integrationsPath }, logo(), t.strong(null, settings.appName)),
        t.span({ className: "integrations-ellipsis" }, expand?.tenant?.name || ""),
        t.div({ className: "flex-fill" }),
        link ? t.span({ className: "integrations-ellipsis" }, called) : headerButton("ri-user-line", called, editAccount, "Account"),
        headerButton("ri-logout-circle-r-line", "Sign out", () => endSession("You are signed out.")),
    );
}

/**
 * @param {string} icon
 * @param {string} text
 * @param {() => unknown} onclick
 * @param {string} [title]
 */
function headerButton(icon, text, onclick, title = text) {
    return t.button(
        { type: "button", className: "header-link", title, onclick },
        t.i({ className: icon, ariaHidden: true }),
        t.span({ className: "txt" }, text),
    );
}

/** A file that the folder pb_public may replace. */
function logo() {
    return t.img({ src: client.buildURL("/logo.svg"), alt: "" });
}
