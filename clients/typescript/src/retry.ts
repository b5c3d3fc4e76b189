/** The delays between two attempts, in milliseconds. */
const firstPause = 250; // doubled with each try
const longestPause = 8_000;
const longestRetryAfter = 60_000; // for a longer wait, the caller gets the error

/** How requests are sent. */
export interface Sending {
  fetch: typeof fetch;
  maxRetries: number;
  timeout: number;
  /** Waits for some milliseconds, or rejects with the reason of the signal. */
  pause?: (milliseconds: number, signal: AbortSignal) => Promise<void>;
}

/** Returns a function that retries a request until its response is final. */
export function retrying(sending: Sending): (request: Request) => Promise<Response> {
  const pause = sending.pause ?? sleep;
  return async (request) => {
    if (request.method === "POST" && !request.headers.has("Idempotency-Key")) {
      request.headers.set("Idempotency-Key", crypto.randomUUID());
    }
    let unsure = false; // whether an attempt may have been applied
    for (let attempt = 0; ; attempt++) {
      const last = attempt >= sending.maxRetries;
      let milliseconds = backoff(attempt);
      try {
        const response = await send(sending, request);
        if (unsure && request.method === "DELETE" && response.status === 404) return new Response(null, { status: 204 }); // an earlier attempt has deleted it
        unsure ||= response.status >= 500;
        const after = retryAfter(response) ?? 0;
        if (last || after > longestRetryAfter || !(await isRepeatable(request, response))) return response;
        if (after > 0) milliseconds = after + Math.random() * firstPause; // all who were told the same do not come at the same time
      } catch (error) {
        const code = codeOf(error);
        if (request.signal.aborted || /CERT|SIGNATURE/.test(code)) throw error;
        if (isConditional(request) && !/^(ECONNREFUSED|ENOTFOUND|EAI_AGAIN)$/.test(code)) { // there was a connection
          throw new Error("The change may be stored, so read the contact again.", { cause: error });
        }
        if (last) throw error;
        unsure = true;
      }
      await pause(milliseconds, request.signal);
    }
  };
}

/** Makes one attempt. It reads the whole response, because the connection may break. */
async function send({ fetch, timeout }: Sending, request: Request): Promise<Response> {
  const signal = AbortSignal.any([request.signal, AbortSignal.timeout(timeout)]);
  const response = await fetch(request.clone(), { signal });
  const body = await response.text();
  return new Response(body === "" ? null : body, response);
}

/** Reports whether a retry may succeed and is safe. */
async function isRepeatable(request: Request, response: Response): Promise<boolean> {
  switch (response.status) {
    case 429:
      return true;
    case 503: // unreplicated is a write that is stored
      return !isConditional(request) || !(await response.clone().text()).includes('"unreplicated"');
    case 409:
      return (await response.clone().text()).includes('"idempotency_key_in_use"');
    case 502: // of a proxy, as 504
    case 504:
      return !isConditional(request);
    default:
      return false;
  }
}

/**
 * Reports whether the request is a conditional write. Without a response, the write may have been applied, unless there was no
 * connection. A retry could then fail because of the first attempt.
 */
function isConditional(request: Request): boolean {
  return request.headers.has("If-Match") || request.headers.has("If-None-Match");
}

/** Returns the code that Node.js gives the cause of a failed fetch, such as `ECONNREFUSED` or `CERT_HAS_EXPIRED`. */
function codeOf(error: unknown): string {
  const cause = error instanceof Error ? error.cause : undefined;
  return cause instanceof Error && "code" in cause ? String(cause.code) : "";
}

/** Returns the delay after an attempt, counted from 0. It doubles with each attempt; up to half of it is random. */
function backoff(attempt: number): number {
  const most = Math.min(firstPause * 2 ** attempt, longestPause);
  return most / 2 + (Math.random() * most) / 2;
}

/** Returns the milliseconds in the response's Retry-After, if any. */
export function retryAfter(response: Response): number | undefined {
  const text = response.headers.get("Retry-After");
  if (text === null) return undefined;
  const milliseconds = /^\d+$/.test(text) ? Number(text) * 1000 : Date.parse(text) - Date.now();
  return Number.isNaN(milliseconds) ? undefined : Math.max(milliseconds, 0);
}

function sleep(milliseconds: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    signal.throwIfAborted();
    const end = () => {
      clearTimeout(timer);
      reject(signal.reason);
    };
    const timer = setTimeout(() => {
      signal.removeEventListener("abort", end);
      resolve();
    }, milliseconds);
    signal.addEventListener("abort", end, { once: true });
  });
}
