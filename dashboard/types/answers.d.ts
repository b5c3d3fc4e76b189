// What the routes below /api/integrations answer.

/** The data of each answer, by the path that was called. */
interface Answers {
    "/deliveries": Delivery[];
    "/webhooks": WebhookLine[];
    "/overview": Overview;
    "/events": EventLine[];
    "/event-types": OwnEventType[];
    "/contacts": Contact[];
    "/contacts/count": { count: number; more?: boolean }; // more: count is only how far the server has counted
    [contact: `/contacts/${string}?`]: Contact;
    [events: `/contacts/${string}/events`]: { contact: Contact; events: ContactEvent[] };
    "/inbound/requests": RecordPage<InboundRequest> & { limited: number };
    [request: `/inbound/requests/${string}/details`]: InboundRequest & { body: string; stored: boolean }; // stored: false for a text about a body that was too large
    [replay: `/inbound/requests/${string}/replay`]: Outcome;
    "/audit": AuditEntry[];
    [details: `/deliveries/${string}`]: DeliveryDetails;
    [calls: `/keys/${string}/activity`]: KeyActivity;
    [charts: `/webhooks/${string}/activity`]: WebhookActivity;
    "/imports": Import[];
    "/imports?": Import; // a new one
    "/contacts/fields": string[];
    "/contacts/filters": { contacts: number; pauseSeconds: number; filters: { field: string; index: string }[] }; // index is "" for none
    [one: `/imports/${string}`]: Import;
    "/inbound/presets": Preset[];
    "/inbound/preview": Outcome;
    "/webhooks/preview-filter": { matches: boolean | null; error?: string; unknown?: string[]; recent: { matched: number; rejected: number } };
    [event: `/events/${string}`]: EventDetails;
    [redeliver: `/deliveries/${string}/redeliver`]: never; // which nobody reads
    [health: `/webhooks/health?ids=${string}`]: Health[]; // one for each id, in their order
    [ping: `/webhooks/${string}/ping`]: AttemptDetails;
    [inspected: `/webhooks/${string}/inspected?after=${string}`]: Inspected[]; // the oldest first
    [recover: `/webhooks/${string}/recover`]: Missed;
    [rotate: `/${"keys" | "webhooks" | "inbound"}/${string}/rotate`]: unknown; // a secret, which shownOnce.js takes out
    "/replica": Replica | null; // null where the server keeps none
    "/duplicates": DuplicateGroup[];
    [duplicates: `/tenants/${string}/duplicates`]: DuplicateGroup[];
    [merge: `/tenants/${string}/contacts/${string}/merge`]: Contact;
    [invitation: `/members/${string}/invitation`]: Invitation;
    [link: `/tenants/${string}/portal-link`]: { url: string; token: string; expires: string };
    [counts: `/tenants/counts?ids=${string}`]: Counts[]; // one for each id, in their order
}

/** Of paths below those that Answers has. */
interface AnswersBelow {
    [redeliver: `/events/${string}/redeliver`]: { count: number };
    [attempts: `/deliveries/${string}/attempts`]: Attempt[]; // the newest first, at most 50
}

/** An event type that an extension has declared. */
interface OwnEventType {
    type: string;
    sentence: string;
}

/** A page of a list that is counted. */
interface RecordPage<R> {
    items: R[];
    totalItems: number;
    totalPages: number;
}

interface Answer<Path extends keyof Answers> {
    data: Path extends keyof AnswersBelow ? AnswersBelow[Path] : Answers[Path];
    next: string | null; // the cursor of the next page, of lists
    nextBefore?: string; // of events and the audit log
    totals?: Record<HealthState, number>; // of webhooks, whatever their health
}

/** Of a member, to choose a password. Without a mail server it has the address to pass on. */
interface Invitation {
    sent: boolean;
    url?: string;
    expires: string;
}

/** Contacts that may be the same. */
interface DuplicateGroup {
    tenant?: string; // in the list of all tenants
    value: string; // that they share
    company: string; // "" for none
    count: number;
    contacts: Contact[]; // the oldest
}

type ActorKind = "superuser" | "member" | "link" | "key" | "command" | "system";

type AuditAction =
    | "created" | "updated" | "deleted" | "rotated" | "revoked" | "exported" | "imported" | "merged" | "undone" | "redelivered" | "recovered" | "link_created" | "signed_in";

