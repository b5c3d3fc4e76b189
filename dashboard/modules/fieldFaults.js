// Faults of fields, which show beside them.

/**
 * An error in a field of the open form.
 *
 * @param {string} field its name
 * @param {string} message
 */
function fieldFault(field, message) {
    return Object.assign(new Error(message), { field });
}

/**
 * The faults that an error has, by the names of the fields.
 *
 * @param {unknown} error
 * @returns {[field: string, message: string][]}
 */
function fieldFaults(error) {
    const { field, message = "", response } = /** @type {Failure & { field?: string }} */ (error || {});
    if (field) {
        return [[field, message]];
    }
    const faults = response?.error?.fields || response?.data || {};
    return Object.entries(faults).map(([name, fault]) => [name, plainFault(fault.message)]);
}

/**
 * Shows the faults of an error beside their fields, focuses the first one, and reports whether all have a field in the form.
 *
 * @param {ParentNode} form
 * @param {unknown} error
 */
function showFieldFaults(form, error) {
    const faults = fieldFaults(error);
    const fields = faults.flatMap(([name, message]) => {
        /** @type {HTMLElement | null} */
        const field = form.querySelector(`[name="${CSS.escape(name)}"]`);
        return field ? [showFieldFault(field, message)] : [];
    });
    const first = fields.sort((a, b) => (a.compareDocumentPosition(b) & Node.DOCUMENT_POSITION_FOLLOWING ? -1 : 1))[0];
    first?.scrollIntoView({ block: "center" });
    first?.focus({ preventScroll: true });
    return fields.length > 0 && fields.length === faults.length;
}

/**
 * Shows a message below a field until it is changed, and returns the input.
 *
 * @param {HTMLElement} field an input, or a group of them
 * @param {string} message
 */
function showFieldFault(field, message) {
    const holder = field.closest(".integrations-field") || field;
    const input = field.matches("fieldset") ? /** @type {HTMLElement} */ (field.querySelector("input")) || field : field;
    holder.querySelector(".integrations-fault")?.remove();
    const said = holder.parentElement?.textContent?.includes(message); // while it was typed
    const id = fieldId();
    const shown = t.div({ id, className: "field-help error integrations-fault integrations-bad", role: "alert" }, said ? "" : message);
    holder.append(shown);
    const describedBy = input.getAttribute("aria-describedby");
    input.setAttribute("aria-invalid", "true");
    input.setAttribute("aria-describedby", [describedBy, id].filter(Boolean).join(" "));
    field.closest(".field")?.classList.add("error");
    const clear = () => {
        shown.remove();
        input.removeAttribute("aria-invalid");
        input[describedBy ? "setAttribute" : "removeAttribute"]("aria-describedby", describedBy || "");
        field.closest(".field")?.classList.remove("error");
        field.removeEventListener("input", clear);
        field.removeEventListener("change", clear);
    };
    field.addEventListener("input", clear);
    field.addEventListener("change", clear);
    return input;
}
