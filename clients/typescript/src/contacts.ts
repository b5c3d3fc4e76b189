import { type Api, type CallOptions, init, type WriteOptions } from "./call.js";
import { type Answer, must } from "./errors.js";
import type { components, operations } from "./schema.js";

type Schemas = components["schemas"];

/** A contact as it is stored. A field without a value is `null`; fields that the installation added are beside the others. */
export type Contact = Schemas["Contact"];

/** Fields to write: those that are there, and no others. `null` clears a field. */
export type Fields = Schemas["ContactInput"];

/** What to write in one transaction: 1 to 1,000 items, in their order. With `atomic` all of them fail where one does. */
export type Batch = Omit<Schemas["BatchRequest"], "atomic"> & { atomic?: boolean };

/** What became of a batch. */
export type BatchOutcome = Schemas["BatchOutcome"];

/** What became of an item of a batch. */
export type BatchResult = Schemas["BatchResult"];

/** Which contacts to list. Without any of these all, the oldest first. */
export type ListOptions = NonNullable<operations["listContacts"]["parameters"]["query"]>;

/** A part of a list. */
export interface Page {
  data: Contact[];
  hasMore: boolean;
  /** Of the next page, for `ListOptions`. Missing with the last. */
  cursor?: string;
}

const etags = new WeakMap<Contact, string>();

/** Returns the version of a contact, for `ifMatch`. Contacts of lists, batches and events have none, and copies neither. */
export function etag(contact: Contact): string | undefined {
  return etags.get(contact);
}

/** The calls about contacts. Each throws a `ContactbaseError` where the installation refuses it. */
export class Contacts {
  readonly #api: Api;

  constructor(api: Api) {
    this.#api = api;
  }

  /** Creates a contact, which needs a name or an e-mail address. */
  async create(fields: Fields, options: WriteOptions = {}): Promise<Contact> {
    return single(await this.#api.POST("/api/ext/v1/contacts", { body: fields, ...init(options) }));
  }

  /** Returns the contact with the id. */
  async get(id: string, options: CallOptions = {}): Promise<Contact> {
    return single(await this.#api.GET("/api/ext/v1/contacts/{id}", { params: { path: { id } }, ...init(options) }));
  }

  /** Changes the fields, and no others, of the contact with the id. */
  async update(id: string, fields: Fields, options: WriteOptions = {}): Promise<Contact> {
    return single(await this.#api.PATCH("/api/ext/v1/contacts/{id}", { params: { path: { id } }, body: fields, ...init(options) }));
  }

  /** Changes the fields, and no others, of the contact with your own identifier, and creates it where there is none. */
  async upsert(externalId: string, fields: Fields, options: WriteOptions = {}): Promise<Contact> {
    const params = { path: { externalId } };
    return single(await this.#api.PUT("/api/ext/v1/contacts/by-external-id/{externalId}", { params, body: fields, ...init(options) }));
  }

  /** Writes many contacts at once. Items fail one by one: see the `results`. */
  async batch(batch: Batch, options: WriteOptions = {}): Promise<BatchOutcome> {
    const body = { atomic: false, ...batch };
    return must(await this.#api.POST("/api/ext/v1/contacts/batch", { body, ...init(options) })).data;
  }

  /** Returns a page of contacts. */
  async list(query: ListOptions = {}, options: CallOptions = {}): Promise<Page> {
    const answer = await this.#api.GET("/api/ext/v1/contacts", { params: { query }, ...init(options) });
    const { data, hasMore } = must(answer);
    const cursor = nextCursor(answer.response.headers.get("Link"));
    return cursor ? { data, hasMore, cursor } : { data, hasMore };
  }

  /**
   * Goes through the contacts of all pages, one after the other. Contacts that are created meanwhile neither shift nor repeat any
   * in the default order.
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

/** Returns the one contact of an answer, whose version `etag` knows. */
function single(answer: Answer<{ data: Contact }>): Contact {
  const contact = must(answer).data;
  const version = answer.response.headers.get("ETag");
  if (version) etags.set(contact, version);
  return contact;
}

/** Returns the cursor of the next page, which the header leads to. */
function nextCursor(link: string | null): string | undefined {
  const address = link?.match(/^<([^>]*)>.*rel="next"/)?.[1];
  return address === undefined ? undefined : (new URL(address, "http://localhost").searchParams.get("cursor") ?? undefined);
}
