// One delivery: its attempts, its request and the responses. What changed is in diff.js.

/** @typedef {Pick<Delivery, "id" | "type" | "status" | "created"> & { contactName?: string, count?: number }} DeliverySummary */

/**
 * The drawer of a delivery; it keeps polling, so that a redelivery shows its outcome.
 *
 * @param {string} id
 * @param {() => unknown} [onclose]
 */
function showDelivery(id, onclose) {
    /** @type {{ delivery: DeliveryDetails | null, attempts: Attempt[] | null, fault: string }} */
    const state = store({ delivery: null, attempts: null, fault: "" });
    async function load() {
        try {
            const [details, attempts] = await Promise.all([
                callIntegrations("GET", `/deliveries/${id}`),
                callIntegrations("GET", `/deliveries/${id}/attempts`),
            ]);
            keep(state, "attempts", attempts);
            keep(state, "delivery", details);
            state.fault = "";
        } catch (error) {
            state.fault = isNotFound(error) ? "This delivery no longer exists." : errorText(error);
        }
    }
    const polling = poll(load, 2);
    openDialog({
        title: () => (state.delivery ? eventKinds[state.delivery.type] || state.delivery.type : "Delivery"),
        drawer: true,
        onclose: () => {
            polling.stop();
            onclose?.();
        },
        content: [
            () => (state.fault ? t.div({ className: "alert danger", role: "alert" }, state.fault) : null),
            () => {
                const { delivery: details, attempts } = state;
                if (details && attempts) {
                    return deliveryParts(details, attempts);
                }
                return state.fault ? null : t.div({ className: "skeleton-loader", role: "status", ariaLabel: "Loading" });
            },
        ],
        footer: (close) => [
            t.button({ type: "button", className: "btn transparent m-r-auto", onclick: close }, t.span({ className: "txt" }, "Close")),
            forEditors(t.button(
                { type: "button", className: "btn expanded", disabled: () => !state.delivery, onclick: () => state.delivery && redeliver(state.delivery, polling.again) },
                t.span({ className: "txt" }, "Redeliver"),
            )),
        ],
    });
}

/**
 * @param {DeliveryDetails} details
 * @param {Attempt[]} attempts the newest first
 */
function deliveryParts(details, attempts) {
    return [
        t.div(
            { className: "integrations-attempt-summary m-b-sm" },
            stateLabel(deliveryStates[details.status]),
            copyableId(details.id),
            t.a({ href: eventPath(details.event) }, "Event"),
            details.contact && details.type !== "contact.deleted"
                ? t.a({ href: contactPath(details.contact) }, details.contactName || "Open contact")
                : null,
        ),
        timeline(details, attempts),
        changesBlock(details.body),
        requestBlock(details, attempts[0]),
        t.h3({ className: "m-b-10" }, "Attempts"),
        attempts.length ? null : t.p({ className: "txt-hint" }, "No attempts yet."),
        ...attempts.map((shown) => t.div({ rid: shown.id }, attemptDetails(shown, details.body))),
    ];
}

/**
 * The attempts that were made, the next one, and the rest of the schedule.
 *
 * @param {DeliveryDetails} details
 * @param {Attempt[]} attempts the newest first
 */
function timeline({ upcoming, attempts: made }, attempts) {
    const [next, ...rest] = upcoming;
    return t.section(
        { className: "integrations-block" },
        t.h3(null, "Timeline"),
        t.ol(
            { className: "integrations-timeline" },
            attempts.toReversed().map(({ number, started, status, error, durationMs }) => {
                const succeeded = status && status >= 200 && status < 300;
                return t.li(
                    { className: succeeded ? "good" : "bad" },
                    t.strong(null, `Attempt ${number}`), " ", timeAgo(started), isBlocked(error) ? ": not sent" : `: ${status || "no response"} after ${duration(durationMs)}`,
                );
            }),
            next ? t.li({ className: "waits" }, t.strong(null, `Attempt ${made + 1}`), " ", timeAgo(next), " (next)") : null,
            rest.length ? t.li(
                { className: "plain" },
                t.details(
                    { className: "integrations-details" },
                    t.summary(null, `Then ${plural(rest.length, "more attempt")} if it fails`),
                    t.ol(null, rest.map((at, index) => t.li(null, `Attempt ${made + 2 + index}: ${parseTime(at).toLocaleString()}`))),
                ),
            ) : null,
        ),
    );
}

/**
 * The request as it was sent last, or will be for the first time.
 *
 * @param {DeliveryDetails} details
 * @param {Attempt} [last]
 */
function requestBlock({ url, body }, last) {
    const headers = last?.requestHeaders || null;
    const title = !last ? "Request as it will be sent" : isBlocked(last.error) ? "Request that was not sent" : "Request as sent";
    return t.section(
        { className: "integrations-block" },
        t.div(
            { className: "integrations-copy-head" },
            t.h3(null, title, t.span({ className: "txt-hint" }, " (formatted for reading)")),
            copyTextButton("as curl", asCurl(url, headers, body), false, "Copy as curl"),
        ),
        t.p({ className: "integrations-url m-b-10" }, `POST ${url}`),
        headersBlock("Request headers", headers),
        isErased(body) ? t.p({ className: "txt-hint" }, erasedText) : null,
        t.pre({ tabIndex: 0, role: "region", ariaLabel: "Request body" }, t.code(null, layOut(body))),
    );
}

/**
 * A line for a shell that sends the same bytes. What was redacted of the headers stays so.
 *
 * @param {string} url
 * @param {Record<string, string> | null} headers
 * @param {string} body
 */
function asCurl(url, headers, body) {
    /** @param {string} text */
    const quoted = (text) => `'${text.replaceAll("'", `'\\''`)}'`;
    const lines = Object.entries(headers || { "Content-Type": "application/json" }).sort().map(([name, value]) => `-H ${quoted(`${name}: ${value}`)}`);
    return ["curl -X POST " + quoted(url), ...lines, `--data-binary ${quoted(body)}`].join(" \\\n  ");
}
