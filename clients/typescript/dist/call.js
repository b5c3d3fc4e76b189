/** Returns the signal and the headers of the options. */
export function init({ signal, requestId, idempotencyKey, ifMatch, onlyCreate }) {
    const headers = {};
    if (requestId !== undefined)
        headers["X-Request-Id"] = requestId;
    if (idempotencyKey !== undefined)
        headers["Idempotency-Key"] = idempotencyKey;
    if (ifMatch !== undefined)
        headers["If-Match"] = ifMatch;
    if (onlyCreate)
        headers["If-None-Match"] = "*";
    return signal ? { headers, signal } : { headers };
}
