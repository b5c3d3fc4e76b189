import { retryAfter } from "./retry.js";
import type { components } from "./schema.js";

type Schemas = components["schemas"];

/** What happened, for programs. The guide Errors and limits, at `/docs/errors-and-limits` of an installation, says what to do. */
export type ErrorCode = Schemas["ErrorCode"];

/** What is wrong with a field or a parameter. */
export type FieldError = Schemas["FieldError"];

/** What an installation answers to a call that it refuses. */
export class ContactbaseError extends Error {
  override readonly name = "ContactbaseError";
  /** Of HTTP. */
  readonly status: number;
  /** What happened, for programs. Missing where something else than an installation answered. */
  readonly code?: ErrorCode;
  /** What the log of the installation is searched by. */
  readonly requestId?: string;
  /** What is wrong, by the name of the field or parameter. */
  readonly fields: Readonly<Record<string, FieldError>> = {};
  /** With `batch_failed`, what became of each item. */
  readonly results: readonly Schemas["BatchResult"][] = [];
  /** How many seconds to wait. Missing where that is not known. */
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

/** Returns the error in a body, if it is one of an installation. */
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

/** Returns what an answer says, or throws the error that it is. */
export function must<T>({ data, error, response }: Answer<T>): T {
  if (!response.ok) throw new ContactbaseError(response, error);
  if (data === undefined) throw new Error("there is no answer in the body");
  return data;
}
