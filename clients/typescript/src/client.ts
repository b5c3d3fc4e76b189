import createClient from "openapi-fetch";

import type { Api } from "./call.js";
import { Contacts } from "./contacts.js";
import { Events } from "./events.js";
import { retrying } from "./retry.js";
import type { paths } from "./schema.js";

/** What a client is made of. */
export interface Options {
  /** The address of the installation, such as `https://crm.example.com`. */
  url: string;
  /** The API key. It belongs on a server: the API sends no CORS headers. */
  key: string;
  /** How often a call is repeated at most. By default 8 times, which takes half a minute; 0 tries once. */
  maxRetries?: number;
  /** How many milliseconds a single try may take. By default 45,000. */
  timeout?: number;
  /** What sends requests, in place of `fetch`. */
  fetch?: typeof fetch;
}

/**
 * Calls an installation with an API key. Calls that fail for the moment are repeated, with growing pauses, and never write
 * anything twice: each POST carries an `Idempotency-Key`, the same in all its tries.
 */
export class Contactbase {
  /** The contacts of the key's tenant. */
  readonly contacts: Contacts;
  /** The feed of what happened to them. */
  readonly events: Events;

  constructor({ url, key, maxRetries = 8, timeout = 45_000, fetch = globalThis.fetch }: Options) {
    if (!/^https?:\/\/[^/]/.test(url)) throw new TypeError(`${JSON.stringify(url)} is not an address such as https://crm.example.com`);
    if (!key?.trim()) throw new TypeError("there is no API key");
    const api: Api = createClient<paths, "application/json">({
      baseUrl: url,
      headers: { Authorization: `Bearer ${key.trim()}`, "User-Agent": "contactbase-js" },
      fetch: retrying({ fetch, maxRetries, timeout }),
    });
    this.contacts = new Contacts(api);
    this.events = new Events(api);
  }
}
