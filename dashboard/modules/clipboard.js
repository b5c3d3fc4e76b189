// Copying. The clipboard API is missing where the dashboard is served without TLS under a name other than localhost.

/** @param {string} text */
async function copyText(text) {
    if (navigator.clipboard) {
        await navigator.clipboard.writeText(text);
        return;
    }
    const area = t.textarea({ value: text, readOnly: true, className: "integrations-offscreen" });
    (app.modals.getTop() || document.body).append(area); // inside the window, or its focus trap takes the selection away
    area.select();
    const copied = document.execCommand("copy");
    area.remove();
    if (!copied) {
        throw new Error("the browser did not copy");
    }
}

/**
 * A button that copies the text and says that it did.
 *
 * @param {string} what
 * @param {string} text
 * @param {boolean} autofocus
 * @param {string} [label] what it says
 * @param {() => unknown} [oncopied]
 */
function copyTextButton(what, text, autofocus, label = "Copy", oncopied) {
    const state = store({ said: "" });
    let timer = 0;
    return t.button(
        {
            type: "button",
            className: "btn sm secondary",
            ariaLabel: () => (state.said ? undefined : `Copy ${what}`),
            autofocus,
            onclick: async () => {
                try {
                    await copyText(text);
                    state.said = "Copied";
                    oncopied?.();
                } catch {
                    state.said = "Select and copy it by hand";
                }
                clearTimeout(timer);
                timer = setTimeout(() => (state.said = ""), 2000);
            },
            onunmount: () => clearTimeout(timer),
        },
        t.i({ className: () => (state.said === "Copied" ? "ri-check-line" : "ri-file-copy-line"), ariaHidden: true }),
        t.span({ className: "txt", "html-aria-live": "polite" }, () => state.said || label),
    );
}

/**
 * Text in a frame that scrolls by itself, with a button to copy it.
 *
 * @param {string} label
 * @param {string} text
 * @param {{ autofocus?: boolean, oncopied?: () => unknown }} [options]
 */
function copyBlock(label, text, { autofocus = false, oncopied } = {}) {
    return t.div(
        { className: "integrations-copy" },
        t.div(
            { className: "integrations-copy-head" },
            t.span({ className: "txt-bold" }, label),
            copyTextButton(label, text, autofocus, "Copy", oncopied),
        ),
        t.pre({ tabIndex: 0, role: "region", ariaLabel: label, oncopy: oncopied }, t.code(null, text)),
    );
}
