// Who is signed in, until when, and why no longer. The token is in the session storage of the browser, so that it ends with the tab. tabs.js shares it with
// the other tabs.

const tokenKey = "contactbaseToken " + location.pathname;
const reasonKey = "contactbaseReason " + location.pathname;

/** What the token says of itself. It cannot be renewed if it is that of a link. */
/** @typedef {{ id: string, exp: number, refreshable: boolean }} TokenPayload */

const session = {
    token: sessionStorage.getItem(tokenKey) || "",
    /** @type {Member | null} */
    record: null,
    offered: "", // the token of a link that was opened while somebody else is signed in
    mfaId: "", // of a sign-in that succeeded in one way, where a second one has to follow
    serverAhead: 0, // of the clock of this machine, in milliseconds
};

/** Why the session has expired while something is unsaved, which stays until it is saved or discarded; "" for a session that holds. */
const expired = store({ reason: "" });

/** What forms say while they outlive their session. */
function sessionFault() {
    return expired.reason;
}

/**
 * @param {string} token
 * @returns {TokenPayload}
 */
function payloadOf(token) {
    try {
        return JSON.parse(atob((token.split(".")[1] || "").replaceAll("-", "+").replaceAll("_", "/")));
    } catch {
        return { id: "-", exp: 0, refreshable: false }; // of a link that was copied wrongly
    }
}

/** @param {Response} response */
function noteServerTime(response) {
    const said = Date.parse(response.headers.get("Date") || "");
    session.serverAhead = said ? said - Date.now() : 0;
}

/**
 * Takes the token of a portal link out of the address, where it would stay in the history. Reports whether the session is now that of the link. While
 * somebody else is signed in, the link waits for the answer to offerLink: a link from elsewhere must not change unnoticed who a person acts as.
 */
function takeLinkToken() {
    const token = location.hash.match(/^#token=(.*)$/)?.[1]?.replace(/[^\w.-]/g, ""); // such as a bracket after the link
    if (!token) {
        return false;
    }
    if (session.token && !isOver() && payloadOf(session.token).id !== payloadOf(token).id) {
        window.history.replaceState(null, "", location.pathname + integrationsPath); // a page, because a redirect to one would close the window
        session.offered = token;
        return false;
    }
    window.history.replaceState(null, "", location.pathname);
    sessionStorage.setItem(tokenKey, token);
    session.token = token;
    return true;
}

/** Asks whether the session of a link may replace the current one. */
function offerLink() {
    const { record, offered } = session;
    session.offered = "";
    if (!offered || !record) {
        return;
    }
    confirmDialog({
        title: "Open the portal link?",
        text: `You are signed in as ${memberLabel(record)}. The link signs you out, and signs you in as somebody else. Continue only if you trust its sender.`,
        action: "Open the link",
        run: async () => startSession(offered),
    });
}

/** @param {string} token */
function startSession(token) {
    sessionStorage.setItem(tokenKey, token);
    if (isOwnSession(token)) {
        tellTabs({ signedIn: payloadOf(token).id });
    }
    losses.clear(); // such as the question that led here
    location.reload();
}

/**
 * Ends the session, in all tabs if it is shared.
 *
 * @param {string} reason which the sign-in form shows
 */
function endSession(reason) {
    if (keepsForm()) {
        return;
    }
    if (isOwnSession(session.token) && sessionStorage.getItem(tokenKey)) {
        tellTabs({ ended: payloadOf(session.token).id, reason });
    }
    leaveSession(reason);
}

/** How much earlier than here a session may end by the clock of the server, in milliseconds. */
const clockTolerance = 2000;

/** Whether the session has expired while something is unsaved. Then the page stays as it is. A session that was revoked ends at once. */
function keepsForm() {
    if (!isOver(clockTolerance) || !unsaved()) {
        return false;
    }
    expired.reason = isOwnSession(session.token)
        ? "Your session has expired. Sign in again in another tab, then try again here. What you have entered stays."
        : "This link has expired. Open a new one in the address bar of this tab, then try again. What you have entered stays.";
    return true;
}

/** Continues with the session of a link that was opened in this tab, if it leads to the same tenant. */
async function renewByLink() {
    const tenant = session.record?.tenant;
    expired.reason = "";
    await loadMember().catch(() => {}); // the form says why, once it is sent
    if (session.record?.tenant !== tenant) {
        losses.clear();
        location.reload();
    }
}

/**
 * Ends the session in this tab. The page loads again, so that nothing is left of it: no window, no timer, no answer on its way.
 *
 * @param {string} reason which the sign-in form shows
 */
function leaveSession(reason) {
    if (!sessionStorage.getItem(tokenKey)) {
        return; // it has ended already
    }
    sessionStorage.removeItem(tokenKey);
    sessionStorage.setItem(reasonKey, reason);
    losses.clear();
    document.body.replaceChildren();
    location.reload();
}

function takeReason() {
    const reason = sessionStorage.getItem(reasonKey) || "";
    sessionStorage.removeItem(reasonKey);
    return reason;
}

function sessionOver() {
    return payloadOf(session.token).refreshable ? "Your session has expired. Sign in again." : "This link has expired or was revoked. Open it again from the application that you came from.";
}

function isOver(early = 0) {
    return Date.now() + session.serverAhead + early >= payloadOf(session.token).exp * 1000;
}

/** Lists get an empty answer with an expired token, so the page watches the time itself. */
function endSessionInTime() {
    if (session.token && isOver()) {
        endSession(sessionOver());
    }
}

/** Loads who is signed in. A member who was removed is signed out. */
async function loadMember() {
    try {
        session.record = await client.collection("tenant_members").getOne(payloadOf(session.token).id, { expand: "tenant" });
    } catch (error) {
        if (isNotFound(error)) {
            endSession(sessionOver());
        }
        throw error;
    }
}
