// Inbound webhooks: list, create, rotate, enable and disable. The Try panel and the requests have files of their own.

/** @type {[InboundWebhook["access"], string, string][]} */
const accessLevels = [
    ["upsert", "Create and update", "deletions are ignored"],
    ["full", "Everything", "including deletions"],
];

/** @type {[InboundWebhook["verifyScheme"], string][]} */
const verifySchemes = [
    ["", "Standard Webhooks or X-Signature"],
    ["standard", "Standard Webhooks or Svix"],
    ["x-signature", "X-Signature"],
    ["hmac", "Another header, with an HMAC"],
    ["token", "Another header, with the secret itself"],
    ["attio", "Attio"],
    ["calcom", "Cal.com"],
    ["calendly", "Calendly"],
    ["chatwoot", "Chatwoot"],
    ["framer", "Framer"],
    ["frappe", "Frappe or ERPNext"],
    ["github", "GitHub or Meta"],
    ["gitlab", "GitLab"],
    ["hubspot", "HubSpot"],
    ["intercom", "Intercom"],
    ["linear", "Linear"],
    ["linkedin", "LinkedIn"],
    ["mautic", "Mautic"],
    ["notion", "Notion"],
    ["shopify", "Shopify"],
    ["strava", "Strava (does not sign)"],
    ["stripe", "Stripe"],
    ["tally", "Tally"],
    ["typeform", "Typeform"],
    ["woocommerce", "WooCommerce"],
    ["x", "X"],
    ["zendesk", "Zendesk"],
    ["zoom", "Zoom"],
];

/**
 * The ready-made mappings, once they are loaded.
 *
 * @type {{ list: Preset[] }}
 */
const presets = store({ list: [] });

async function loadPresets() {
    if (!presets.list.length) {
        presets.list = await callIntegrations("GET", "/inbound/presets");
    }
}

/** @param {Route<never>} route */
function inboundPage(route) {
    /** @type {List<InboundWebhook & { muted: boolean }> & { search: string, tenant: string, sort: string }} */
    const data = store({
        rows: null, page: pageFromAddress(route), totalPages: 0, totalItems: 0,
        ...fromAddress(route, { search: "", tenant: "", sort: "-created" }),
    });

    async function load() {
        await loadPresets();
        listToAddress(data, "-created", { search: data.search, tenant: data.tenant });
        const rows = await loadPage(data, "inbound_webhooks", {
            sort: data.sort,
            expand: "tenant",
            fields: "id,tenant,name,access,prefix,mapping,verifyScheme,verifyHeader,verifyFormat,verifyHash,verifyTimestamp,rateLimit,disabled,lastUsed,expand.tenant.name",
            conditions: filterConditions(data, ["name", "prefix"]),
        });
        keep(data, "rows", rows.map((row) => ({ ...row, muted: row.disabled })));
    }

    return integrationsPage({
        title: "Inbound webhooks",
        intro: "An inbound webhook is an address that forms and other systems send contacts to. The address is the credential. It is shown once, when it is created.",
        actions: [newButton("New inbound webhook", () => editInbound(undefined, data.tenant))],
        load,
        content: () => [
            tenantFilters("Search by name or prefix", data),
            table({
                label: "Inbound webhooks",
                data,
                empty: () => (data.search || data.tenant
                    ? emptyState("ri-search-line", "Nothing found", "No inbound webhook matches.")
                    : emptyState(
                        "ri-login-box-line",
                        "No inbound webhooks yet",
                        "Create one, and paste its address into the form or system that sends contacts.",
                        newButton("New inbound webhook", () => editInbound()),
                    )),
                columns: [
                    { name: "Name", className: "integrations-grows", cell: inboundName, sort: "name" },
                    { name: "Tenant", className: "integrations-shrinks integrations-roomy", cell: tenantCell },
                    { name: "Access", className: "integrations-wide", cell: ({ access }) => accessLevels.find(([level]) => level === access)?.[1] },
                    { name: "Mapping", className: "integrations-wide", cell: ({ mapping }) => mappingLabel(mapping) },
                    { name: "Last used", cell: ({ lastUsed }) => timeAgo(lastUsed), sort: "lastUsed", descends: true },
                    { name: "Status", cell: ({ disabled }) => stateLabel(disabled ? { text: "Disabled", style: "danger" } : { text: "Enabled", style: "success" }), sort: "disabled" },
                    { className: "integrations-actions", cell: inboundActions },
                ],
            }),
            pager(data),
        ],
    });
}

/** @param {InboundWebhook} inbound */
function inboundName({ name, prefix }) {
    return t.div({ className: "integrations-named" }, t.strong(null, middleCut(name)), t.code(null, prefix + "…"));
}

/** @param {Mapping | null} mapping */
function mappingLabel(mapping) {
    if (!mapping || !Object.keys(mapping).length) {
        return "Common names";
    }
    return presets.list.find(({ name }) => name === mapping.preset)?.title || "Custom";
}

