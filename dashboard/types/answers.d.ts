// What the routes below /api/integrations answer.

/** The data of each answer, by the path that was called. */
interface Answers {
    "/deliveries": Delivery[];
    "/inbound/presets": Preset[];
    "/inbound/preview": Outcome;
    [replay: `/inbound/requests/${string}/replay`]: Outcome;
    [redeliver: `/deliveries/${string}/redeliver`]: unknown;
    [health: `/webhooks/health?ids=${string}`]: Health[]; // one for each id, in their order
    [ping: `/webhooks/${string}/ping`]: AttemptDetails;
    [recover: `/webhooks/${string}/recover`]: { count: number };
    [rotate: `/${"keys" | "webhooks" | "inbound"}/${string}/rotate`]: unknown; // a secret, which shownOnce.js takes out
    [counts: `/tenants/counts?ids=${string}`]: Counts[]; // one for each id, in their order
}

interface Answer<Path extends keyof Answers> {
    data: Answers[Path];
    next: string | null; // the cursor of the next page, of lists
}

/** What has become of a webhook's deliveries. */
interface Health {
    delivered: number;
    failed: number;
    pending: number;
    oldestPending: string | null;
}

interface Counts {
    contacts: number;
    keys: number;
    webhooks: number;
    inbound: number;
    storedBytes: number;
    storedLimit: number;
}

interface Delivery {
    id: string;
    event: string;
    type: EventKind;
    contact: string;
    status: DeliveryStatus;
    attempts: number;
    nextAttempt: string | null;
    lastStatus: number | null;
    lastError: string | null;
    created: string;
}

interface Preset {
    name: string;
    title: string;
    about: string;
    docs: string;
}

interface Fault {
    message: string;
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
