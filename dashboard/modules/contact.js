// A contact: its fields, its history and what became of its events.

/** What has made a change, by the type of its source. */
const sourceLabels = {
    key: "API key",
    inbound: "Inbound webhook",
    import: "Import",
    superuser: "Dashboard",
    member: "Portal",
    command: "Command line",
    mcp: "Language model",
    extension: "Extension",
    system: "Contactbase",
};

/** The fields that every contact has. */
const contactFields = { name: "Name", email: "Email", phone: "Phone", company: "Company", externalId: "External ID" };

/**
 * The keyboards of phones, by the field. Others have the one for texts.
 *
 * @type {Record<string, string>}
 */
const keyboards = { email: "email", phone: "tel" };

/** The properties of a contact that only the server sets. */
const fixedFields = ["id", "createdAt", "updatedAt"];

/** @typedef {{ rows: ContactEvent[] | null, contact: Contact | null, tag: string, event: string }} ContactData */

/** @param {string} id */
function contactPath(id) {
    return `${integrationsPath}/contacts/${id}`;
}

/** @param {Route<"id">} route */
function contactPage(route) {
    const { id } = route.params;
    /** @type {ContactData} */
    const data = store({ rows: null, contact: null, tag: "", ...fromAddress(route, { event: "" }) });

    return integrationsPage({
        title: () => data.contact?.name || data.contact?.email || "Contact",
        trail: [["Contacts", `${integrationsPath}/contacts`]],
        gone: { title: "This contact does not exist", text: "It was deleted, or you may not see it. What is stored about a deleted contact is erased once its deliveries have ended." },
        actions: forEditors(
            t.button(
                { type: "button", className: "btn transparent danger", ariaLabel: "Delete contact", disabled: () => !data.contact, onclick: () => deleteContact(data) },
                t.i({ className: "ri-delete-bin-line", ariaHidden: true }),
                t.span({ className: "txt" }, "Delete"),
            ),
            t.button(
                { type: "button", className: "btn expanded", ariaLabel: "Edit contact", disabled: () => !data.contact, onclick: () => editContact(data) },
                t.i({ className: "ri-pencil-line", ariaHidden: true }),
                t.span({ className: "txt" }, "Edit"),
            ),
        ),
        load: () => loadContact(id, data),
        opened: () => openedRow(data, "event", showEvent),
        content: () => [
            () => (data.contact ? contactBlock(data.contact) : t.div({ className: "skeleton-loader", role: "status", ariaLabel: "Loading" })),
            t.h2({ className: "integrations-subtitle" }, "History"),
            table({
                label: "History of this contact",
                data,
                empty: () => emptyState("ri-history-line", "No events", "Events are kept for the retention period, 30 days by default."),
                columns: [
                    { name: "Event", cell: ({ type }) => t.strong({ className: "txt-nowrap" }, eventKinds[type] || type) },
                    { name: "Source", cell: ({ source }) => contactSource(source) },
                    { name: "When", cell: ({ created }) => timeAgo(created) },
                    { name: "Deliveries", className: "integrations-grows", cell: (event) => contactDeliveries(event) },
                    { className: "integrations-actions", cell: (event) => actionButton("Details", "ri-search-eye-line", () => openRow(data, "event", "evt_" + event.id, showEvent), { ariaLabel: `Details of ${eventKinds[event.type] || event.type}` }) },
                ],
            }),
        ],
    });
}

/**
 * @param {string} id which may be that of a contact that was merged into this one
 * @param {ContactData} data
 */
async function loadContact(id, data) {
    const { answer, headers } = await withHeaders("GET", /** @type {const} */ (`/contacts/${id}?`));
    keep(data, "contact", answer.data);
    data.tag = headers.get("ETag") || "";
    const { events } = await callIntegrations("GET", `/contacts/${answer.data.id}/events`);
    keep(data, "rows", events);
    const [path = ""] = location.hash.split("?");
    if (path.endsWith(id)) {
        toAddress({ event: data.event });
    }
}

/** @param {Contact} contact */
function contactBlock(contact) {
    /** @type {[string, Child][]} */
    const fields = [
        ...Object.entries(contactFields).map(([name, label]) => fieldLine(label, contact[name])),
        ...ownFields(contact).map((name) => fieldLine(name, contact[name])),
        ["ID", copyableId(contact.id)],
        ["Created", timeAgo(String(contact.createdAt))],
        ["Updated", timeAgo(String(contact.updatedAt))],
    ];
    return t.section(
        { className: "integrations-block", ariaLabel: "Fields" },
        t.dl({ className: "integrations-headers integrations-contact-fields" }, fields.map(([label, value]) => [t.dt(null, label), t.dd({ dir: "auto" }, value)])),
        forSuperusers(t.p(null, t.a({ href: `#/collections?collection=contacts&record=${contact.id}` }, "Open the record"))),
    );
}

/**
 * @param {string} label
 * @param {unknown} value
 * @returns {[string, Child]}
 */
function fieldLine(label, value) {
    if (value === null || value === "" || value === undefined) {
        return [label, t.span({ className: "txt-hint" }, "–")];
    }
    return [label, typeof value === "boolean" ? (value ? "Yes" : "No") : typeof value === "object" ? JSON.stringify(value) : String(value)];
}

/**
 * The names of the fields that an admin has added.
 *
 * @param {Contact} contact
 */
