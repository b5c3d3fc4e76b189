// What an attempt of a delivery sent and what came back.

/** An attempt in full. brief leaves out what is the same for every test event. */
function attemptDetails(attempt, brief = false) {
    return t.div(
        { className: "integrations-attempt" },
        attemptSummary(attempt),
        attempt.error ? t.p({ className: "integrations-bad" }, attempt.error) : null,
        textBlock("Answer", attempt.responseBody, attempt.status ? "An empty body." : "There was none."),
        headersBlock("Response headers", attempt.responseHeaders),
        headersBlock("Request headers", attempt.requestHeaders, !brief),
    );
}

function attemptSummary({ number, started, status, durationMs }) {
    const state = status >= 200 && status < 300
        ? { text: `${status} accepted`, style: "success" }
        : { text: status ? `${status} refused` : "No answer", style: "danger" };
    return t.div(
        { className: "integrations-attempt-summary" },
        stateLabel(state),
        t.span(null, `Attempt ${number}`),
        t.span(null, duration(durationMs)),
        timeAgo(started),
    );
}

/** JSON is laid out, everything else shown as it is. */
function layOut(text) {
    try {
        return JSON.stringify(typeof text === "string" ? JSON.parse(text) : text, null, 2);
    } catch {
        return text;
    }
}

function textBlock(label, text, missing) {
    return t.section(
        { className: "integrations-block" },
        t.h3(null, label),
        text
            ? t.pre({ tabIndex: 0, role: "region", ariaLabel: label }, t.code(null, layOut(text)))
            : t.p({ className: "txt-hint" }, missing),
    );
}

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
