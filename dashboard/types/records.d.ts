// The records of our collections, as far as the pages show them. Times are text, "" where there is none.

interface Records {
    tenants: Tenant;
    api_keys: ApiKey;
    contacts: Contact;
    events: OfTenant & { id: string };
    webhooks: Webhook;
    inbound_webhooks: InboundWebhook;
    tenant_members: Member;
}

interface Tenant {
    id: string;
    name: string;
    apiEnabled: boolean;
    rateLimit: number; // 0 for the default
    country: string; // two letters, or ""
}

/** Who signs in to the portal, or a portal link's record. */
interface Member {
    id: string;
    collectionName: "tenant_members";
    tenant: string;
    role: "admin" | "viewer";
    name: string;
    email: string;
    notify: "immediately" | "daily" | "never" | "";
    link: boolean;
    accepted: boolean; // whether they have ever chosen a password
    invitedUntil: string; // when the invitation ends
    created: string;
    expand?: { tenant?: Tenant };
}

interface OfTenant {
    tenant: string;
    expand?: { tenant?: Tenant };
}

type Permission = "contacts:read" | "contacts:write" | "contacts:delete" | "portal:link" | "portal:link-admin";

interface ApiKey extends OfTenant {
    id: string;
    name: string;
    prefix: string;
    permissions: Permission[]; // none for reading and writing contacts
    expires: string;
    revoked: string;
    lastUsed: string;
}

interface Contact {
    id: string;
    name: string | null;
    email: string | null;
    [field: string]: unknown; // what else it has
}

type EventKind =
    | "contact.created"
    | "contact.updated"
    | "contact.deleted"
    | "webhook.ping"
    | "webhook.failing"
    | "webhook.recovered"
    | "webhook.disabled"
    | "key.expiring";

interface Webhook extends OfTenant {
    id: string;
    name: string;
    url: string;
    events: EventKind[]; // none for all; also types of extensions
    undeclaredEvents: EventKind[]; // those of them that no extension declares any more
    headerNames: string[]; // of its own headers, whose values are not shown
    secretPrefix: string; // "" for a short one
    created: string;
    disabled: boolean;
    disabledReason: string;
    filter: string;
    maxPerSecond: number; // 0 for any number
}

interface Mapping {
    preset?: string;
    fields?: object;
}

interface InboundWebhook extends OfTenant {
    id: string;
    name: string;
    access: "upsert" | "full";
    prefix: string;
    mapping: Mapping | null;
    verifyScheme: "" | "standard" | "x-signature" | "shopify" | "woocommerce" | "typeform" | "tally" | "calendly" | "stripe" | "github" | "hubspot"
        | "calcom" | "linear" | "attio" | "notion" | "framer" | "mautic" | "frappe" | "chatwoot" | "zendesk" | "gitlab" | "zoom" | "intercom" | "x" | "linkedin"
        | "strava" | "hmac" | "token";
    verifyHeader: string;
    verifyFormat: "" | "hex" | "base64";
    verifyHash: "" | "sha256" | "sha1" | "sha512";
    verifyTimestamp: string;
    rateLimit: number; // requests per minute, 0 for the default
    disabled: boolean;
    lastUsed: string;
}

interface InboundRequest {
    id: string;
    contentType: string;
    status: number;
    result: Partial<Outcome> & { error?: Fault, handshake?: string } | null;
    erased: boolean;
    created: string;
}

type DeliveryStatus = "pending" | "delivered" | "failed";

/** What a delivery sent once, and what came back. That of a test event is not stored. */
interface AttemptDetails {
    number: number;
    started: string;
    durationMs: number;
    status: number | null; // 0 or null where there was no answer
    error: string | null;
    requestHeaders: Record<string, string> | null;
    responseHeaders: Record<string, string> | null;
    responseBody: string;
}

interface Attempt extends AttemptDetails {
    id: string;
}