/** @param {InboundWebhook} inbound */
function inboundActions(inbound) {
    return t.div(
        { className: "integrations-buttons" },
        forEditors(actionButton("Try", "ri-flask-line", () => tryInbound(inbound), { ariaLabel: `Try ${inbound.name}` })),
        actionLink("Requests", "ri-list-check", `${integrationsPath}/inbound/${inbound.id}/requests`, `Requests to ${inbound.name}`),
        actionMenu(`More for ${inbound.name}`, [
            ["Edit", "ri-edit-line", () => editInbound(inbound)],
            ["Rotate address", "ri-refresh-line", () => rotateInbound(inbound)],
            inbound.disabled
                ? ["Enable", "ri-play-line", () => switchInbound(inbound, false)]
                : ["Disable", "ri-pause-line", () => switchInbound(inbound, true)],
            ["Delete", "ri-delete-bin-7-line", () => deleteInbound(inbound), "integrations-bad"],
        ]),
    );
}

/**
 * Opens the form; without an inbound webhook, for a new one.
 *
 * @param {InboundWebhook} [inbound]
 * @param {string} [tenant] that of a new one
 */
function editInbound(inbound, tenant) {
    /** @type {MappingValues & SigningValues & { tenant: string, name: string, access: InboundWebhook["access"], rateLimit: string }} */
    const data = store({
        tenant: inbound?.tenant || tenant || onlyTenant(),
        name: inbound?.name || "",
        access: inbound?.access || "upsert",
        preset: presetOf(inbound?.mapping),
        mapping: presetOf(inbound?.mapping) === customMapping ? JSON.stringify(inbound?.mapping, null, 2) : "",
        verifySecret: "",
        verifyScheme: inbound?.verifyScheme || "",
        verifyHeader: inbound?.verifyHeader || "",
        verifyFormat: inbound?.verifyFormat || "hex",
        verifyHash: inbound?.verifyHash || "sha256",
        verifyTimestamp: inbound?.verifyTimestamp || "",
        rateLimit: inbound?.rateLimit ? String(inbound.rateLimit) : "",
    });
    openForm({
        title: inbound ? "Edit the inbound webhook" : "New inbound webhook",
        submit: inbound ? "Save" : "Create",
        content: () => [
            inbound ? null : tenantField(data),
            textField("Name", data, "name", { required: true, maxLength: 255, autofocus: true, help: "The sender, for example: website form." }),
            radioField("Access", data, "access", accessLevels),
            mappingFields(data, (before) => {
                if (data.verifyScheme === schemeOf(before)) { // the scheme was not chosen by hand
                    data.verifyScheme = schemeOf(data.preset);
                }
            }),
            signingFields(data, !inbound),
            textField("Requests per minute", data, "rateLimit", { type: "number", min: "1", max: "1000000", step: "1", help: "Leave empty for 600. Half of them may come at once. More get 429, and are not stored." }),
        ],
        run: async () => {
            const values = {
                name: data.name.trim(),
                access: data.access,
                mapping: chosenMapping(data),
                verifySecret: data.verifySecret,
                verifyScheme: data.verifyScheme,
                verifyHeader: data.verifyHeader.trim(),
                verifyFormat: data.verifyFormat,
                verifyHash: data.verifyHash,
                verifyTimestamp: data.verifyTimestamp.trim(),
                rateLimit: Number(data.rateLimit),
            };
            if (inbound) {
                await app.pb.collection("inbound_webhooks").update(inbound.id, values, { requestKey: null });
            } else {
                await app.pb.collection("inbound_webhooks").create({ ...values, tenant: chosenTenant(data) }, { requestKey: null });
            }
            refreshPage();
        },
    });
}

/**
 * How the sender of a preset signs.
 *
 * @param {string} preset
 */
function schemeOf(preset) {
    return presets.list.find(({ name }) => name === preset)?.scheme || "";
}

/** @typedef {{ verifySecret: string } & Pick<InboundWebhook, "verifyScheme" | "verifyHeader" | "verifyFormat" | "verifyHash" | "verifyTimestamp">} SigningValues */

/**
 * The secret with which the sender signs, and how it does.
 *
 * @param {SigningValues} data
 * @param {boolean} isNew
 */
function signingFields(data, isNew) {
    return [t.div(
        { className: "integrations-pair" },
        textField("Sender's signing secret", data, "verifySecret", {
            type: "password",
            autocomplete: "new-password",
            help: isNew
                ? "Optional, at least 16 characters. If set, requests without a valid signature are rejected."
                : "At least 16 characters. Leave empty to keep the current secret. Enter - to remove it.",
        }),
        selectField("How does the sender sign?", data, "verifyScheme", () => verifySchemes, { help: "Applies only with a secret." }),
    ), () => headerFields(data)];
}

/**
 * Where a sender that has no scheme of its own has its signature or its token.
 *
 * @param {SigningValues} data
 */
