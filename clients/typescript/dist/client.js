import createClient from "openapi-fetch";
import { Contacts } from "./contacts.js";
import { Events } from "./events.js";
import { PortalLinks } from "./links.js";
import { retrying } from "./retry.js";
/**
 * Calls an installation with an API key. It retries temporary failures with increasing delays. All attempts of a POST carry
 * the same `Idempotency-Key`, so nothing is written twice.
 */
export class Contactbase {
    /** The contacts of the key's tenant. */
    contacts;
    /** The feed of their events. */
    events;
    /** Links that lead people to the portal of the key's tenant. */
    portalLinks;
    constructor({ url, key, maxRetries = 8, timeout = 45_000, fetch = globalThis.fetch }) {
        if (!/^https?:\/\/[^/]/.test(url))
            throw new TypeError(`${JSON.stringify(url)} is not an address such as https://crm.example.com`);
        if (!key?.trim())
            throw new TypeError("there is no API key");
        const api = createClient({
            baseUrl: url,
            headers: { Authorization: `Bearer ${key.trim()}`, "User-Agent": "contactbase-js" },
            fetch: retrying({ fetch, maxRetries, timeout }),
        });
        this.contacts = new Contacts(api);
        this.events = new Events(api);
        this.portalLinks = new PortalLinks(api);
    }
}
