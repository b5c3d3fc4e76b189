import { type Api, type CallOptions, init } from "./call.js";
import { must } from "./errors.js";
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

const largestPage = 1000;
const followWait = 20; // seconds: shorter than the timeout of a try

/**
 * The event feed: the events of the key's tenant in commit order, as webhooks receive them. A cursor is the `id` of an event, or the
 * `cursor` of a page. Store it in the same transaction as your changes, and no event is missed or handled twice. With `types` or
 * `contact`, store the `cursor` of each page of `list` instead: it advances past events that the filter excludes, so it does not
 * expire. If later events have been deleted, a `ContactbaseError` has the code `cursor_expired`: read all contacts, and start again.
 */
export class Events {
  readonly #api: Api;

  constructor(api: Api) {
    this.#api = api;
  }

  /** Returns the cursor after the newest event. */
  async now(options: CallOptions = {}): Promise<string> {
    return must(await this.#api.GET("/api/ext/v1/events", init(options))).cursor;
  }

  /** Returns a page of events after the cursor. The empty cursor is before the oldest event. */
  async list(after: string, { types, ...rest }: EventOptions = {}, options: CallOptions = {}): Promise<EventPage> {
    const query = { after, ...rest, ...(types && { types: types.join(",") }) };
    return must(await this.#api.GET("/api/ext/v1/events", { params: { query }, ...init(options) }));
  }

  /** Iterates over the events after the cursor and ends with the last one. */
  async *after(after: string, query: Omit<EventOptions, "wait"> = {}, options: CallOptions = {}): AsyncIterableIterator<FeedEvent> {
    for (let page: EventPage | undefined; page?.hasMore !== false; after = page.cursor) {
      page = await this.list(after, { limit: largestPage, ...query }, options);
      yield* page.data;
    }
  }

  /**
   * Iterates over the events after the cursor and waits for new ones. It ends by throwing: the reason of the `signal`, or the error
   * of an installation that could not be reached for 30 seconds.
   */
  async *follow(after: string, query: EventOptions = {}, options: CallOptions = {}): AsyncIterableIterator<FeedEvent> {
    for (;;) {
      const page = await this.list(after, { limit: largestPage, wait: followWait, ...query }, options);
      yield* page.data;
      after = page.cursor;
    }
  }
}
