// Contacts in PocketBase's own screens: they stand first, and each leads to its events.

/** The id of the collection, which PocketBase makes of its type and its name. */
const contactsCollection = "pbc_1930317162";

/** Where this browser remembers that contacts were put first, so that who unpins them is left in peace. */
const contactsFirstKey = "contactbaseContactsFirst";

/** Pins the contacts, which stand collapsed below System otherwise, and opens them first: once for each browser. */
function putContactsFirst() {
    try {
        if (localStorage.getItem(contactsFirstKey)) {
            return;
        }
        localStorage.setItem(contactsFirstKey, "done");
        const pinned = JSON.parse(localStorage.getItem("pbPinnedCollections") || "[]");
        localStorage.setItem("pbPinnedCollections", JSON.stringify([...new Set([contactsCollection, ...pinned])]));
        if (!localStorage.getItem("pbLastActiveCollection")) {
            localStorage.setItem("pbLastActiveCollection", contactsCollection);
        }
    } catch {
        // a browser that stores nothing shows them below System
    }
}

/** Adds to the window of a contact's record where its events are. */
function linkContactsToEvents() {
    const open = app.modals.openRecordUpsert;
    app.modals.openRecordUpsert = (collection, record = null, settings = {}) => {
        const id = typeof record === "string" ? record : record?.id;
        if (collection?.id !== contactsCollection || !id) {
            return open.call(app.modals, collection, record, settings);
        }
        return open.call(app.modals, collection, record, {
            ...settings,
            onafteropen: (modal) => {
                settings.onafteropen?.(modal);
                modal.querySelector(".modal-header")?.append(contactEventsLink(id, () => app.modals.close(modal, true)));
            },
        });
    };
}

/**
 * @param {string} id
 * @param {() => unknown} onclick
 */
function contactEventsLink(id, onclick) {
    return t.a(
        { className: "btn sm secondary integrations-contact-events", href: contactPath(id), onclick },
        t.i({ className: "ri-history-line", ariaHidden: true }),
        t.span({ className: "txt" }, "Events and deliveries"),
    );
}

/** @param {string} id */
function contactPath(id) {
    return `${integrationsPath}/contacts/${id}`;
}

/** How many events of a contact are shown, the newest. */
const maxContactEvents = 50;

/** @typedef {ContactEvent & { deliveries: DeliveryRecord[] }} ContactEventRow */

/** @param {Route<"id">} route */
function contactPage(route) {
    const id = route.params.id;
    /** @type {{ rows: ContactEventRow[] | null, contact: Contact | null, gone: boolean }} */
    const data = store({ rows: null, contact: null, gone: false });

    async function load() {
        const [contacts, events] = await Promise.all([
            listRecords("contacts", { perPage: 1, fields: "id,name,email", skipTotal: true, conditions: [app.pb.filter("id = {:id}", { id })] }),
            listRecords("events", {
                perPage: maxContactEvents,
                sort: "-created,-id",
                fields: "id,type,contact,created",
                skipTotal: true,
                conditions: [app.pb.filter("contact = {:id}", { id })],
            }),
        ]);
        const deliveries = await deliveriesOfEvents(events.items.map((event) => event.id));
        keep(data, "contact", contacts.items[0] || null);
        data.gone = !contacts.items.length;
        keep(data, "rows", events.items.map((event) => ({ ...event, deliveries: deliveries.filter((delivery) => delivery.event === event.id) })));
    }

    return integrationsPage({
        title: "Contact",
        load,
        content: () => [
            () => contactHead(id, data.contact, data.gone),
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
 * @param {string[]} events
 * @returns {Promise<DeliveryRecord[]>}
 */
async function deliveriesOfEvents(events) {
    if (!events.length) {
        return [];
    }
    const { items } = await listRecords("deliveries", {
        perPage: 500,
        expand: "webhook",
        fields: "id,event,webhook,status,attempts,nextAttempt,lastStatus,lastError,created,expand.webhook.name,expand.webhook.url",
        skipTotal: true,
        conditions: [`(${events.map((event) => app.pb.filter("event = {:event}", { event })).join(" || ")})`],
    });
    return items;
}

/**
 * @param {string} id
 * @param {Contact | null} contact
 * @param {boolean} gone
 */
function contactHead(id, contact, gone) {
    if (gone) {
        return t.div({ className: "alert warning" }, "This contact no longer exists. Its deliveries are redacted once they are delivered or have failed.");
    }
    return contact && t.p(
        null,
        t.strong(null, contact.name || contact.email),
        " · ",
        t.a({ href: `#/collections?collection=contacts&record=${id}` }, "Open the record"),
    );
}

/** @param {ContactEventRow} event */
function contactDeliveries({ type, deliveries }) {
    if (!deliveries.length) {
        return t.span({ className: "txt-hint" }, "sent to no webhook");
    }
    return t.ul(
        { className: "integrations-contact-deliveries" },
        deliveries.map((delivery) => t.li(
            null,
            stateLabel(deliveryStates[delivery.status]),
            t.a({ href: deliveriesPath(delivery.webhook) }, delivery.expand?.webhook?.name || receiverLabel({ url: delivery.expand?.webhook?.url || delivery.webhook })),
            actionButton("Details", "ri-search-eye-line", () => showDelivery({ ...delivery, type })),
        )),
    );
}
