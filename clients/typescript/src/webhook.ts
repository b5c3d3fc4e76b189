import type { components } from "./schema.js";

type Schemas = components["schemas"];

/**
 * An event, discriminated by `type`. Later versions and extensions of an installation may send other types, which can be ignored. If
 * the contact was deleted later, an event may have only its `id`.
 */
export type Event = Schemas["WebhookEvent"];

/** A contact was created. */
export type ContactCreated = Schemas["ContactCreatedEvent"];

/** A contact was changed. `previous` has the changed fields, with their old values. */
export type ContactUpdated = Schemas["ContactUpdatedEvent"];

/** A contact was deleted. */
export type ContactDeleted = Schemas["ContactDeletedEvent"];

/** What has made the change of an event: an API key, an inbound webhook, an import, a person, or the program. */
export type EventSource = Schemas["EventSource"];

/** A test event. */
export type Ping = Schemas["PingEvent"];

/** A webhook fails. Only webhooks that select its type receive it. The same holds for the next three events. */
export type WebhookFailing = Schemas["WebhookFailingEvent"];

/** A webhook that failed works again. */
export type WebhookRecovered = Schemas["WebhookRecoveredEvent"];

/** The server disabled a webhook. */
export type WebhookDisabled = Schemas["WebhookDisabledEvent"];

/** An API key expires soon. */
export type KeyExpiring = Schemas["KeyExpiringEvent"];

/** The headers of a request: those of `fetch`, or those of Node.js. */
export type RequestHeaders = Headers | Record<string, string | string[] | undefined>;

/** A request has no valid signature. Respond with 401. */
export class NotVerifiedError extends Error {
  override readonly name = "NotVerifiedError";
}

const tolerance = 5 * 60_000; // milliseconds
const encoder = new TextEncoder();

/**
 * Returns the event in the raw body of a request. It checks the Standard Webhooks headers with the webhook's secret: one of the
 * signatures must be valid, and at most 5 minutes old. Otherwise it throws a `NotVerifiedError`. An event can arrive more than once,
 * with the same `id`.
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

/** Returns the signing key: the decoded part after `whsec_`, or the whole of a custom secret. */
function keyOf(secret: string): Uint8Array<ArrayBuffer> {
  const decoded = secret.startsWith("whsec_") ? decode(secret.slice("whsec_".length)) : undefined;
  return decoded?.length ? decoded : encoder.encode(secret);
}

/** Returns the bytes of a text in base64, or nothing if it is invalid. */
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
