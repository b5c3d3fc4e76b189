import { type Api, type CallOptions, type WriteOptions } from "./call.js";
import type { components, operations } from "./schema.js";
type Schemas = components["schemas"];
/** A stored contact. A field without a value is `null`; custom fields are properties like the others. */
export type Contact = Schemas["Contact"];
/** Fields to write. `null` clears a field; omitted fields stay unchanged. */
export type Fields = Schemas["ContactInput"];
/** 1 to 1,000 items to write in order, in one transaction. With `atomic`, nothing is written if an item fails. */
export type Batch = Omit<Schemas["BatchRequest"], "atomic"> & {
    atomic?: boolean;
};
/** The contacts to merge into another one, and for each field the ID of the contact whose value wins. */
export type Merge = Omit<Schemas["MergeRequest"], "dryRun"> & {
    dryRun?: boolean;
};
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
/**
 * Returns the version of a contact, for `ifMatch`. Contacts in lists, batches and events have none, and neither have copies: for
 * these, it throws a `TypeError`.
 */
export declare function etag(contact: Contact): string;
/** The calls about contacts. Each throws a `ContactbaseError` if the installation rejects it. */
export declare class Contacts {
    #private;
    constructor(api: Api);
    /** Creates a contact, which needs a name or an email address. */
    create(fields: Fields, options?: WriteOptions): Promise<Contact>;
    /** Returns the contact with the ID. */
    get(id: string, options?: CallOptions): Promise<Contact>;
    /** Changes the given fields of the contact with the ID. */
    update(id: string, fields: Fields, options?: WriteOptions): Promise<Contact>;
    /** Updates the given fields of the contact with your own identifier, or creates the contact. */
    upsert(externalId: string, fields: Fields, options?: WriteOptions): Promise<Contact>;
    /** Deletes the contact with the ID. The key needs the permission `contacts:delete`. */
    delete(id: string, options?: WriteOptions): Promise<void>;
    /** Merges other contacts into the contact with the ID and deletes them. */
    merge(id: string, merge: Merge, options?: WriteOptions): Promise<Contact>;
    /** Writes many contacts at once. Single items can fail: check the `results`. */
    batch(batch: Batch, options?: WriteOptions): Promise<BatchOutcome>;
    /** Returns a page of contacts. */
    list({ custom, ...rest }?: ListOptions, options?: CallOptions): Promise<Page>;
    /** Returns how many contacts the filters select. It ignores the order and the page of the query. */
    count({ custom, limit, offset, cursor, sort, ...rest }?: ListOptions, options?: CallOptions): Promise<Count>;
    /**
     * Iterates over the contacts of all pages. In the default order, new contacts neither shift nor repeat others.
     */
    all(query?: ListOptions, options?: CallOptions): AsyncIterableIterator<Contact>;
}
export {};