/** Who did what. */
type AuditedKind = "tenants" | "api_keys" | "webhooks" | "inbound_webhooks" | "tenant_members" | "contacts" | "deliveries" | "events" | "_superusers";

interface AuditEntry {
    id: string;
    tenant: string; // "" for none
    actorKind: ActorKind;
    actor: string;
    actorName: string;
    action: AuditAction;
    collection: AuditedKind;
    record: string;
    recordName: string; // "" if it has none or is deleted
    fields: string[];
    changes: Record<string, { old: unknown; new: unknown }>; // of fields that are no secret
    count?: number; // of deliveries
    reason?: string; // why the program did it
    created: string;
}

type HealthState = "healthy" | "degraded" | "failing" | "disabled" | "idle";

/** A line of the list of webhooks. */
interface WebhookLine {
    id: string;
    tenant: string;
    name: string;
    url: string;
    health: HealthState;
    errorRate: number; // 0 to 1
    attempts: number; // of the last 24 hours
    pending: number; // at most 10,000
    failed: number; // at most 10,000
    lastSuccess: string | null;
    failingSince: string | null; // null if the last attempt succeeded
    lastError: string | null;
}

/** What has become of a webhook's deliveries. */
interface Health {
    delivered: number;
    failed: number;
    pending: number;
    oldestPending: string | null;
    state: HealthState;
    attempts: number; // of the last 24 hours
    failedAttempts: number; // of those
    failingSince: string | null; // null if the last attempt succeeded
    lastError: string | null;
}

/** What a recovery is about. */
interface Missed {
    count: number; // of failed and missed ones
    failed: number;
    missed: number;
    pending: number;
    pendingRetried?: number;
    types: Partial<Record<EventKind, number>>;
    oldest: string | null;
    newest: string | null;
}

interface OverviewStep {
    start: string;
    created: number;
    updated: number;
    deleted: number;
    delivered: number;
    retried: number;
    failed: number;
    calls: number;
    refused: number;
}

interface Problem {
    kind: "not_ready" | "webhook_disabled" | "webhook_failing" | "deliveries_failed" | "key_expires";
    id: string;
    name: string;
    tenant: { id: string, name: string } | null;
    detail: string;
    at: string | null;
    count: number;
    of: number;
}

/** A notice, with the numbers of its recipients by what became of their emails. */
interface Notice {
    id: string;
    kind: string;
    tenant: { id: string, name: string } | null;
    title: string;
    detail: string;
    created: string;
    lasts: boolean;
    emails: { sent: number, waiting: number, givenUp: number };
}

interface Overview {
    steps: OverviewStep[];
    contacts: number;
    webhooks: Record<HealthState, number>;
    pending: number; // at most 10,000
    oldestPending: string | null;
    problems: Problem[];
    counts: Partial<Record<Problem["kind"], number>>; // of all, also of those that are not listed
    more: boolean;
    notices: Notice[]; // the latest
    nats?: boolean; // whether webhooks may publish to NATS; for superusers
}

/** How long receivers took to answer; null without answers. */
interface Times {
    p50Ms: number | null;
    p95Ms: number | null;
}

interface AttemptStep extends Times {
    start: string;
    delivered: number;
    retried: number;
    failed: number;
}

interface WebhookActivity extends Times {
    steps: AttemptStep[];
}

interface KeyActivity {
    steps: { start: string, answered: number, refused: number, limited: number, failed: number }[];
    last: KeptCall[];
    slowest: KeptCall[];
    limit: { perMinute: number, burst: number };
}

/** A call that failed or was slow. */
interface KeptCall {
    requestId: string;
    method: string;
    path: string;
    status: number;
    code: string;
    parameters: string;
    durationMs: number;
    created: string;
}

/** The copy that the server keeps outside of its machine. */
interface Replica {
    state: "following" | "catching up" | "starting" | "active" | "fenced";
    mode: "async" | "sync";
    lagSeconds: number;
    drill: { at: string; rows: number; error: string } | null;
    faults: string[];
}

interface Counts {
    contacts: number;
    keys: number;
    webhooks: number;
    inbound: number;
    members: number; // without links
    storedBytes: number;
    storedLimit: number;
    state: "open" | "frozen" | "arriving";
}

