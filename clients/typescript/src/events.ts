import { type Api, type CallOptions, init } from "./call.js";
import { must } from "./errors.js";
import type { components } from "./schema.js";

type Schemas = components["schemas"];

/**
 * An event of the feed, told apart by its `type`. Where the contact was deleted since it has `erased`, and of the contact the `id`.
 * Later versions of an installation may return other types, which can be ignored.
 */
export type FeedEvent = Schemas["FeedEvent"];

/** A part of the feed. */
export type EventPage = Schemas["EventPage"];

/** Which events to return. Without any of these all. */
export interface EventOptions {
  /** Such as `contact.created`. */
  types?: readonly Schemas["EventType"][];
  /** The id of one contact. */
  contact?: string;
  /** Events of a page: 100 unless it says otherwise, at most 1,000. */
  limit?: number;
  /** How many seconds `list` waits where there is no event yet: at most 30, and less than the timeout of a try. */
  wait?: number;
}

const largestPage = 1000;
const followWait = 20; // seconds: shorter than the timeout of a try

/**
 * The feed: the events of the key's tenant in the order in which they happened, as webhooks get them. A place in it is the `id` of an
 * event, or the `cursor` of a page. Store the place together with what its event has changed on your side, and nothing is missed or
 * seen twice. With `types` or `contact`, store the `cursor` of each page of `list` instead: the cursor advances past events that the
 * filter excludes, so it does not expire. If events after a position are no longer kept, a `ContactbaseError` has the code `cursor_expired`:
 * read all contacts, and start again.
 */
export class Events {
  readonly #api: Api;

  constructor(api: Api) {
    this.#api = api;
  }

  /** Returns the place behind all that has happened. */
  async now(options: CallOptions = {}): Promise<string> {
    return must(await this.#api.GET("/api/ext/v1/events", init(options))).cursor;
  }

  /** Returns a page of the events behind the place. The empty place is before the oldest event that is kept. */
  async list(after: string, { types, ...rest }: EventOptions = {}, options: CallOptions = {}): Promise<EventPage> {
    const query = { after, ...rest, ...(types && { types: types.join(",") }) };
    return must(await this.#api.GET("/api/ext/v1/events", { params: { query }, ...init(options) }));
  }

  /** Goes through the events behind the place, and ends with the last one that there is. */
  async *after(after: string, query: Omit<EventOptions, "wait"> = {}, options: CallOptions = {}): AsyncIterableIterator<FeedEvent> {
    for (let page: EventPage | undefined; page?.hasMore !== false; after = page.cursor) {
      page = await this.list(after, { limit: largestPage, ...query }, options);
      yield* page.data;
    }
  }

  /**
   * Goes through the events behind the place, and waits for the next one when there is none. It ends by throwing: the reason of the
   * `signal`, or the error of an installation that could not be reached for half a minute.
   */
  async *follow(after: string, query: EventOptions = {}, options: CallOptions = {}): AsyncIterableIterator<FeedEvent> {
    for (;;) {
      const page = await this.list(after, { limit: largestPage, wait: followWait, ...query }, options);
      yield* page.data;
      after = page.cursor;
    }
  }
}
