import { init } from "./call.js";
import { ContactbaseError, must } from "./errors.js";
const etags = new WeakMap();
/**
 * Returns the version of a contact, for `ifMatch`. Contacts in lists, batches and events have none, and neither have copies: for
 * these, it throws a `TypeError`.
 */
export function etag(contact) {
    const version = etags.get(contact);
    if (!version)
        throw new TypeError("the contact is from a list, a batch or an event, or a copy, so it has no ETag: get it first");
    return version;
}
/** The calls about contacts. Each throws a `ContactbaseError` if the installation rejects it. */
export class Contacts {
    #api;
    constructor(api) {
        this.#api = api;
    }
    /** Creates a contact, which needs a name or an email address. */
    async create(fields, options = {}) {
        return single(await this.#api.POST("/api/ext/v1/contacts", { body: fields, ...init(options) }));
    }
    /** Returns the contact with the ID. */
    async get(id, options = {}) {
        return single(await this.#api.GET("/api/ext/v1/contacts/{id}", { params: { path: { id } }, ...init(options) }));
    }
    /** Changes the given fields of the contact with the ID. */
    async update(id, fields, options = {}) {
        return single(await this.#api.PATCH("/api/ext/v1/contacts/{id}", { params: { path: { id } }, body: fields, ...init(options) }));
    }
    /** Updates the given fields of the contact with your own identifier, or creates the contact. */
    async upsert(externalId, fields, options = {}) {
        const params = { path: { externalId } };
        return single(await this.#api.PUT("/api/ext/v1/contacts/by-external-id/{externalId}", { params, body: fields, ...init(options) }));
    }
    /** Deletes the contact with the ID. The key needs the permission `contacts:delete`. */
    async delete(id, options = {}) {
        const { error, response } = await this.#api.DELETE("/api/ext/v1/contacts/{id}", { params: { path: { id } }, ...init(options) });
        if (!response.ok)
            throw new ContactbaseError(response, error);
    }
    /** Merges other contacts into the contact with the ID and deletes them. */
    async merge(id, merge, options = {}) {
        const body = { dryRun: false, ...merge };
        return single(await this.#api.POST("/api/ext/v1/contacts/{id}/merge", { params: { path: { id } }, body, ...init(options) }));
    }
    /** Writes many contacts at once. Single items can fail: check the `results`. */
    async batch(batch, options = {}) {
        const body = { atomic: false, ...batch };
        return must(await this.#api.POST("/api/ext/v1/contacts/batch", { body, ...init(options) })).data;
    }
    /** Returns a page of contacts. */
    async list({ custom, ...rest } = {}, options = {}) {
        const query = { ...custom, ...rest };
        const answer = await this.#api.GET("/api/ext/v1/contacts", { params: { query }, ...init(options) });
        const { data, hasMore } = must(answer);
        const cursor = nextCursor(answer.response.headers.get("Link"));
        return cursor ? { data, hasMore, cursor } : { data, hasMore };
    }
    /** Returns how many contacts the filters select. It ignores the order and the page of the query. */
    async count({ custom, limit, offset, cursor, sort, ...rest } = {}, options = {}) {
        const query = { ...custom, ...rest };
        return must(await this.#api.GET("/api/ext/v1/contacts/count", { params: { query }, ...init(options) })).data;
    }
    /**
     * Iterates over the contacts of all pages. In the default order, new contacts neither shift nor repeat others.
     */
    async *all(query = {}, options = {}) {
        const { offset, ...rest } = { limit: 200, ...query };
        let page = await this.list(offset === undefined ? rest : { ...rest, offset }, options);
        yield* page.data;
        while (page.cursor !== undefined) {
            page = await this.list({ ...rest, cursor: page.cursor }, options);
            yield* page.data;
        }
    }
}
/** Returns the contact of a response and remembers its version for `etag`. */
function single(answer) {
    const contact = must(answer).data;
    const version = answer.response.headers.get("ETag");
    if (version)
        etags.set(contact, version);
    return contact;
}
/** Returns the cursor of the next page from the Link header. */
function nextCursor(link) {
    const address = link?.match(/^<([^>]*)>.*rel="next"/)?.[1];
    return address === undefined ? undefined : (new URL(address, "http://localhost").searchParams.get("cursor") ?? undefined);
}
