// The first steps of an empty installation: a tenant, a key, a webhook to inspect, a contact. Those of a member, who has a tenant, end
// with a test event. Steps that are done fold.

function startPage() {
    if (!mayChange()) {
        return overviewPage();
    }
    return integrationsPage({
        title: "First steps",
        firstSteps: false,
        content: () => startSteps({}),
    });
}

/**
 * The state of the steps, and the input.
 *
 * @typedef {object} StartData
 * @property {string} tenantName
 * @property {string} keyName
 * @property {Tenant | null} tenant
 * @property {boolean} hasKey
 * @property {Webhook | null} webhook one whose events are shown here
 * @property {string} arrived what caused the first event; "" until it has arrived
 * @property {boolean} busy
 * @property {boolean} again another key is wanted
 */

/**
 * The steps. Existing records count as done.
 *
 * @param {{ onfinish?: () => unknown }} options
 */
function startSteps({ onfinish }) {
    /** @type {StartData} */
    const data = store({ tenantName: "", keyName: "First key", tenant: null, hasKey: false, webhook: null, arrived: "", busy: false, again: false });
    /** @type {ReturnType<typeof poll>} */
    let polling;

    async function look() {
        const [tenant] = (await listRecords("tenants", { perPage: 1, sort: "created", fields: "id,name", skipTotal: true })).items;
        keep(data, "tenant", tenant || null);
        if (!tenant) {
            return;
        }
        const condition = app.pb.filter("tenant = {:tenant}", { tenant: tenant.id });
        const [keys, webhooks] = await Promise.all([
            listRecords("api_keys", { perPage: 1, conditions: [condition, "revoked = ''"], fields: "id", skipTotal: true }),
            listRecords("webhooks", { perPage: 1, conditions: [condition, `url = '${inspectURL}'`], fields: "id,url", skipTotal: true }),
        ]);
        data.hasKey = keys.items.length > 0;
        keep(data, "webhook", webhooks.items[0] || null);
        data.arrived = await firstCause(tenant.id, data.webhook);
    }

    /** @param {() => Promise<unknown>} action */
    async function run(action) {
        data.busy = true;
        await attempt(action);
        await attempt(look);
        data.busy = false;
    }

    const createTenant = () => run(async () => {
        await app.pb.collection("tenants").create({ name: data.tenantName, apiEnabled: true });
        await loadTenants();
    });
    const createKey = () => run(async () => {
        await app.pb.collection("api_keys").create({ tenant: data.tenant?.id, name: data.keyName });
        data.again = false;
    });
    const createWebhook = () => run(() => app.pb.collection("webhooks").create({ tenant: data.tenant?.id, name: "First look", url: inspectURL }));
    const createContact = () => run(() => app.pb.collection("contacts").create({ ...sampleContact, phone: "+442079460001", tenant: data.tenant?.id }));
    const sendTestEvent = () => run(() => callIntegrations("POST", `/webhooks/${/** @type {Webhook} */ (data.webhook).id}/ping`));

    return t.div(
        {
            className: "integrations-start",
            onmount: () => (polling = poll(() => look().catch(() => {}), 2)), // the page says what is wrong
            onunmount: () => polling.stop(),
        },
        t.h2(null, () => (data.webhook && data.arrived ? "Your first event has arrived" : `${member() ? "Three" : "Four"} steps to your first event`)),
        t.ol(
            null,
            forSuperusers(startStep({
                title: "A tenant",
                text: "A customer of your CRM. Its contacts, keys and webhooks are separate from those of other tenants.",
                done: () => data.tenant !== null,
                outcome: () => data.tenant?.name,
                todo: () => startForm(data, "Name", "tenantName", "Create tenant", createTenant),
                open: () => true,
            })),
            startStep({
                title: "An API key",
                text: "Lets a program read and write contacts. It is shown once.",
                done: () => data.hasKey && !data.again,
                outcome: () => t.span(
                    null,
                    "A key exists. ",
                    t.button({ type: "button", className: "link-primary", hidden: () => data.arrived !== "", onclick: () => (data.again = true) }, "If you do not have it, create another."),
                ),
                todo: () => startForm(data, "Name", "keyName", "Create key", createKey),
                open: () => data.tenant !== null,
            }),
            startStep({
                title: "A webhook to inspect",
                text: "A webhook sends every change to a contact to a receiver. This one sends to this page.",
                done: () => data.webhook !== null,
                outcome: () => "Shows its events on this page.",
                todo: () => startButton(data, "Inspect events", createWebhook),
                open: () => data.tenant !== null && data.hasKey,
            }),
            startStep({
                title: member() ? "The first event" : "The first contact",
                text: `${member() ? "Send a test event" : "Create a contact here"}, or paste the command from the key's window into a terminal.`,
                done: () => data.arrived !== "",
                outcome: () => data.arrived,
                todo: () => t.div(
                    null,
                    t.p({ className: "integrations-waiting" }, t.span({ className: "loader sm", ariaHidden: true }), ` Waiting for the first ${member() ? "event" : "contact"}…`),
                    member() ? startButton(data, "Send a test event", sendTestEvent) : startButton(data, "Create a contact here", createContact),
                ),
                open: () => data.webhook !== null,
            }),
        ),
        () => (data.webhook && data.arrived ? firstEvent(data.webhook.id) : null),
        () => (data.arrived ? startOutlook(onfinish) : null),
    );
}

