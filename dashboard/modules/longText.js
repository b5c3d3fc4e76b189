// Texts that may be longer than their place, and ids.

/** How many characters of the end of a long text always show. */
const shownEnd = 12;

/** Shorter texts are cut at their end. */
const cutFrom = 28;

const rightToLeft = /[\u0590-\u08ff]/;
const leftToRight = /[\p{Script=Latin}\p{Script=Cyrillic}\p{Script=Greek}\d]/u;

/**
 * A text that is cut in its middle where it is too long for its place; the whole shows on hover. URLs and names often differ
 * only at their ends.
 *
 * @param {string} text
 * @param {string} [className]
 */
function middleCut(text, className = "") {
    const characters = [...text];
    const isCut = characters.length >= cutFrom && !(rightToLeft.test(text) && leftToRight.test(text)); // parts of both would change places
    const at = isCut ? characters.length - shownEnd : characters.length;
    const end = characters.slice(at).join("");
    return t.span(
        { className: `integrations-middle ${className}`, title: text, dir: "auto", "html-data-end": end },
        t.span(null, characters.slice(0, at).join(""), end ? t.span(null, end) : null), // the style shows the end; this one is copied and found
    );
}

/**
 * An ID, which a click copies.
 *
 * @param {string} id
 */
function copyableId(id) {
    const state = store({ copied: false });
    return t.button(
        {
            type: "button",
            className: "integrations-copy-id",
            title: "Copy",
            ariaLabel: () => (state.copied ? "Copied" : `Copy ${id}`),
            onclick: () => attempt(async () => {
                await copyText(id);
                state.copied = true;
                setTimeout(() => (state.copied = false), 2000);
            }),
        },
        t.code(null, id),
        t.i({ className: () => (state.copied ? "ri-check-line" : "ri-file-copy-line"), ariaHidden: true }),
    );
}
