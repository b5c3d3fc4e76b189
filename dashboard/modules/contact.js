// A contact's events, and what became of them.

/** @param {string} id */
function contactPath(id) {
    return `${integrationsPath}/contacts/${id}`;
}

/** @param {Route<"id">} route */
function contactPage(route) {
    const path = /** @type {const} */ (`/contacts/${route.params.id}/events`);
    /** @type {{ rows: ContactEvent[] | null, contact: Contact | null, gone: boolean }} */
    const data = store({ rows: null, contact: null, gone: false });

    async function load() {
        try {
            const { contact, events } = await callIntegrations("GET", path);
            keep(data, "contact", contact);
            keep(data, "rows", events);
        } catch (error) {
            data.gone = isNotFound(error);
            if (!data.gone) {
                throw error;
            }
            data.rows = [];
        }
    }

    return integrationsPage({
        title: "Contact",
        load,
        content: () => [
            () => contactHead(data.contact, data.gone),
            table({
                label: "Events of this contact",
                data,
                empty: () => emptyState("ri-history-line", "No events", "Events are kept for the retention period, 30 days by default."),
                columns: [
                    { name: "Event", cell: ({ type }) => t.strong(null, eventKinds[type] || type) },
                    { name: "When", cell: ({ created }) => timeAgo(created) },
                    { name: "Deliveries", cell: contactDeliveries },
                ],
            }),
        ],
    });
}

/**
 * @param {Contact | null} contact
 * @param {boolean} gone
 */
function contactHead(contact, gone) {
    if (gone) {
        return t.div({ className: "alert warning" }, "This contact no longer exists. Its deliveries are redacted once they are delivered or have failed.");
    }
    return contact && t.p(
        null,
        t.strong(null, contact.name || contact.email),
        member() ? null : [" · ", t.a({ href: `#/collections?collection=contacts&record=${contact.id}` }, "Open the record")],
    );
}

/** @param {ContactEvent} event */
function contactDeliveries({ deliveries }) {
    if (!deliveries.length) {
        return t.span({ className: "txt-hint" }, "sent to no webhook");
    }
    return t.ul(
        { className: "integrations-contact-deliveries" },
        deliveries.map((delivery) => t.li(
            null,
            stateLabel(deliveryStates[delivery.status]),
            t.a({ href: webhookPath(delivery.webhook) }, middleCut(delivery.webhookName || receiverLabel({ url: delivery.webhookURL }))),
            actionButton("Details", "ri-search-eye-line", () => showDelivery(delivery.id)),
        )),
    );
}
