// Addresses, and lines for a shell.

/** The application's URL until somebody sets one: PocketBase's, or what the program serves on this machine. */
const unsetURL = /^https?:\/\/(localhost|127\.0\.0\.1|\[::1\])(:\d+)?$/;

/** Where callers reach the API: the URL in the settings; while that is not set, the address of this very page. */
function siteAddress() {
    const set = (app.store.settings?.meta?.appURL || "").replace(/\/+$/, "");
    if (set && !unsetURL.test(set)) {
        return set;
    }
    return new URL(app.pb.buildURL("/"), location.href).href.replace(/\/+$/, "");
}

/**
 * Quotes for a POSIX shell.
 *
 * @param {string} text
 */
function shellQuote(text) {
    return "'" + text.replaceAll("'", "'\\''") + "'";
}

const sampleContact = { name: "Ada Lovelace", email: "ada@example.com", phone: "+44 20 7946 0001" };

/**
 * A first call that works as pasted: it writes where the key may, and otherwise reads, or creates a portal link. A key that only
 * deletes needs the ID of a contact.
 *
 * @param {string} key
 * @param {Permission[]} [permissions]
 * @param {string} [tenant] of the key
 */
function keyCurl(key, permissions = [], tenant = "") {
    const contacts = siteAddress() + "/api/ext/v1/contacts";
    const may = (/** @type {Permission} */ permission) => (permissions.length ? permissions : defaultPermissions).includes(permission);
    const credential = `-H ${shellQuote("X-API-Key: " + key)}`;
    if (permissions.length && permissions.every((permission) => permission.startsWith("portal:"))) {
        return `curl -sS ${credential} -X POST ${shellQuote(siteAddress() + "/api/integrations/tenants/" + tenant + "/portal-link")}`;
    }
    if (!may("contacts:write") && !may("contacts:read")) {
        return `curl -sS -X DELETE ${credential} ${contacts}/CONTACT-ID`;
    }
    if (!may("contacts:write")) {
        return `curl -sS ${credential} ${shellQuote(contacts + "?limit=10")}`;
    }
    return `curl -sS ${credential} -H 'Content-Type: application/json' -d ${shellQuote(JSON.stringify(sampleContact))} ${contacts}`;
}

/** @param {string} address */
function inboundCurl(address) {
    return `curl -sS -H 'Content-Type: application/json' -d ${shellQuote(JSON.stringify(sampleContact))} ${address}`;
}

/**
 * The error in the URL of a webhook, as text; "" if there is none. The server has the last word.
 *
 * @param {string} text
 */
function urlFault(text) {
    if (!text) {
        return "";
    }
    if (text !== text.trim()) {
        return "The URL must not begin or end with whitespace.";
    }
    if (!/^https?:\/\//i.test(text)) {
        return "The URL must begin with https:// or http://.";
    }
    let url;
    try {
        url = new URL(text);
    } catch {
        return "The URL must name a host, as in https://example.com/hook.";
    }
    if (url.username || url.password) {
        return "The URL must not contain a username or password. Add an Authorization header instead.";
    }
    return "";
}

/**
 * What somebody who typed this URL may want to know; "" for nothing.
 *
 * @param {string} text
 */
function urlHint(text) {
    if (!text || urlFault(text)) {
        return "";
    }
    const { protocol, hostname } = new URL(text);
    if (/^(localhost|127\.|10\.|192\.168\.|169\.254\.|172\.(1[6-9]|2\d|3[01])\.|\[f[cde]|\[::1\])/i.test(hostname)) {
        return "This is a private address. " + (member() ? "The URL must lead to an address on the public internet, unless the operator has opened this one." : "Events reach it only if the server was started with --allowPrivateWebhooks or --webhookAllow.");
    }
    return protocol === "http:" ? "http:// is not encrypted: anyone on the network path can read the contacts." : "";
}
