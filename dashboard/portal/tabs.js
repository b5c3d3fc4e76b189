// One sign-in for all tabs of a browser. A new tab asks the others, whose session it takes over; nothing is stored outside a tab. Only members who have
// signed in themselves share their session: a portal link stays in its tab.

/**
 * What tabs tell one another: a question and its answer, that the session of a member has ended, or that a member has signed in.
 *
 * @typedef {{ asks: string } | { answers: string, token: string } | { ended: string, reason: string } | { signedIn: string }} TabMessage
 */

/** How long a new tab waits for an answer, in milliseconds. */
const answerTime = 300;

const tabs = new BroadcastChannel("contactbase " + location.pathname);

/** @param {TabMessage} message */
function tellTabs(message) {
    tabs.postMessage(message);
}

/**
 * Whether a token is that of a member who has signed in, and not a link's, which cannot be renewed.
 *
 * @param {string} token
 */
function isOwnSession(token) {
    return Boolean(token) && payloadOf(token).refreshable;
}

/** Returns the token of a member who is signed in in another tab, "" without one. */
function askTabs() {
    const question = app.utils.randomString();
    return new Promise((/** @type {(token: string) => void} */ resolve) => {
        const timer = setTimeout(() => done(""), answerTime);
        /** @param {MessageEvent<TabMessage>} event */
        const listen = ({ data }) => "answers" in data && data.answers === question && done(data.token);
        /** @param {string} token */
        const done = (token) => {
            clearTimeout(timer);
            tabs.removeEventListener("message", listen);
            resolve(token);
        };
        tabs.addEventListener("message", listen);
        tellTabs({ asks: question });
    });
}

/** Answers new tabs, and ends the session with that of the other tabs. */
function listenToTabs() {
    tabs.addEventListener("message", (/** @type {MessageEvent<TabMessage>} */ { data }) => {
        const { token } = session;
        if (!isOwnSession(token) || !sessionStorage.getItem(tokenKey)) {
            return;
        }
        const { id } = payloadOf(token);
        if ("asks" in data && session.record && !isOver()) {
            tellTabs({ answers: data.asks, token });
        } else if ("ended" in data && data.ended === id && !keepsForm()) {
            leaveSession(data.reason);
        } else if ("signedIn" in data && data.signedIn !== id) {
            leaveSession("Somebody else signed in in another tab.");
        }
    });
}
