import type { Client } from "openapi-fetch";

import type { paths } from "./schema.js";

/** Calls operations by their paths. Answers are read as JSON, where there is a choice. */
export type Api = Client<paths, "application/json">;

/** What a call has beside its arguments. */
export interface CallOptions {
  /** Ends the call, and the pauses between its tries. */
  signal?: AbortSignal;
  /** Names the request in the log of the installation: 1 to 128 letters, digits and `._~:/+=@-`. */
  requestId?: string;
}

/** What a call that writes has beside its arguments. */
export interface WriteOptions extends CallOptions {
  /**
   * For `create` and `batch`, makes them happen once, however often they are called with this key within 24 hours, by whichever
   * process: 1 to 255 characters, such as the id of an order. Without it each call has a key of its own.
   */
  idempotencyKey?: string;
  /** For `update` and `upsert`: the contact is changed only if its `etag` still is this one. */
  ifMatch?: string | undefined;
  /** For `upsert`: a contact that is there is not changed, and the call fails with `precondition_failed`. */
  onlyCreate?: boolean;
}

/** Returns the signal and the headers that the options stand for. */
export function init({ signal, requestId, idempotencyKey, ifMatch, onlyCreate }: WriteOptions) {
  const headers: Record<string, string> = {};
  if (requestId !== undefined) headers["X-Request-Id"] = requestId;
  if (idempotencyKey !== undefined) headers["Idempotency-Key"] = idempotencyKey;
  if (ifMatch !== undefined) headers["If-Match"] = ifMatch;
  if (onlyCreate) headers["If-None-Match"] = "*";
  return signal ? { headers, signal } : { headers };
}
