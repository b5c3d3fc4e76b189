// Windows on top of PocketBase's modals: named for screen readers, closed by Escape, with the focus kept inside.

const focusable = "a[href], button:not([disabled]), input:not([disabled]), select:not([disabled]), textarea:not([disabled]), summary, [tabindex='0']";

/** @typedef {"sm" | "" | "lg"} DialogSize */

/**
 * What had the focus when windows opened, the last one at the end.
 *
 * @type {HTMLElement[]}
 */
const openers = [];

/** Gives the focus back to the last opener that is left, unless a window lies over it or somebody has gone on already. */
function returnFocus() {
    while (openers.length && !openers.at(-1)?.isConnected) {
        openers.pop();
    }
    const top = app.modals.getTop();
    const opener = openers.at(-1);
    if (opener && (!top || top.contains(opener))) {
        openers.pop();
        if (document.activeElement === document.body) {
            opener.focus();
        }
    }
}

/**
 * Opens a window and returns a function that closes it.
 *
 * @param {object} dialog
 * @param {string | (() => string)} dialog.title
 * @param {Child} dialog.content
 * @param {(close: () => unknown) => Child} [dialog.footer]
 * @param {DialogSize} [dialog.size]
 * @param {boolean} [dialog.drawer] at the side instead of in the middle
 * @param {boolean} [dialog.sticky] only its own buttons close it
 * @param {{ busy: boolean }} [dialog.form] the state of its form: asks before it discards what was entered, and stays while the form is being sent
 * @param {() => Loss | null} [dialog.loss] what else would be lost
 * @param {() => unknown} [dialog.onclose] called once it is gone
 */
function openDialog({ title, content, footer, size = "", drawer = false, sticky = false, form, loss = () => null, onclose }) {
    if (document.activeElement instanceof HTMLElement && document.activeElement !== document.body) {
        openers.push(document.activeElement);
    }
    const titleId = "integrations_" + app.utils.randomString();
    const close = () => app.modals.close(element, true);
    let entered = false;
    const lost = () => (form && (entered || form.busy) ? { ...unsavedInput, isSent: form.busy } : loss());
    const leave = () => {
        const question = lost();
        if (!question) {
            close();
        } else if (!question.isSent) {
            confirmDialog({ ...question, run: async () => close() });
        }
    };

    const element = t.div(
        {
            className: `modal integrations-dialog ${drawer ? "" : "popup"} ${size} ${sticky ? "manual" : ""}`,
            role: "dialog",
            ariaModal: "true",
            "html-aria-labelledby": titleId,
            onkeydown: (event) => {
                if (event.key === "Escape" && !sticky && app.modals.getTop() === element && !element.querySelector(":popover-open")) {
                    event.stopPropagation();
                    leave();
                }
                if (event.key === "Tab") {
                    keepFocus(event, element);
                }
            },
            oninput: () => {
                entered = true;
                element.classList.add("manual"); // a click beside the window no longer closes it, which would discard the input
            },
            onafterclose: () => {
                losses.delete(lost);
                element.remove();
                app.store.errors = null;
                setTimeout(returnFocus, 10); // PocketBase takes the focus away in a task of its own
                onclose?.();
            },
        },
        t.header(
            { className: "modal-header" },
            t.h2({ id: titleId, className: "modal-title integrations-dialog-title" }, title),
            sticky ? null : t.button(
                { type: "button", className: "btn sm circle transparent secondary modal-close-btn", ariaLabel: "Close", onclick: leave },
                t.i({ className: "ri-close-line", ariaHidden: true }),
            ),
        ),
        t.div({ className: "modal-content" }, content),
        footer ? t.footer({ className: "modal-footer" }, footer(close)) : null,
    );
    document.body.append(element);
    losses.add(lost);
    app.modals.open(element);
    return close;
}

/**
 * Leads the focus from the last element of the window to the first, and back.
 *
 * @param {KeyboardEvent} event
 * @param {HTMLElement} element
 */
function keepFocus(event, element) {
    /** @type {NodeListOf<HTMLElement>} */
    const candidates = element.querySelectorAll(focusable);
    const stops = [...candidates].filter((stop) => stop.checkVisibility());
    const [first, last] = [stops[0], stops.at(-1)];
    if (!first || !last) {
        return;
    }
    if (event.shiftKey && (document.activeElement === first || document.activeElement === element)) {
        event.preventDefault();
        last.focus();
    } else if (!event.shiftKey && document.activeElement === last) {
        event.preventDefault();
        first.focus();
    }
}

/**
 * Asks before it acts. The window stays, and says why, when the action fails.
 *
 * @param {object} dialog
 * @param {string} dialog.title
 * @param {string} dialog.text
 * @param {string} dialog.action what the button says
 * @param {string} [dialog.style]
 * @param {string} [dialog.stay] what the other button says
 * @param {() => Promise<unknown>} dialog.run
 * @param {() => unknown} [dialog.onclose]
 */
function confirmDialog({ title, text, action, style = "danger", stay, run, onclose }) {
    openForm({ title, size: "sm", submit: action, style, stay, content: () => t.p(null, text), run, onclose });
}

/**
 * Opens a window with a form. run is called when it is sent: the window closes when it succeeds, and says what is wrong
 * when it throws.
 *
 * @param {object} form
 * @param {string} form.title
 * @param {() => Child} form.content
 * @param {string} form.submit what the button says
 * @param {() => Promise<unknown>} form.run
 * @param {() => boolean} [form.ready] whether it can be sent
 * @param {DialogSize} [form.size]
 * @param {string | (() => string)} [form.style] of the button
 * @param {string} [form.stay] what the button says that closes it
 * @param {() => unknown} [form.onclose]
 */
function openForm({ title, content, submit, run, ready = () => true, size = "", style = "", stay = "Cancel", onclose }) {
    const id = "integrations_" + app.utils.randomString();
    const state = store({ busy: false, fault: "" });
    const close = openDialog({
        title,
        size,
        form: state,
        onclose,
        content: t.form(
            {
                id,
                className: "integrations-form",
                autocomplete: "off",
                noValidate: true,
                onsubmit: async (event) => {
                    event.preventDefault();
                    const form = event.currentTarget;
                    if (state.busy || !ready()) {
                        return;
                    }
                    state.busy = true;
                    state.fault = "";
                    try {
                        await run();
                        close();
                    } catch (error) {
                        if (hasNoSession(error)) {
                            app.checkApiError(error, false); // leads to the login
                        }
                        state.fault = showFieldFaults(form, error) ? "" : errorText(error);
                    }
                    state.busy = false;
                },
            },
            content(),
            t.div({ role: "alert" }, () => {
                const fault = sessionFault() || state.fault;
                return fault && t.div({ className: "alert danger", onmount: (element) => element.scrollIntoView({ block: "nearest" }) }, fault);
            }),
        ),
        footer: (cancel) => [
            t.button({ type: "button", className: "btn transparent m-r-auto", onclick: cancel }, t.span({ className: "txt" }, stay)),
            t.button(
                {
                    type: "submit",
                    "html-form": id,
                    className: () => `btn expanded ${typeof style === "function" ? style() : style} ${state.busy ? "loading" : ""}`,
                    disabled: () => state.busy || !ready(),
                },
                t.span({ className: "txt" }, submit),
            ),
        ],
    });
    return close;
}
