import { retryAfter } from "./retry.js";
import type { components } from "./schema.js";

type Schemas = components["schemas"];

/** An error code that programs can check. An installation describes them at `/docs/errors-and-limits`. */
export type ErrorCode = Schemas["ErrorCode"];

/** The error of a field or a parameter. */
export type FieldError = Schemas["FieldError"];

/** The error response of an installation. */
export class ContactbaseError extends Error {
  override readonly name = "ContactbaseError";
  /** The HTTP status. */
  readonly status: number;
  /** For programs. Missing if the response does not come from an installation. */
  readonly code?: ErrorCode;
  /** Identifies the request in the installation's log. */
  readonly requestId?: string;
  /** The errors by field or parameter. */
  readonly fields: Readonly<Record<string, FieldError>> = {};
  /** The result of each item, with `batch_failed`. */
  readonly results: readonly Schemas["BatchResult"][] = [];
  /** How many seconds to wait, if known. */
  readonly retryAfter?: number;

  constructor(response: Response, body: unknown) {
    const detail = detailOf(body);
    super(detail?.message || response.statusText || `HTTP ${response.status}`);
    this.status = response.status;
    const after = retryAfter(response);
    if (after !== undefined) this.retryAfter = after / 1000;
    const requestId = detail?.requestId ?? response.headers.get("X-Request-Id");
    if (requestId) this.requestId = requestId;
    if (!detail) return;
    this.code = detail.code;
    if (detail.fields) this.fields = detail.fields;
    if (detail.results) this.results = detail.results;
  }
}

/** Returns the error in a body, if it comes from an installation. */
function detailOf(body: unknown): Schemas["ErrorDetail"] | undefined {
  const detail = (body as Partial<Schemas["ErrorResponse"]> | undefined)?.error;
  return typeof detail?.code === "string" ? detail : undefined;
}

/** What openapi-fetch returns. */
export interface Answer<T> {
  data?: T;
  error?: unknown;
  response: Response;
}

/** Returns the data of a response, or throws its error. */
export function must<T>({ data, error, response }: Answer<T>): T {
  if (!response.ok) throw new ContactbaseError(response, error);
  if (data === undefined) throw new Error("the response body is empty");
  return data;
}
