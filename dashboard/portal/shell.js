// What the pages use of PocketBase's dashboard, for a page without it: notifications, windows and addresses.

/** The root of the program, which a proxy may have put below a path. */
const rootURL = new URL("..", location.origin + location.pathname).href;

/** @type {{ appName: string, appURL: string, accentColor: string, sendsMail: boolean }} of the installation */
const settings = JSON.parse(document.getElementById("settings")?.textContent || "{}");

/** How long a notification stays, in milliseconds. */
const toastTime = 4000;

/** The lowest window; each one that is opened over it is one higher. */
const lowestWindow = 1001;

const toasts = t.div({ className: "toasts-container", role: "status" });

/**
 * @param {string} text
 * @param {"success" | "error"} type
 * @param {number} [milliseconds]
 */
function addToast(text, type, milliseconds = toastTime) {
    const toast = t.div(
        { className: `toast ${type}` },
        t.div({ className: "toast-container" }, t.div({ className: "toast-icon" }), t.div({ className: "toast-content" }, text)),
    );
    toasts.prepend(toast);
    setTimeout(() => toast.remove(), milliseconds);
}

/** @returns {HTMLElement[]} the open windows, the topmost last */
function openWindows() {
    /** @type {NodeListOf<HTMLElement>} */
    const found = document.querySelectorAll('[data-modal-state="open"]');
    return [...found].sort((a, b) => Number(a.style.zIndex) - Number(b.style.zIndex));
}

/**
 * Closers of windows, which leave the page when they are closed.
 *
 * @type {WeakMap<Element, () => void>}
 */
const closers = new WeakMap();

/** @param {HTMLElement & { onafterclose?: (element: Element) => unknown }} element */
async function openWindow(element) {
    const close = () => {
        closers.delete(element);
        window.removeEventListener("popstate", close);
        element.dataset.modalState = "close";
        element.onafterclose?.(element);
    };
    closers.set(element, close);
    window.addEventListener("popstate", close);
    let pressedInside = false;
    element.addEventListener("mousedown", ({ target }) => (pressedInside = target !== element));
    element.addEventListener("click", ({ target }) => {
        if (target === element && !pressedInside && !element.classList.contains("manual")) { // beside the window
            close();
        }
    });
    element.tabIndex = -1;
    element.style.zIndex = String(Math.max(lowestWindow, Number(openWindows().at(-1)?.style.zIndex || 0) + 1));
    element.dataset.modalState = "open";
    await new Promise((resolve) => {
        setTimeout(resolve);
    });
    (/** @type {HTMLElement | null} */ (element.querySelector("[autofocus]")) || element).focus();
}

/** @param {Date} time */
function localInputValue(time) {
    return new Date(time.getTime() - time.getTimezoneOffset() * 60_000).toISOString().slice(0, 19);
}
