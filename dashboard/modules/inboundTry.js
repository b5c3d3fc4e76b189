// The Try panel: what a payload would do, without doing it.

/** What no sender sets of a contact. */
const unsentFields = ["id", "createdAt", "updatedAt"];

/** @type {Record<OutcomeStatus, string>} */
const previewLabels = {
    created: "would be created", updated: "would be updated", unchanged: "would be unchanged",
    deleted: "would be deleted", ignored: "would be ignored", failed: "would fail",
};

/** @type {Record<OutcomeStatus, string>} */
const outcomeStyles = { created: "success", updated: "success", unchanged: "", deleted: "warning", ignored: "", failed: "danger" };

/**
 * A body to try, and its content type.
 *
 * @typedef {{ contentType: string, body: string }} Sample
 */

/**
 * What the sender of a preset sends; without a preset, a contact with the common names.
 *
 * @param {string} preset
 * @returns {Sample}
 */
function sampleOf(preset) {
    const found = presets.list.find(({ name }) => name === preset);
    if (!found) {
        return { contentType: "application/json", body: JSON.stringify(sampleContact, null, 2) };
    }
    return { contentType: found.sampleType, body: found.sample.replaceAll("\r\n", "\n").trimEnd() }; // as a text area has it
}

/**
 * @param {string} current
 * @returns {[string, string][]}
 */
function contentTypes(current) {
    /** @type {[string, string][]} */
    const types = [["application/json", "JSON"], ["application/x-www-form-urlencoded", "Form"]];
    if (types.some(([type]) => type === current)) {
        return types;
    }
    return [...types, [current, current.startsWith("multipart/") ? "Multipart form" : current || "None"]];
}

/**
 * @param {InboundWebhook} inbound
 * @param {Sample} [request] what its sender sent
 */
function tryInbound(inbound, request) {
    const preset = presetOf(inbound.mapping);
    const mapping = JSON.stringify(inbound.mapping || {}, null, 2);
    /** @type {MappingValues & Sample & { saved: MappingValues, outcome: Outcome | null, fault: string, busy: boolean }} */
    const data = store({
        ...request || sampleOf(preset),
        preset,
        mapping,
        saved: { preset, mapping },
        outcome: null,
        fault: "",
        busy: false,
    });

    /** @param {Event} event */
    async function preview(event) {
        event.preventDefault();
        data.busy = true;
        data.fault = "";
        try {
            data.outcome = await callIntegrations("POST", "/inbound/preview", {
                tenant: inbound.tenant,
                access: inbound.access,
                contentType: data.contentType,
                mapping: chosenMapping(data),
                body: data.body,
            });
        } catch (error) {
            data.outcome = null;
            data.fault = errorText(error);
        }
        data.busy = false;
    }

    async function save() {
        try {
            await app.pb.collection("inbound_webhooks").update(inbound.id, { mapping: chosenMapping(data) }, { requestKey: null });
            data.saved = { preset: data.preset, mapping: data.mapping };
            app.toasts.success("The mapping is saved.");
            refreshPage();
        } catch (error) {
            Object.assign(data, { outcome: null, fault: errorText(error) });
        }
    }

    const isSaved = () => data.preset === data.saved.preset && (data.preset !== customMapping || data.mapping === data.saved.mapping);
    const bodyId = fieldId();
    const formId = fieldId();
    openDialog({
        title: `Try ${inbound.name}`,
        size: "lg",
        loss: () => (isSaved() ? null : unsavedInput),
        content: t.div(
            { className: "integrations-try" },
            t.form(
                { id: formId, className: "integrations-form", onsubmit: preview },
                mappingFields(data, (before) => {
                    if (data.body === sampleOf(before).body) { // nobody has typed anything
                        Object.assign(data, sampleOf(data.preset), { outcome: null, fault: "" });
                    }
                }),
                selectField("Content type", data, "contentType", () => contentTypes(data.contentType)),
                t.div(
                    { className: "field" },
                    t.label({ htmlFor: bodyId }, "Request body"),
                    t.textarea({
                        id: bodyId,
                        className: "txt-code",
                        rows: 10,
                        spellcheck: false,
                        autofocus: true,
                        onmount: (element) => element.setSelectionRange(0, 0), // the beginning is in view
                        value: () => data.body,
                        oninput: (event) => (data.body = event.currentTarget.value),
                    }),
                ),
            ),
            t.section(
                { className: "integrations-try-result", ariaLabel: "Outcome", "html-aria-live": "polite" },
                () => {
                    if (data.fault) {
                        return t.div({ className: "alert danger" }, data.fault);
                    }
                    if (!data.outcome) {
                        return t.p({ className: "txt-hint" }, "Press Try to see the contact that this request would create or update. Nothing is written.");
                    }
                    return data.outcome.results.map((item) => outcomeCard(item, true));
                },
            ),
        ),
        footer: (close) => [
            t.button({ type: "button", className: "btn transparent m-r-auto", onclick: close }, t.span({ className: "txt" }, "Close")),
            t.button(
                { type: "button", className: "btn secondary", hidden: isSaved, onclick: save },
                t.span({ className: "txt" }, "Save mapping"),
            ),
            t.button(
                { type: "submit", "html-form": formId, className: () => `btn expanded ${data.busy ? "loading" : ""}` },
                t.span({ className: "txt" }, "Try"),
            ),
        ],
    });
}

/**
 * What would become, or became, of one item.
 *
 * @param {ItemOutcome} item
 * @param {boolean} [isPreview]
 */
function outcomeCard({ index, status, id, error, warnings, contact }, isPreview = false) {
    return t.article(
        { className: "integrations-outcome-card" },
        t.div(
            { className: "integrations-attempt-summary" },
            stateLabel({ text: isPreview ? previewLabels[status] : status, style: outcomeStyles[status] }),
            t.span({ className: "txt-hint" }, `Item ${index + 1}`),
            id && !(isPreview && status === "created") ? t.code(null, id) : null,
        ),
        error ? t.p({ className: "integrations-bad" }, error.message) : null,
        contact ? contactCard(contact) : null,
        warnings?.length ? t.ul({ className: "integrations-warnings" }, warnings.map((warning) => t.li(null, warning))) : null,
    );
}

/**
 * All fields of a contact, the administrator's own among them.
 *
 * @param {Contact} contact
 */
function contactCard(contact) {
    const fields = Object.entries(contact).filter(([name]) => !unsentFields.includes(name));
    return t.dl(
        { className: "integrations-headers" },
        fields.map(([name, value]) => [t.dt(null, fieldTitle(name)), t.dd(null, fieldText(value) || t.span({ className: "txt-hint" }, "–"))]),
    );
}

/**
 * "externalId" becomes "External ID".
 *
 * @param {string} name
 */
function fieldTitle(name) {
    const words = name.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`).replace(/(^| )id$/, "$1ID");
    return words.charAt(0).toUpperCase() + words.slice(1);
}

/** @param {unknown} value */
function fieldText(value) {
    if (value === null) {
        return "";
    }
    return typeof value === "string" ? value : JSON.stringify(value);
}