/**
 * The subject of the first event, as text: its contact, or for a member, who cannot list contacts, the event itself.
 *
 * @param {string} tenant
 * @param {Webhook | null} webhook
 */
async function firstCause(tenant, webhook) {
    if (member()) {
        const [first] = webhook ? await callIntegrations("GET", `/webhooks/${webhook.id}/inspected?after=`) : [];
        return first ? eventKinds[first.type] || first.type : "";
    }
    const [contact] = (await listRecords("contacts", {
        perPage: 1,
        conditions: [app.pb.filter("tenant = {:tenant}", { tenant })],
        sort: "created",
        fields: "id,name,email",
        skipTotal: true,
    })).items;
    return contact ? contact.name || contact.email || contact.id : "";
}

/**
 * @param {object} step
 * @param {string} step.title
 * @param {string} step.text
 * @param {() => boolean} step.done
 * @param {() => Child} step.outcome
 * @param {() => Part} step.todo
 * @param {() => boolean} step.open
 */
function startStep({ title, text, done, outcome, todo, open }) {
    return t.li(
        { className: () => `integrations-step ${done() ? "done" : ""} ${open() ? "" : "closed"}` },
        t.span({ className: "integrations-step-number", ariaHidden: true }, () => (done() ? t.i({ className: "ri-check-line" }) : null)),
        t.div(
            { className: "integrations-step-body", "html-aria-live": "polite" },
            t.h3(null, title, () => (done() ? t.span({ className: "integrations-offscreen" }, " (done)") : null)),
            () => {
                if (done()) {
                    return t.p({ className: "integrations-outcome" }, outcome());
                }
                return t.div(null, t.p({ className: "txt-hint" }, text), open() ? todo() : null);
            },
        ),
    );
}

/**
 * @param {StartData} data
 * @param {string} label
 * @param {"tenantName" | "keyName"} name
 * @param {string} action what the button says
 * @param {() => unknown} run
 */
function startForm(data, label, name, action, run) {
    return t.form(
        {
            className: "integrations-inline-form",
            autocomplete: "off",
            onsubmit: (event) => {
                event.preventDefault();
                if (!data.busy) {
                    run();
                }
            },
        },
        textField(label, data, name, { required: true, maxLength: 255 }),
        t.button(
            { type: "submit", className: () => `btn expanded ${data.busy ? "loading" : ""}`, disabled: () => data.busy },
            t.span({ className: "txt" }, action),
        ),
    );
}

/**
 * @param {StartData} data
 * @param {string} action what the button says
 * @param {() => unknown} run
 */
function startButton(data, action, run) {
    return t.button(
        { type: "button", className: () => `btn secondary ${data.busy ? "loading" : ""}`, disabled: () => data.busy, onclick: run },
        t.span({ className: "txt" }, action),
    );
}

/**
 * The verified event, in view as soon as it is there.
 *
 * @param {string} webhookId
 */
function firstEvent(webhookId) {
    return t.section(
        { className: "integrations-first-event", ariaLabel: "Received request", onmount: (element) => element.scrollIntoView({ block: "nearest" }) },
        t.h3(null, "Received request"),
        inspectedRequests(webhookId),
        pingButton(webhookId),
    );
}

/** @param {() => unknown} [onfinish] */
function startOutlook(onfinish) {
    /** @type {[string, string, string, string][]} */
    const links = [
        ["ri-webhook-line", "Webhooks", "Receive an event when a contact changes.", integrationsPath + "/webhooks"],
        ["ri-login-box-line", "Inbound webhooks", "Let forms and other systems send contacts.", integrationsPath + "/inbound"],
        ["ri-book-open-line", "API reference", "All endpoints, with examples.", siteAddress() + "/docs/reference"],
    ];
    return t.div(
        { className: "integrations-outlook" },
        links.map(([icon, title, text, href]) =>
            t.a(
                { href, target: href.startsWith("#") ? undefined : "_blank", onclick: onfinish },
                t.i({ className: icon, ariaHidden: true }),
                t.strong(null, title),
                t.span({ className: "txt-hint" }, text),
            )),
    );
}
