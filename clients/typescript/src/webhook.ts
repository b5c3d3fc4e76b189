import type { components } from "./schema.js";

type Schemas = components["schemas"];

/**
 * Something that happened, told apart by its `type`. Later versions of an installation may send other types, which can be ignored.
 * Of a contact that was deleted since, an event may have no more than the `id`.
 */
export type Event = Schemas["WebhookEvent"];

/** A contact was created. */
export type ContactCreated = Schemas["ContactCreatedEvent"];

/** A contact was changed. `previous` has the changed fields, with the values from before. */
export type ContactUpdated = Schemas["ContactUpdatedEvent"];

/** A contact was deleted. */
export type ContactDeleted = Schemas["ContactDeletedEvent"];

/** A test. */
export type Ping = Schemas["PingEvent"];

/** The headers of a request: those of `fetch`, or those of Node.js. */
export type RequestHeaders = Headers | Record<string, string | string[] | undefined>;

/** A request is not known to come from the installation. Answer 401. */
export class NotVerifiedError extends Error {
  override readonly name = "NotVerifiedError";
}

const tolerance = 5 * 60_000; // milliseconds
const encoder = new TextEncoder();

/**
 * Returns the event of a request whose body was read as it is, before any parsing. It checks the headers of Standard Webhooks with
 * the webhook's secret: the signature, or one of them after the secret was changed, has to fit, and to be at most 5 minutes old.
 * Otherwise it throws a `NotVerifiedError`. An event can arrive more than once: its `id` tells.
 */
export async function verify(body: string | Uint8Array, headers: RequestHeaders, secret: string): Promise<Event> {
  if (!secret) throw new TypeError("there is no secret");
  const [id, timestamp, signatures] = ["webhook-id", "webhook-timestamp", "webhook-signature"].map((name) => header(headers, name));
  if (!id || !timestamp || !signatures) throw new NotVerifiedError("a header is missing");
  if (!/^\d+$/.test(timestamp) || Math.abs(Date.now() - Number(timestamp) * 1000) > tolerance) {
    throw new NotVerifiedError("the timestamp is not of the last 5 minutes");
  }
  const bytes = typeof body === "string" ? encoder.encode(body) : body;
  const key = await crypto.subtle.importKey("raw", keyOf(secret), { name: "HMAC", hash: "SHA-256" }, false, ["verify"]);
  const signed = join(encoder.encode(`${id}.${timestamp}.`), bytes);
  for (const signature of signatures.split(" ")) {
    const given = signature.startsWith("v1,") ? decode(signature.slice(3)) : undefined;
    // verify compares in constant time
    if (given && (await crypto.subtle.verify("HMAC", key, given, signed))) return JSON.parse(new TextDecoder().decode(bytes)) as Event;
  }
  throw new NotVerifiedError("no signature fits");
}

function header(headers: RequestHeaders, name: string): string | undefined {
  const value = headers instanceof Headers ? headers.get(name) : headers[name];
  return typeof value === "string" ? value : undefined;
}

/** Returns the bytes that are signed with: what `whsec_` stands before, and all of a secret that somebody typed. */
function keyOf(secret: string): Uint8Array<ArrayBuffer> {
  const decoded = secret.startsWith("whsec_") ? decode(secret.slice("whsec_".length)) : undefined;
  return decoded?.length ? decoded : encoder.encode(secret);
}

/** Returns the bytes of a text in base64, and nothing where it is none. */
function decode(text: string): Uint8Array<ArrayBuffer> | undefined {
  if (!/^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/.test(text)) return undefined;
  return Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
}

function join(first: Uint8Array, second: Uint8Array): Uint8Array<ArrayBuffer> {
  const joined = new Uint8Array(first.length + second.length);
  joined.set(first);
  joined.set(second, first.length);
  return joined;
}
