export type { CallOptions, WriteOptions } from "./call.js";
export { Contactbase, type Options } from "./client.js";
export { type Batch, type BatchOutcome, type BatchResult, type Contact, type Contacts, type Count, etag, type Fields, type ListOptions, type Page, } from "./contacts.js";
export { ContactbaseError, type ErrorCode, type FieldError } from "./errors.js";
export type { EventOptions, EventPage, Events, FeedEvent } from "./events.js";
export type { PortalLink, PortalLinkOptions, PortalLinks } from "./links.js";
