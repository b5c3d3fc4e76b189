import { type Api, type CallOptions } from "./call.js";
import type { components } from "./schema.js";
type Schemas = components["schemas"];
/**
 * An event of the feed, discriminated by `type`. If the contact was deleted later, the event has `erased` and only the contact's
 * `id`. Later versions and extensions of an installation may return other types, which can be ignored.
 */
export type FeedEvent = Schemas["FeedEvent"];
/** A page of the feed. */
export type EventPage = Schemas["EventPage"];
/** Filters. By default, all events. */
export interface EventOptions {
    /** Event types, such as `contact.created`. Those of extensions must be named. */
    types?: readonly (Schemas["EventType"] | (string & {}))[];
    /** The ID of one contact. */
    contact?: string;
    /** Events per page: 100 by default, at most 1,000. */
    limit?: number;
    /** How many seconds `list` waits for the first event: at most 30, and less than the timeout of an attempt. */
    wait?: number;
}
/**
 * The event feed: the events of the key's tenant in commit order, as webhooks receive them. A cursor is the `id` of an event, or the
 * `cursor` of a page. Store it in the same transaction as your changes, and no event is missed or handled twice. With `types` or
 * `contact`, store the `cursor` of each page of `list` instead: it advances past events that the filter excludes, so it does not
 * expire. If later events have been deleted, a `ContactbaseError` has the code `cursor_expired`: read all contacts, and start again.
 */
export declare class Events {
    #private;
    constructor(api: Api);
    /** Returns the cursor after the newest event. */
    now(options?: CallOptions): Promise<string>;
    /** Returns a page of events after the cursor. The empty cursor is before the oldest event. */
    list(after: string, { types, ...rest }?: EventOptions, options?: CallOptions): Promise<EventPage>;
    /** Iterates over the events after the cursor and ends with the last one. */
    after(after: string, query?: Omit<EventOptions, "wait">, options?: CallOptions): AsyncIterableIterator<FeedEvent>;
    /**
     * Iterates over the events after the cursor and waits for new ones. It ends by throwing: the reason of the `signal`, or the error
     * of an installation that could not be reached for 30 seconds.
     */
    follow(after: string, query?: EventOptions, options?: CallOptions): AsyncIterableIterator<FeedEvent>;
}
export {};
