// Who is signed in, until when, and why no longer. The token is in the session storage of the browser, so that it ends with the tab.

const tokenKey = "contactbaseToken " + location.pathname;
const reasonKey = "contactbaseReason " + location.pathname;

/** What the token says of itself. It cannot be renewed if it is that of a link. */
/** @typedef {{ id: string, exp: number, refreshable: boolean }} TokenPayload */

const session = {
    token: sessionStorage.getItem(tokenKey) || "",
    /** @type {Member | null} */
    record: null,
    mfaId: "", // of a sign-in that succeeded in one way, where a second one has to follow
    serverAhead: 0, // of the clock of this machine, in milliseconds
};

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

/** Takes the token of a portal link out of the address, where it would stay in the history. Reports whether there was one. */
function takeLinkToken() {
    const token = location.hash.match(/^#token=(.*)$/)?.[1]?.replace(/[^\w.-]/g, ""); // such as a bracket after the link
    if (token) {
        window.history.replaceState(null, "", location.pathname);
        sessionStorage.setItem(tokenKey, token);
        session.token = token;
    }
    return Boolean(token);
}

/** @param {string} token */
function startSession(token) {
    sessionStorage.setItem(tokenKey, token);
    location.reload();
}

/**
 * Ends the session. The page loads again, so that nothing is left of it: no window, no timer, no answer on its way.
 *
 * @param {string} reason which the sign-in form shows
 */
function endSession(reason) {
    if (!sessionStorage.getItem(tokenKey)) {
        return; // it has ended already
    }
    sessionStorage.removeItem(tokenKey);
    sessionStorage.setItem(reasonKey, reason);
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

/** Lists get an empty answer with an expired token, so the page watches the time itself. */
function endSessionInTime() {
    if (session.token && Date.now() + session.serverAhead >= payloadOf(session.token).exp * 1000) {
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