function headerFields(data) {
    if (data.verifyScheme !== "hmac" && data.verifyScheme !== "token") {
        return null;
    }
    const header = textField("Header", data, "verifyHeader", { required: true, maxLength: 100, help: "For example X-Signature." });
    if (data.verifyScheme === "token") {
        return header;
    }
    return [
        t.div(
            { className: "integrations-pair" },
            header,
            textField("Header with the time", data, "verifyTimestamp", { maxLength: 100, help: "Only if the sender signs the time, a dot and the body." }),
        ),
        t.div(
            { className: "integrations-pair" },
            selectField("Format", data, "verifyFormat", () => [["hex", "Hex"], ["base64", "Base64"]]),
            selectField("Hash", data, "verifyHash", () => [["sha256", "SHA-256"], ["sha1", "SHA-1"], ["sha512", "SHA-512"]]),
        ),
    ];
}

/**
 * What is chosen as a mapping: the name of a preset, customMapping or ""; and what is written by hand.
 *
 * @typedef {{ preset: string, mapping: string }} MappingValues
 */

/** What the preset select says for a mapping that is written by hand. */
const customMapping = "custom";

/**
 * What the preset select says of a mapping.
 *
 * @param {Mapping | null | undefined} mapping
 */
function presetOf(mapping) {
    const isOwn = Object.keys(mapping || {}).some((name) => name !== "preset");
    return isOwn ? customMapping : mapping?.preset || "";
}

/**
 * Where the contact is in what the sender sends: the common names, a preset, or a custom mapping.
 *
 * @param {MappingValues} data
 * @param {(before: string) => unknown} [changed] called with what was chosen before
 */
function mappingFields(data, changed) {
    let before = data.preset;
    const onchange = () => {
        changed?.(before);
        before = data.preset;
    };
    return t.div(
        null,
        selectField("Sender", data, "preset", () => [
            ["", "Any sender that uses common field names"],
            ...presets.list.map(presetOption),
            [customMapping, "Another sender, with a custom mapping"],
        ], { onchange }),
        () => {
            const preset = presets.list.find(({ name }) => name === data.preset);
            if (preset) {
                return t.p(
                    { className: "field-help" },
                    preset.about + " ",
                    t.a({ href: preset.docs, target: "_blank", rel: "noopener noreferrer" }, `What ${preset.title} sends`),
                );
            }
            return data.preset === customMapping ? mappingField(data) : null;
        },
    );
}

/**
 * @param {Preset} preset
 * @returns {[string, string]}
 */
function presetOption({ name, title }) {
    return [name, title];
}

/** @param {MappingValues} data */
function mappingField(data) {
    const id = fieldId();
    return t.div(
        { className: "m-t-sm" },
        t.div(
            { className: "field" },
            t.label({ htmlFor: id }, "Mapping"),
            t.textarea({
                id,
                name: "mapping",
                className: "txt-code",
                rows: 8,
                spellcheck: false,
                placeholder: '{"fields": {"email": "person.mail"}}',
                value: () => data.mapping,
                oninput: (event) => (data.mapping = event.currentTarget.value),
            }),
        ),
        t.p({ className: "field-help" }, t.a({ href: siteAddress() + "/docs/inbound", target: "_blank", rel: "noopener" }, "How to write a mapping")),
    );
}

/**
 * Throws where the mapping that was typed is not JSON.
 *
 * @param {MappingValues} data
 * @returns {Mapping | null}
 */
function chosenMapping(data) {
    if (data.preset !== customMapping) {
        return data.preset ? { preset: data.preset } : null;
    }
    try {
        return JSON.parse(data.mapping || "null");
    } catch {
        throw fieldFault("mapping", "The mapping is not valid JSON.");
    }
}

/** @param {InboundWebhook} inbound */
function rotateInbound(inbound) {
    confirmDialog({
        title: "Rotate the address?",
        text: `Creates a new address and shows it once. The old address of ${inbound.name} stops working immediately.`,
        action: "Rotate address",
        style: "warning",
        run: () => callIntegrations("POST", `/inbound/${inbound.id}/rotate`),
    });
}

/**
 * @param {InboundWebhook} inbound
 * @param {boolean} disabled
 */
async function switchInbound(inbound, disabled) {
    await attempt(
        () => app.pb.collection("inbound_webhooks").update(inbound.id, { disabled }, { requestKey: null }),
        disabled ? "Disabled. Requests to its address are rejected." : "Enabled.",
    );
    refreshPage();
}

/** @param {InboundWebhook} inbound */
function deleteInbound(inbound) {
    confirmDialog({
        title: `Delete ${inbound.name}?`,
        text: "Its address stops working, and its stored requests are deleted. The contacts are kept.",
        action: "Delete",
        run: async () => {
            await app.pb.collection("inbound_webhooks").delete(inbound.id, { requestKey: null });
            app.toasts.success(`${inbound.name} was deleted.`);
            refreshPage();
        },
    });
}
