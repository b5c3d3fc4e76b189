import { init } from "./call.js";
import { must } from "./errors.js";
const largestPage = 1000;
const followWait = 20; // seconds: shorter than the timeout of a try
/**
 * The event feed: the events of the key's tenant in commit order, as webhooks receive them. A cursor is the `id` of an event, or the
 * `cursor` of a page. Store it in the same transaction as your changes, and no event is missed or handled twice. With `types` or
 * `contact`, store the `cursor` of each page of `list` instead: it advances past events that the filter excludes, so it does not
 * expire. If later events have been deleted, a `ContactbaseError` has the code `cursor_expired`: read all contacts, and start again.
 */
export class Events {
    #api;
    constructor(api) {
        this.#api = api;
    }
    /** Returns the cursor after the newest event. */
    async now(options = {}) {
        return must(await this.#api.GET("/api/ext/v1/events", init(options))).cursor;
    }
    /** Returns a page of events after the cursor. The empty cursor is before the oldest event. */
    async list(after, { types, ...rest } = {}, options = {}) {
        const query = { after, ...rest, ...(types && { types: types.join(",") }) };
        return must(await this.#api.GET("/api/ext/v1/events", { params: { query }, ...init(options) }));
    }
    /** Iterates over the events after the cursor and ends with the last one. */
    async *after(after, query = {}, options = {}) {
        for (let page; page?.hasMore !== false; after = page.cursor) {
            page = await this.list(after, { limit: largestPage, ...query }, options);
            yield* page.data;
        }
    }
    /**
     * Iterates over the events after the cursor and waits for new ones. It ends by throwing: the reason of the `signal`, or the error
     * of an installation that could not be reached for 30 seconds.
     */
    async *follow(after, query = {}, options = {}) {
        for (;;) {
            const page = await this.list(after, { limit: largestPage, wait: followWait, ...query }, options);
            yield* page.data;
            after = page.cursor;
        }
    }
}
