// What an attempt of a delivery sent, and the response.

/** What is shown instead of content that was erased. */
const erasedText = "The content was erased with its contact.";

/**
 * Whether the payload of an event was erased.
 *
 * @param {string | object} payload
 */
function isErased(payload) {
    try {
        return (typeof payload === "string" ? JSON.parse(payload) : payload).erased === true;
    } catch {
        return false;
    }
}

/**
 * An attempt in full.
 *
 * @param {AttemptDetails} shown
 * @param {string | object} [payload] of its event
 */
function attemptDetails(shown, payload = "") {
    const missing = shown.status ? "The body is empty." : isBlocked(shown.error) ? "The request was not sent." : "There was no response.";
    return t.div(
        { className: "integrations-attempt" },
        attemptSummary(shown),
        shown.error ? t.p({ className: "integrations-bad" }, shown.error) : null,
        isRedirect(shown.status) ? t.p({ className: "integrations-bad" }, "Redirects are not followed: enter the final address as the webhook's URL.") : null,
        textBlock("Response body", shown.responseBody, shown.status && isErased(payload) ? erasedText : missing),
        headersBlock("Response headers", shown.responseHeaders),
        headersBlock("Request headers", shown.requestHeaders),
    );
}

/**
 * Whether the server has not sent a request, because it may not reach its address.
 *
 * @param {string | null} [error]
 */
function isBlocked(error) {
    return Boolean(error?.startsWith("blocked address"));
}

/** @param {AttemptDetails} shown */
function attemptSummary({ number, started, status, error, durationMs }) {
    const state = status && status >= 200 && status < 300
        ? { text: `${status} accepted`, style: "success" }
        : { text: status ? `${status} rejected` : isBlocked(error) ? "Not sent" : "No response", style: "danger" };
    return t.div(
        { className: "integrations-attempt-summary" },
        stateLabel(state),
        t.span(null, `Attempt ${number}`),
        t.span(null, duration(durationMs)),
        timeAgo(started),
    );
}

/**
 * JSON is laid out, everything else shown as it is.
 *
 * @param {string | object} body
 * @returns {string}
 */
function layOut(body) {
    if (typeof body !== "string") {
        return JSON.stringify(body, null, 2);
    }
    try {
        return JSON.stringify(JSON.parse(body), null, 2);
    } catch {
        return body;
    }
}

/**
 * @param {string} label
 * @param {string | null} text
 * @param {string} missing
 */
function textBlock(label, text, missing) {
    return t.section(
        { className: "integrations-block" },
        t.h3(null, label),
        text
            ? t.pre({ tabIndex: 0, role: "region", ariaLabel: label }, t.code(null, layOut(text)))
            : t.p({ className: "txt-hint" }, missing),
    );
}

/**
 * @param {string} label
 * @param {Record<string, string> | null} headers
 * @param {boolean} [open] shown from the beginning
 */
function headersBlock(label, headers, open = false) {
    const entries = Object.entries(headers || {}).sort();
    if (!entries.length) {
        return null;
    }
    return t.details(
        { className: "integrations-details", open },
        t.summary(null, `${label} (${entries.length})`),
        t.dl({ className: "integrations-headers" }, entries.map(([name, value]) => [t.dt(null, name), t.dd(null, value)])),
    );
}
