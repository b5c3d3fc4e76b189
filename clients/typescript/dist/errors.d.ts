import type { components } from "./schema.js";
type Schemas = components["schemas"];
/** An error code that programs can check. An installation describes them at `/docs/errors-and-limits`. */
export type ErrorCode = Schemas["ErrorCode"];
/** The error of a field or a parameter. */
export type FieldError = Schemas["FieldError"];
/** The error response of an installation. */
export declare class ContactbaseError extends Error {
    readonly name = "ContactbaseError";
    /** The HTTP status. */
    readonly status: number;
    /** For programs. Missing if the response does not come from an installation. */
    readonly code?: ErrorCode;
    /** Identifies the request in the installation's log. */
    readonly requestId?: string;
    /** The errors by field or parameter. */
    readonly fields: Readonly<Record<string, FieldError>>;
    /** The result of each item, with `batch_failed`. */
    readonly results: readonly Schemas["BatchResult"][];
    /** How many seconds to wait, if known. */
    readonly retryAfter?: number;
    constructor(response: Response, body: unknown);
}
/** What openapi-fetch returns. */
export interface Answer<T> {
    data?: T;
    error?: unknown;
    response: Response;
}
/** Returns the data of a response, or throws its error. */
export declare function must<T>({ data, error, response }: Answer<T>): T;
export {};
