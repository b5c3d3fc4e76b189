// Labels for times, numbers and states.

/** Moves on now and then, so that "3 minutes ago" stays true. */
const clock = store({ now: Date.now() });
setInterval(() => (clock.now = Date.now()), 15_000);

/** @type {[Intl.RelativeTimeFormatUnit, number][]} */
const relativeUnits = [
    ["year", 31_557_600],
    ["month", 2_629_800],
    ["day", 86_400],
    ["hour", 3_600],
    ["minute", 60],
    ["second", 1],
];
const relativeFormat = new Intl.RelativeTimeFormat("en", { numeric: "auto" });

/**
 * PocketBase writes times with a space, our routes with a T.
 *
 * @param {string} text
 */
function parseTime(text) {
    return new Date(text.replace(" ", "T"));
}

/**
 * @param {string} text
 * @param {number} now in milliseconds
 */
function relativeTime(text, now) {
    const seconds = Math.round((parseTime(text).getTime() - now) / 1000);
    const [unit, size] = relativeUnits.find(([, least]) => Math.abs(seconds) >= least) || ["second", 1];
    return Math.abs(seconds) < 5 ? "now" : relativeFormat.format(Math.trunc(seconds / size), unit);
}

/**
 * A time as "3 minutes ago", the full one on hover.
 *
 * @param {string | null} text
 */
function timeAgo(text, missing = "never") {
    if (!text) {
        return t.span({ className: "txt-hint" }, missing);
    }
    return t.time({
        dateTime: text,
        title: parseTime(text).toLocaleString(),
        className: "txt-nowrap",
        textContent: () => relativeTime(text, Math.max(clock.now, Date.now())), // the clock only says when to look again
    });
}

/**
 * @param {number} number
 * @param {string} one
 */
function plural(number, one, many = one + "s") {
    return `${number.toLocaleString("en")} ${number === 1 ? one : many}`;
}

/** @param {number} value */
function count(value) {
    return value.toLocaleString("en");
}

const compactFormat = new Intl.NumberFormat("en", { notation: "compact" });

/**
 * A number in few characters, as "12K".
 *
 * @param {number} value
 */
function compactCount(value) {
    return value < 10_000 ? count(value) : compactFormat.format(value);
}

/**
 * A part of a total, as "12%".
 *
 * @param {number} part
 * @param {number} total
 */
function percentage(part, total) {
    const percent = part / total * 100;
    if (percent === 0 || percent === 100) {
        return `${percent}%`;
    }
    return percent < .1 ? "<0.1%" : `${Math.min(99.9, percent).toFixed(percent < 10 || percent > 99 ? 1 : 0)}%`;
}

/** The counts of webhooks and tenants end at this many. */
const countCap = 10_000;

/**
 * A number out of total; where counting has ended, there may be more.
 *
 * @param {number} number
 */
function cappedCount(number, total = number) {
    return number.toLocaleString("en") + (total >= countCap ? "+" : "");
}

/**
 * @param {number} number
 * @param {string} one
 */
function cappedPlural(number, one) {
    return number < countCap ? plural(number, one) : `${cappedCount(number)} ${one}s`;
}

/**
 * What a label says, and its looks.
 *
 * @typedef {{ text: string, style: string }} State
 */

/** @type {Record<EventKind, string>} */
const eventKinds = {
    "contact.created": "Contact created",
    "contact.updated": "Contact updated",
    "contact.deleted": "Contact deleted",
    "webhook.ping": "Test event",
    "webhook.failing": "Webhook failing",
    "webhook.recovered": "Webhook works again",
    "webhook.disabled": "Webhook disabled",
    "key.expiring": "API key expires soon",
};

/**
 * The event types of extensions, once they are loaded.
 *
 * @type {{ list: OwnEventType[] }}
 */
const ownEvents = store({ list: [] });

/** @type {Promise<unknown> | undefined} */
let ownEventsLoad;

/**
 * All event types, those of extensions with their sentence, which follow once they are loaded.
 *
 * @returns {[EventKind, string][]}
 */
function eventOptions() {
    ownEventsLoad ??= callIntegrations("GET", "/event-types").then((list) => (ownEvents.list = list), () => (ownEventsLoad = undefined));
    const own = ownEvents.list.map(({ type, sentence }) => [type, `${sentence} (${type})`]);
    return /** @type {[EventKind, string][]} */ ([...Object.entries(eventKinds), ...own]);
}

/** @type {Record<DeliveryStatus, State>} */
const deliveryStates = {
    pending: { text: "Pending", style: "warning" },
    delivered: { text: "Delivered", style: "success" },
    failed: { text: "Failed", style: "danger" },
};

/** @type {Record<Health["state"], State>} */
const healthStates = {
    healthy: { text: "Healthy", style: "success" },
    degraded: { text: "Degraded", style: "warning" },
    failing: { text: "Failing", style: "danger" },
    disabled: { text: "Disabled", style: "warning" },
    idle: { text: "No traffic", style: "" },
};

/** @type {Record<number, string>} */
const reasonPhrases = {
    200: "OK", 201: "Created", 202: "Accepted", 204: "No Content",
    301: "Moved Permanently", 302: "Found", 303: "See Other", 307: "Temporary Redirect", 308: "Permanent Redirect",
    400: "Bad Request", 401: "Unauthorized", 403: "Forbidden", 404: "Not Found", 405: "Method Not Allowed", 408: "Request Timeout",
    409: "Conflict", 410: "Gone", 413: "Content Too Large", 415: "Unsupported Media Type", 422: "Unprocessable Content", 429: "Too Many Requests",
    500: "Internal Server Error", 501: "Not Implemented", 502: "Bad Gateway", 503: "Service Unavailable", 504: "Gateway Timeout",
};

/**
 * A status of HTTP in words, as "502 Bad Gateway". A redirect fails a delivery.
 *
 * @param {number} status
 */
function statusText(status) {
    return `${status} ${reasonPhrases[status] || ""}`.trim() + (isRedirect(status) ? ", not followed" : "");
}

/** @param {number | null} status */
function isRedirect(status) {
    return Boolean(status && status >= 300 && status < 400);
}

/**
 * @param {ApiKey} key
 * @returns {State}
 */
function keyState(key) {
    if (key.revoked) {
        return { text: "Revoked", style: "danger" };
    }
    if (key.expires && parseTime(key.expires).getTime() <= Date.now()) {
        return { text: "Expired", style: "warning" };
    }
    return { text: "Active", style: "success" };
}

/** @param {State} state */
function stateLabel({ text, style }) {
    return t.span({ className: `label ${style}` }, text);
}

/**
 * What a datetime-local input says, in the browser's time zone, as the server wants it; "" for none.
 *
 * @param {string} value
 */
function inputTime(value) {
    return value ? new Date(value).toISOString() : "";
}

/** @param {number} milliseconds */
function duration(milliseconds) {
    return milliseconds < 1000 ? `${milliseconds} ms` : `${(milliseconds / 1000).toFixed(1)} s`;
}
