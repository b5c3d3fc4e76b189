import { type Api, type CallOptions, init, type WriteOptions } from "./call.js";
import { type Answer, ContactbaseError, must } from "./errors.js";
import type { components, operations } from "./schema.js";

type Schemas = components["schemas"];

/** A stored contact. A field without a value is `null`; custom fields are properties like the others. */
export type Contact = Schemas["Contact"];

/** Fields to write. `null` clears a field; omitted fields stay unchanged. */
export type Fields = Schemas["ContactInput"];

/** 1 to 1,000 items to write in order, in one transaction. With `atomic`, nothing is written if an item fails. */
export type Batch = Omit<Schemas["BatchRequest"], "atomic"> & { atomic?: boolean };

/** The contacts to merge into another one, and for each field the ID of the contact whose value wins. */
export type Merge = Omit<Schemas["MergeRequest"], "dryRun"> & { dryRun?: boolean };

/** The result of a batch. */
export type BatchOutcome = Schemas["BatchOutcome"];

/** The result of an item of a batch. */
export type BatchResult = Schemas["BatchResult"];

/** Filters and order. By default, all contacts, the oldest first. */
export type ListOptions = NonNullable<operations["listContacts"]["parameters"]["query"]> & {
  /** The exact values of custom fields by name. An administrator has to add an index for each. */
  custom?: Record<string, string | number | boolean>;
};

/** A number of contacts. With `more`, there are more than `count`, because counting stops at 100,000. */
export type Count = Schemas["ContactCount"]["data"];

/** A page of contacts. */
export interface Page {
  data: Contact[];
  hasMore: boolean;
  /** The cursor of the next page, for `ListOptions`. Missing on the last page. */
  cursor?: string;
}

const etags = new WeakMap<Contact, string>();

/**
 * Returns the version of a contact, for `ifMatch`. Contacts in lists, batches and events have none, and neither have copies: for
 * these, it throws a `TypeError`.
 */
export function etag(contact: Contact): string {
  const version = etags.get(contact);
  if (!version) throw new TypeError("the contact is from a list, a batch or an event, or a copy, so it has no ETag: get it first");
  return version;
}

/** The calls about contacts. Each throws a `ContactbaseError` if the installation rejects it. */
export class Contacts {
  readonly #api: Api;

  constructor(api: Api) {
    this.#api = api;
  }

  /** Creates a contact, which needs a name or an email address. */
  async create(fields: Fields, options: WriteOptions = {}): Promise<Contact> {
    return single(await this.#api.POST("/api/ext/v1/contacts", { body: fields, ...init(options) }));
  }

  /** Returns the contact with the ID. */
  async get(id: string, options: CallOptions = {}): Promise<Contact> {
    return single(await this.#api.GET("/api/ext/v1/contacts/{id}", { params: { path: { id } }, ...init(options) }));
  }

  /** Changes the given fields of the contact with the ID. */
  async update(id: string, fields: Fields, options: WriteOptions = {}): Promise<Contact> {
    return single(await this.#api.PATCH("/api/ext/v1/contacts/{id}", { params: { path: { id } }, body: fields, ...init(options) }));
  }

  /** Updates the given fields of the contact with your own identifier, or creates the contact. */
  async upsert(externalId: string, fields: Fields, options: WriteOptions = {}): Promise<Contact> {
    const params = { path: { externalId } };
    return single(await this.#api.PUT("/api/ext/v1/contacts/by-external-id/{externalId}", { params, body: fields, ...init(options) }));
  }

  /** Deletes the contact with the ID. The key needs the permission `contacts:delete`. */
  async delete(id: string, options: WriteOptions = {}): Promise<void> {
    const { error, response } = await this.#api.DELETE("/api/ext/v1/contacts/{id}", { params: { path: { id } }, ...init(options) });
    if (!response.ok) throw new ContactbaseError(response, error);
  }

  /** Merges other contacts into the contact with the ID and deletes them. */
  async merge(id: string, merge: Merge, options: WriteOptions = {}): Promise<Contact> {
    const body = { dryRun: false, ...merge };
    return single(await this.#api.POST("/api/ext/v1/contacts/{id}/merge", { params: { path: { id } }, body, ...init(options) }));
  }

  /** Writes many contacts at once. Single items can fail: check the `results`. */
  async batch(batch: Batch, options: WriteOptions = {}): Promise<BatchOutcome> {
    const body = { atomic: false, ...batch };
    return must(await this.#api.POST("/api/ext/v1/contacts/batch", { body, ...init(options) })).data;
  }

  /** Returns a page of contacts. */
  async list({ custom, ...rest }: ListOptions = {}, options: CallOptions = {}): Promise<Page> {
    const query = { ...custom, ...rest };
    const answer = await this.#api.GET("/api/ext/v1/contacts", { params: { query }, ...init(options) });
    const { data, hasMore } = must(answer);
    const cursor = nextCursor(answer.response.headers.get("Link"));
    return cursor ? { data, hasMore, cursor } : { data, hasMore };
  }

  /** Returns how many contacts the filters select. It ignores the order and the page of the query. */
  async count({ custom, limit, offset, cursor, sort, ...rest }: ListOptions = {}, options: CallOptions = {}): Promise<Count> {
    const query = { ...custom, ...rest };
    return must(await this.#api.GET("/api/ext/v1/contacts/count", { params: { query }, ...init(options) })).data;
  }

  /**
   * Iterates over the contacts of all pages. In the default order, new contacts neither shift nor repeat others.
   */
  async *all(query: ListOptions = {}, options: CallOptions = {}): AsyncIterableIterator<Contact> {
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
function single(answer: Answer<{ data: Contact }>): Contact {
  const contact = must(answer).data;
  const version = answer.response.headers.get("ETag");
  if (version) etags.set(contact, version);
  return contact;
}

/** Returns the cursor of the next page from the Link header. */
function nextCursor(link: string | null): string | undefined {
  const address = link?.match(/^<([^>]*)>.*rel="next"/)?.[1];
  return address === undefined ? undefined : (new URL(address, "http://localhost").searchParams.get("cursor") ?? undefined);
}
