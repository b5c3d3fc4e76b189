// The filter of a webhook, with a preview over the tenant's last events.

/** @typedef {{ tenant: string, filter: string }} Filtered */

/** @param {Filtered} data */
function filterField(data) {
    const id = fieldId();
    const preview = store({ text: "", failed: false });
    return t.div(
        { className: "integrations-field" },
        t.div(
            { className: "field" },
            t.label({ htmlFor: id }, "Filter"),
            t.textarea({
                id,
                className: "txt-code",
                name: "filter",
                rows: 2,
                maxLength: 1000,
                spellcheck: false,
                "html-aria-describedby": id + "_help",
                placeholder: 'data.company == "Acme"',
                value: () => data.filter,
                oninput: (event) => {
                    data.filter = event.currentTarget.value;
                    preview.text = "";
                },
            }),
        ),
        t.div(
            { id: id + "_help", className: "field-help" },
            "Leave empty for all events. Examples: ",
            t.code(null, '"email" in changed'),
            ", ",
            t.code(null, 'data.company == "Acme"'),
            ". A filter can use type, data, previous, changed and source; data has the fields of the contact.",
        ),
        filterNames(id),
        t.button(
            {
                type: "button",
                className: "btn sm secondary",
                disabled: () => !data.filter.trim(),
                onclick: () => previewFilter(data, preview),
            },
            t.span({ className: "txt" }, "Preview"),
        ),
        t.p({ className: () => (preview.failed ? "field-help txt-danger" : "field-help"), role: "status" }, () => preview.text),
    );
}

/**
 * The names that a filter can use, as buttons that insert them at the cursor.
 *
 * @param {string} id of the text field
 */
function filterNames(id) {
    /** @type {{ fields: string[] }} */
    const data = store({ fields: [] });
    const names = () => ["type", "changed", "source.type", "source.id", ...["data", "previous"].flatMap((part) => data.fields.map((field) => `${part}.${field}`))];
    return t.details(
        {
            className: "integrations-details",
            ontoggle: () => attempt(async () => {
                const halves = ["firstName", "middleName", "lastName"]; // which only imports know
                data.fields = [...(await callIntegrations("GET", "/contacts/fields")).filter((name) => !halves.includes(name)), "createdAt", "updatedAt"];
            }),
        },
        t.summary(null, "Insert a name"),
        t.div({ className: "integrations-names" }, () => names().map((name) =>
            t.button({ rid: name, type: "button", className: "btn sm secondary txt-code", ariaLabel: `Insert ${name}`, onclick: () => insertName(id, name) }, name))),
    );
}

/**
 * @param {string} id of the text field
 * @param {string} name
 */
function insertName(id, name) {
    const field = /** @type {HTMLTextAreaElement} */ (document.getElementById(id));
    field.setRangeText(name, field.selectionStart, field.selectionEnd, "end");
    field.dispatchEvent(new Event("input"));
    field.focus();
}

/**
 * @param {Filtered} data
 * @param {{ text: string, failed: boolean }} preview
 */
async function previewFilter(data, preview) {
    try {
        const { recent, error, unknown } = await callIntegrations("POST", "/webhooks/preview-filter", { tenant: data.tenant, filter: data.filter.trim() });
        const total = recent.matched + recent.rejected;
        preview.failed = false;
        preview.text = total === 0
            ? "The filter is valid. There are no events yet."
            : `Of the last ${total} events, the webhook would have received ${recent.matched}.`;
        if (unknown) {
            preview.failed = true;
            preview.text += ` Check the spelling: no event has ${unknown.join(", ")}.`;
        }
        if (error) {
            preview.text += ` The filter fails for some, which are delivered anyway: ${error}.`;
        }
    } catch (error) {
        preview.failed = true;
        preview.text = errorText(error);
    }
}
