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
export declare class NotVerifiedError extends Error {
    readonly name = "NotVerifiedError";
}
/**
 * Returns the event in the raw body of a request. It checks the Standard Webhooks headers with the webhook's secret: one of the
 * signatures must be valid, and at most 5 minutes old. Otherwise it throws a `NotVerifiedError`. An event can arrive more than once,
 * with the same `id`.
 */
export declare function verify(body: string | Uint8Array, headers: RequestHeaders, secret: string): Promise<Event>;
export {};
