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
