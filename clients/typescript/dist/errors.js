import { retryAfter } from "./retry.js";
/** The error response of an installation. */
export class ContactbaseError extends Error {
    name = "ContactbaseError";
    /** The HTTP status. */
    status;
    /** For programs. Missing if the response does not come from an installation. */
    code;
    /** Identifies the request in the installation's log. */
    requestId;
    /** The errors by field or parameter. */
    fields = {};
    /** The result of each item, with `batch_failed`. */
    results = [];
    /** How many seconds to wait, if known. */
    retryAfter;
    constructor(response, body) {
        const detail = detailOf(body);
        super(detail?.message || response.statusText || `HTTP ${response.status}`);
        this.status = response.status;
        const after = retryAfter(response);
        if (after !== undefined)
            this.retryAfter = after / 1000;
        const requestId = detail?.requestId ?? response.headers.get("X-Request-Id");
        if (requestId)
            this.requestId = requestId;
        if (!detail)
            return;
        this.code = detail.code;
        if (detail.fields)
            this.fields = detail.fields;
        if (detail.results)
            this.results = detail.results;
    }
}
/** Returns the error in a body, if it comes from an installation. */
function detailOf(body) {
    const detail = body?.error;
    return typeof detail?.code === "string" ? detail : undefined;
}
/** Returns the data of a response, or throws its error. */
export function must({ data, error, response }) {
    if (!response.ok)
        throw new ContactbaseError(response, error);
    if (data === undefined)
        throw new Error("the response body is empty");
    return data;
}