interface Delivery {
    id: string;
    event: string;
    type: EventKind;
    contact: string;
    contactName: string; // "" if the contact has none, or is gone
    status: DeliveryStatus;
    attempts: number;
    nextAttempt: string | null;
    lastStatus: number | null;
    lastError: string | null;
    created: string;
    count: number; // how many in a row the line is about
    since: string; // when the oldest of them was made
    cursor: string; // of those that follow this one
}

/** An event of a contact, and its deliveries. */
interface ContactEvent {
    id: string;
    type: EventKind;
    contact: string;
    created: string;
    source?: EventSource;
    counts: Record<DeliveryStatus, number>;
    deliveries: (Pick<Delivery, "id" | "status" | "created"> & { webhook: string, webhookName: string, webhookURL: string })[];
}

/** An event, and how many of its deliveries are in which state. */
interface EventLine {
    id: string;
    type: EventKind;
    contact: string; // "" for none
    contactName?: string; // if it has a name or an address, and exists
    tenant?: string; // its id, if the list has the events of all tenants
    createdAt: string;
    deliveries: Record<DeliveryStatus, number>;
}

type Recipient = ContactEvent["deliveries"][number];

interface EventDetails extends EventLine {
    payload: object | null; // null if it was erased
    recipients: Recipient[]; // the first 500
}

/** What has made the change of an event. */
interface EventSource {
    type: "key" | "inbound" | "import" | "superuser" | "member" | "command" | "mcp" | "extension" | "system";
    id?: string; // of the key, the inbound webhook or the import
    merge?: true;
    name?: string; // of these
    person?: string; // for superusers and admins
}

interface DeliveryDetails extends Delivery {
    webhook: string;
    url: string;
    body: string;
    upcoming: string[]; // the attempts that are left
}

/** A request that a webhook was sent, as it arrived. */
interface Inspected {
    id: string;
    started: string;
    number: number;
    error: string | null;
    type: EventKind;
    headers: Record<string, string>;
    body: string;
}

type ImportStatus = "new" | "checking" | "checked" | "running" | "done" | "cancelled" | "dryRun" | "undoing" | "undone";

type FindingKind =
    | "invalid_email" | "invalid_phone" | "invalid_value" | "left_out" | "no_identity" | "shared_email" | "repeated_id" | "too_long" | "cells";

/** What an undo of an import has deleted and kept. */
interface UndoneImport {
    deleted: number;
    kept: number;
}

/** A sheet of contacts, and what becomes of it. */
interface Import {
    id: string;
    tenant: string;
    name: string;
    status: ImportStatus;
    encoding: string; // of a text, "" of a workbook
    encodings?: { encoding: string; samples: string[] }[]; // that the file may be in
    headings: number; // the number of their row
    above: string[]; // the text of the rows above
    columns: string[];
    remarks: { text: string; warning: boolean; column?: string; field?: string }[]; // about the file and its columns
    findings: { kind: FindingKind; field?: string; count: number; rows: number[] }[]; // of the last check
    undone?: UndoneImport; // by an undo
    mapping: string[];
    match: string;
    existing: string;
    new: string;
    country: string;
    strict: boolean;
    samples: string[][];
    total: number;
    position: number;
    counts: Record<"created" | "updated" | "unchanged" | "refused" | "skipped" | "repeated" | "warnings", number>;
    notes?: { row: number; text: string }[];
    updatedAt: string;
    refusals?: { row: number; reason: string; fields?: Record<string, { value: string; message: string }> }[];
    createdAt: string;
}

interface Preset {
    name: string;
    title: string;
    about: string;
    docs: string;
    scheme: InboundWebhook["verifyScheme"];
    sample: string;
    sampleType: string;
}

interface Fault {
    code?: string;
    message: string;
    fields?: Record<string, Fault>;
}

type OutcomeStatus = "created" | "updated" | "unchanged" | "deleted" | "ignored" | "failed";

/** What became of the items of a request: how many of each status, and each of them. */
interface Outcome extends Record<OutcomeStatus, number> {
    results: ItemOutcome[];
}

interface ItemOutcome {
    index: number;
    status: OutcomeStatus;
    id?: string;
    error?: Fault;
    warnings?: string[];
    contact?: Contact;
}

/** The version of the program, which the server writes before the modules. */
declare const programVersion: string;
