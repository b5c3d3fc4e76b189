// What would be lost when somebody leaves: input that is not saved, and secrets that are shown once. Back, a reload and links ask first, as windows do.

/**
 * What to ask before something is lost. Nothing is asked while it is being sent: then it stays.
 *
 * @typedef {{ title: string, text: string, action: string, stay: string, isSent?: boolean }} Loss
 */

/** @type {Loss} */
const unsavedInput = { title: "Discard your changes?", text: "What you have entered is not saved.", action: "Discard", stay: "Keep editing" };

/** @type {Set<() => Loss | null>} */
const losses = new Set();

/** What would be lost now; null for nothing. */
function unsaved() {
    return [...losses].map((loss) => loss()).find(Boolean) || null;
}

/**
 * Leads to another page without a question.
 *
 * @param {string} address
 */
function leadTo(address) {
    losses.clear();
    location.hash = address;
}

/**
 * Asks before the page is left. The address of a portal link changes the session instead. Browsers call the listeners of a window in the order in
 * which they were added: this comes before those that close windows and show pages.
 */
function askBeforeLeaving() {
    let isAsking = false;
    let isRestoring = false;
    window.addEventListener("beforeunload", (event) => unsaved() && event.preventDefault());
    window.addEventListener("popstate", (event) => unsaved() && event.stopImmediatePropagation());
    window.addEventListener("hashchange", (event) => {
        const loss = unsaved();
        if (!loss || location.hash.startsWith("#token=")) {
            return;
        }
        event.stopImmediatePropagation();
        if (isRestoring) {
            return;
        }
        window.history.pushState(null, "", event.oldURL); // in front of where it was to lead
        isRestoring = true;
        window.dispatchEvent(new HashChangeEvent("hashchange")); // for PocketBase's own listeners, which come first
        isRestoring = false;
        if (isAsking || loss.isSent) {
            return;
        }
        isAsking = true;
        confirmDialog({
            ...loss,
            run: async () => {
                losses.clear();
                window.history.back();
            },
            onclose: () => (isAsking = false),
        });
    });
}
