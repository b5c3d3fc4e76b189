// A client of the API, with what the pages use of PocketBase's.

/** What a request fails with. The status is 0 without an answer. */
class Refusal extends Error {
    /**
     * @param {number} status
     * @param {NonNullable<Failure["response"]> & { mfaId?: string }} response
     */
    constructor(status, response) {
        super(response.error?.message || response.message || "");
        this.status = status;
        this.response = response;
    }
}

/** @type {Client} */
const client = {
    get authStore() {
        return session;
    },
    buildURL: (path) => rootURL + path.replace(/^\//, ""),
    filter: (expression, parameters) => expression.replace(/{:(\w+)}/g, (_, name) => `'${parameters[name]?.replaceAll("'", "\\'")}'`),
    send,
    collection: (name) => {
        const path = `/api/collections/${name}/records`;
        return {
            getList: (page, perPage, query) => send(path, { query: { page, perPage, ...query } }),
            getOne: (id, query) => send(`${path}/${encodeURIComponent(id)}`, { query }),
            create: (body) => send(path, { method: "POST", body }),
            update: (id, body) => send(`${path}/${encodeURIComponent(id)}`, { method: "PATCH", body }),
            delete: (id) => send(`${path}/${encodeURIComponent(id)}`, { method: "DELETE" }),
        };
    },
};

/**
 * Sends a request and returns the answer. A session that the server no longer knows ends here.
 *
 * @template T
 * @param {string} path
 * @param {import("pocketbase").SendOptions} options
 * @returns {Promise<T>}
 */
async function send(path, { method = "GET", query = {}, body, headers = {}, fetch: request = fetch }) {
    if (expired.reason) {
        await renewSession();
    }
    const { token } = session;
    const url = new URL(client.buildURL(path));
    for (const [name, value] of Object.entries(query)) {
        if (value !== undefined && value !== null && value !== "") {
            url.searchParams.set(name, String(value));
        }
    }
    const isFile = body instanceof Blob;
    const response = await request(url, {
        method,
        headers: { ...(token && { Authorization: token }), ...(body && !isFile && { "Content-Type": "application/json" }), ...headers },
        body: isFile ? body : JSON.stringify(body),
    }).catch(() => {
        throw new Refusal(0, {});
    });
    noteServerTime(response);
    const answer = await response.json().catch(() => null); // without a body, or one of a proxy
    if (response.ok) {
        return /** @type {T} */ (client.afterSend ? await client.afterSend(response, answer, {}) : answer);
    }
    if (response.status === 401 && token) {
        endSession(sessionOver());
    }
    throw new Refusal(response.status, expired.reason ? { message: expired.reason } : answer || {});
}

/** Takes over the session of the same member in another tab. It fails while there is none. */
async function renewSession() {
    const token = isOwnSession(session.token) ? await askTabs() : "";
    if (!token || payloadOf(token).id !== payloadOf(session.token).id) {
        throw new Refusal(401, { message: expired.reason });
    }
    session.token = token;
    sessionStorage.setItem(tokenKey, token);
    expired.reason = "";
}
