import type { Client } from "openapi-fetch";

import type { paths } from "./schema.js";

/** Calls operations by their paths. Responses are read as JSON. */
export type Api = Client<paths, "application/json">;

/** Options of a call. */
export interface CallOptions {
  /** Ends the call, including delays between its attempts. */
  signal?: AbortSignal;
  /** Identifies the request in the log of the installation: 1 to 128 letters, digits and `._~:/+=@-`. */
  requestId?: string;
}

/** Options of a call that writes. */
export interface WriteOptions extends CallOptions {
  /**
   * For `create` and `batch`: the call takes effect once, even if several processes repeat it with this key within 24 hours.
   * The key has 1 to 255 characters, such as the ID of an order. By default, each call has its own key.
   */
  idempotencyKey?: string;
  /** For `update`, `upsert` and `delete`: the call fails with `precondition_failed` if the contact's `etag` has changed. */
  ifMatch?: string | undefined;
  /** For `upsert`: the call fails with `precondition_failed` if the contact exists. */
  onlyCreate?: boolean;
}

/** Returns the signal and the headers of the options. */
export function init({ signal, requestId, idempotencyKey, ifMatch, onlyCreate }: WriteOptions) {
  const headers: Record<string, string> = {};
  if (requestId !== undefined) headers["X-Request-Id"] = requestId;
  if (idempotencyKey !== undefined) headers["Idempotency-Key"] = idempotencyKey;
  if (ifMatch !== undefined) headers["If-Match"] = ifMatch;
  if (onlyCreate) headers["If-None-Match"] = "*";
  return signal ? { headers, signal } : { headers };
}
