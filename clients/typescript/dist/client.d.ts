import { Contacts } from "./contacts.js";
import { Events } from "./events.js";
import { PortalLinks } from "./links.js";
/** Options of a client. */
export interface Options {
    /** The address of the installation, such as `https://crm.example.com`. */
    url: string;
    /** The API key. It belongs on a server: the API sends no CORS headers. */
    key: string;
    /** The maximum number of retries. The default of 8 takes about 30 seconds; 0 disables retries. */
    maxRetries?: number;
    /** The timeout of one attempt in milliseconds, 45,000 by default. */
    timeout?: number;
    /** Sends requests instead of the global `fetch`. */
    fetch?: typeof fetch;
}
/**
 * Calls an installation with an API key. It retries temporary failures with increasing delays. All attempts of a POST carry
 * the same `Idempotency-Key`, so nothing is written twice.
 */
export declare class Contactbase {
    /** The contacts of the key's tenant. */
    readonly contacts: Contacts;
    /** The feed of their events. */
    readonly events: Events;
    /** Links that lead people to the portal of the key's tenant. */
    readonly portalLinks: PortalLinks;
    constructor({ url, key, maxRetries, timeout, fetch }: Options);
}