function ownFields(contact) {
    return Object.keys(contact).filter((name) => !(name in contactFields) && !fixedFields.includes(name));
}

/** @param {ContactEvent["source"]} source */
function contactSource(source) {
    if (!source) {
        return t.span({ className: "txt-hint", title: "Events from before version 1.1 do not say it" }, "–");
    }
    const { type, id = "", name, person, merge } = source;
    /** @type {Partial<Record<typeof type, string>>} */
    const pages = { key: `/keys/${id}`, mcp: `/keys/${id}`, inbound: `/inbound/${id}/requests`, ...(mayChange() && { import: `/imports/${id}` }) };
    const page = id && pages[type];
    const label = name ? middleCut(name) : id ? t.code({ className: "integrations-id" }, id) : null;
    return t.div(
        { className: "integrations-named" },
        t.span(null, sourceLabels[type] || type, merge ? ", merge" : ""),
        label && page ? t.a({ href: integrationsPath + page }, label) : label,
        person ? middleCut(person, "txt-hint") : null,
    );
}

/** @param {ContactEvent} event */
function contactDeliveries({ id, counts, deliveries }) {
    const total = counts.pending + counts.delivered + counts.failed;
    if (!total) {
        return t.span({ className: "txt-hint" }, "Sent to no webhook");
    }
    return t.details(
        { className: "integrations-contact-deliveries", open: total === 1 },
        t.summary(null, deliveryCounts(counts)),
        t.ul(
            null,
            deliveries.slice(0, maxListedDeliveries).map((delivery) => t.li(
                { rid: delivery.id },
                stateLabel(deliveryStates[delivery.status]),
                t.a({ href: webhookPath(delivery.webhook) }, middleCut(delivery.webhookName || receiverLabel({ url: delivery.webhookURL }))),
                iconButton("Details of the delivery", "ri-search-eye-line", () => showDelivery(delivery.id)),
            )),
            total > Math.min(deliveries.length, maxListedDeliveries)
                ? t.li(null, actionButton(`Show all ${count(total)}`, "ri-list-check", () => showEvent("evt_" + id)))
                : null,
        ),
    );
}

/** How many deliveries of an event the history lists; the window of the event has all. */
const maxListedDeliveries = 10;

/**
 * Asks for new values, and saves those that differ. It notices if somebody has changed the contact meanwhile.
 *
 * @param {ContactData} data
 */
function editContact({ contact, tag }) {
    if (!contact) {
        return;
    }
    const own = ownFields(contact);
    /** @type {Record<string, string>} */
    const before = Object.fromEntries([...Object.keys(contactFields), ...own].map((name) => [name, editableText(contact[name])]));
    const form = store({ ...before });
    openForm({
        title: "Edit contact",
        submit: "Save",
        content: () => [
            Object.entries(contactFields).map(([name, label]) => textField(label, form, name, { dir: "auto", inputMode: keyboards[name] || "text" })),
            own.map((name) => (typeof contact[name] === "boolean"
                ? selectField(name, form, name, () => [["true", "Yes"], ["false", "No"]])
                : textField(name, form, name, { dir: "auto", ...(typeof contact[name] === "object" && contact[name] && { help: "JSON" }) }))),
        ],
        run: async () => {
            const changed = Object.keys(before).filter((name) => form[name] !== before[name]);
            if (changed.length) {
                await changeContact("PATCH", contact.id, tag, Object.fromEntries(changed.map((name) => [name, fieldValue(contact[name], form[name] || "")])));
                app.toasts.success("Saved.");
            }
            refreshPage();
        },
    });
}

/** @param {ContactData} data */
function deleteContact({ contact, tag }) {
    if (!contact) {
        return;
    }
    confirmDialog({
        title: "Delete the contact?",
        text: `${contact.name || contact.email} is deleted for good. The webhooks receive contact.deleted. What is stored about the contact is erased once its deliveries have ended.`,
        action: "Delete contact",
        run: async () => {
            await changeContact("DELETE", contact.id, tag);
            leadTo(`${integrationsPath}/contacts`);
            app.toasts.success("The contact was deleted.");
        },
    });
}

/**
 * @param {"PATCH" | "DELETE"} method
 * @param {string} id
 * @param {string} tag of the contact as it was shown
 * @param {object} [body]
 */
async function changeContact(method, id, tag, body) {
    try {
        await sendIntegrations(method, /** @type {const} */ (`/contacts/${id}?`), { body, headers: { "If-Match": tag } });
    } catch (error) {
        if (/** @type {Failure} */ (error).status !== 412) {
            throw error;
        }
        refreshPage();
        throw new Error("The contact has changed since you opened this window. Nothing was saved. Close the window to see the current values, then try again.", { cause: error });
    }
}

/**
 * A value of a field as a form shows it.
 *
 * @param {unknown} value
 */
function editableText(value) {
    return value === null || value === undefined ? "" : typeof value === "object" ? JSON.stringify(value) : String(value);
}

/**
 * The value of a field that a form shows as this text, of the type that it had before.
 *
 * @param {unknown} before
 * @param {string} text
 */
function fieldValue(before, text) {
    if (text === "") {
        return null;
    }
    if (typeof before === "string" || before === null) {
        return text;
    }
    try {
        return JSON.parse(text);
    } catch {
        return text; // the server says what is wrong
    }
}
