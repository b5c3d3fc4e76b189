// One import: the field of each column, how rows become contacts, what the import would do, its progress, and what it says about rows.

/**
 * @typedef {object} ImportChoices as they are chosen on the page
 * @property {string[]} mapping
 * @property {string} match
 * @property {string} existing
 * @property {string} new
 * @property {string} country
 * @property {string} strict "yes" or ""
 */

/** @typedef {ImportChoices & { shown: Import | null, fields: string[] }} ImportData fields are those that a column can hold */

/** @type {[string, string][]} */
const importMatches = [["", "ID of an export, external ID or email, row by row"], ["id", "ID"], ["externalId", "External ID"], ["email", "Email"], ["phone", "Phone"], ["none", "Nothing: create all"]];

// Columns of an export that an import does not read.
const unreadColumns = ["id", "createdAt", "updatedAt"];

/** How often a page shows how far an import is, in milliseconds. */
const stepTime = 500;

/** @param {Pick<Import, "status">} shown */
const isBusy = ({ status }) => ["checking", "running", "undoing"].includes(status);

/** @param {Import} shown */
const canCheck = ({ status }) => ["new", "checked"].includes(status);

/** @param {Route<"id">} route */
function importPage(route) {
    const path = /** @type {const} */ (`/imports/${route.params.id}`);
    /** @type {ImportData} */
    const data = store({ shown: null, fields: [], mapping: [], match: "", existing: "", new: "", country: "", strict: "" });
    let soon = 0;

    /** @param {Import} shown */
    function take(shown) {
        if (!data.shown) {
            Object.assign(data, importChoices(shown), { strict: shown.strict ? "yes" : "" });
        }
        keep(data, "shown", shown);
        clearTimeout(soon);
        if (isBusy(shown) && document.visibilityState === "visible") {
            soon = setTimeout(refreshPage, stepTime);
        }
    }

    async function load() {
        if (!data.fields.length) {
            data.fields = await callIntegrations("GET", "/contacts/fields");
        }
        take(await callIntegrations("GET", path));
    }

    /** @param {"check" | "start" | "cancel"} action */
    const act = (action) => attempt(async () => {
        take(await callIntegrations("POST", `${path}/${action}`, action === "cancel" ? undefined : { ...importChoices(data), strict: data.strict === "yes" }));
    });

    return integrationsPage({
        title: "Import",
        trail: [["Import and export", integrationsPath + "/imports"]],
        gone: { title: "This import is no longer listed", text: "The list keeps imports for a week. Their contacts remain." },
        load,
        entered: () => data.shown && canCheck(data.shown) && isChanged(data),
        content: () => [
            () => data.shown && t.div({ className: "integrations-attempt-summary m-b-sm" }, stateLabel(importStates[data.shown.status]), t.strong(null, data.shown.name), plural(data.shown.total, "row")),
            () => data.shown && importRemarks(data.shown),
            () => data.shown && importEncodings(data.shown),
            () => data.shown && importProgress(data.shown),
            () => data.shown && importButtons(data.shown, isChanged(data), act),
            () => data.shown && importFindings(data.shown, canCheck(data.shown) ? importCures(data) : null),
            () => data.shown && importRefusals(data.shown),
            () => data.shown && importNotes(data.shown),
            () => (data.shown && canCheck(data.shown) ? importMapping(data) : null),
            () => (data.shown && canCheck(data.shown) ? importLeftOut(data) : null),
            () => (data.shown && canCheck(data.shown) ? importCheckButtons(data.shown, isChanged(data), act) : null),
        ],
    });
}

/**
 * What both an import and the page have of the choices.
 *
 * @param {Pick<ImportChoices, "mapping" | "match" | "existing" | "new" | "country">} of
 */
function importChoices({ mapping, match, existing, new: absent, country }) {
    return { mapping, match, existing, new: absent, country: country.trim().toUpperCase() };
}

/**
 * Whether other choices are made than those that were checked. Without a country, that of the tenant counts.
 *
 * @param {ImportData} data
 */
function isChanged(data) {
    const { shown } = data;
    const checked = shown && [importChoices({ ...shown, country: data.country && shown.country }), shown.strict];
    return JSON.stringify(checked) !== JSON.stringify([importChoices(data), data.strict === "yes"]);
}

/**
 * What the buttons of findings do. Each leads to the choice.
 *
 * @param {ImportData} data
 * @returns {ImportCures}
 */
function importCures(data) {
    const lead = (/** @type {string} */ name) => /** @type {HTMLElement | null} */ (document.querySelector(`.integrations-form [name=${name}]`))?.focus();
    return {
        chooseCountry: () => lead("country"),
        matchByEmail: () => {
            data.match = "email";
            lead("match");
        },
        chooseField: (column, field) => chooseFieldOf(data, column, field),
    };
}

/**
 * Maps a column to a field, and leads to its choice.
 *
 * @param {ImportData} data
 * @param {string} column
 * @param {string} field
 */
function chooseFieldOf(data, column, field) {
    const at = data.shown?.columns.indexOf(column) ?? -1;
    data.mapping = data.mapping.map((old, place) => (place === at ? field : old));
    /** @type {HTMLSelectElement | null} */ (document.querySelector(`select[aria-label=${CSS.escape(`Field for ${column}`)}]`))?.focus();
}

/**
 * The columns with their first cells, and the field that each of them holds.
 *
 * @param {ImportData} data
 */
function importMapping(data) {
    const shown = /** @type {Import} */ (data.shown);
    return t.div(
        { className: "integrations-form" },
        t.div(
            { className: "page-table-wrapper integrations-table", role: "region", ariaLabel: "Columns", tabIndex: 0 },
            t.table(
                { className: "responsive-table", ariaLabel: "Columns" },
                t.thead(null, t.tr(null, ["Column", "First rows", "Field"].map((name) => t.th({ scope: "col" }, name)))),
                t.tbody(null, shown.columns.map((column, index) => t.tr(
                    null,
                    t.td({ "html-data-name": "Column" }, t.strong(null, column)),
                    t.td({ "html-data-name": "First rows" }, shown.samples.map((cells) => cells[index]).filter(Boolean).join(" · ") || t.span({ className: "txt-hint" }, "empty")),
                    t.td({ "html-data-name": "Field" }, importFieldSelect(data, index, column)),
                ))),
            ),
        ),
        selectField("Match contacts by", data, "match", () => importMatches, { help: "A row without that value creates a contact, and so does one with an external ID that no contact has, even if a contact has its email. Empty cells change nothing." }),
        selectField("Contacts that exist", data, "existing", () => [["", "Update"], ["fill", "Fill only empty fields"], ["skip", "Skip"]]),
        selectField("Contacts that do not exist", data, "new", () => [["", "Create"], ["skip", "Skip"]]),
        textField("Country", data, "country", { maxLength: 2, placeholder: "DE", help: "Two letters, to read phone numbers without a country code. Leave empty for the tenant's country." }),
        selectField("Values that do not fit", data, "strict", () => [["", "Leave them out with a warning"], ["yes", "Reject the row"]], {
            help: "This is for phone, company and custom fields. A row with an invalid email address is always rejected.",
        }),
    );
}

/**
 * Names the columns that are not imported, so that none is left out unnoticed.
 *
 * @param {ImportData} data
 */
function importLeftOut({ shown, mapping }) {
    const columns = shown?.columns.filter((column, index) => !mapping[index] && !unreadColumns.includes(column)) || [];
    return columns.length === 0 ? null : t.p(
        { "html-role": "status" },
        t.span({ className: "integrations-bad" }, `Not imported: ${columns.map((column) => column || "(no heading)").join(", ")}.`),
        " To import a column, choose its field.",
    );
}

/**
 * @param {ImportData} data
 * @param {number} index
 * @param {string} column
 */
function importFieldSelect(data, index, column) {
    return t.div(
        { className: "integrations-field" },
        t.div({ className: "field" }, t.select(
            {
                ariaLabel: `Field for ${column}`,
                onchange: (event) => {
                    const chosen = event.currentTarget.value;
                    data.mapping = data.mapping.map((field, place) => (place === index ? chosen : field));
                },
            },
            () => ["", ...data.fields].map((field) => t.option({ value: field, selected: data.mapping[index] === field }, field ? fieldTitle(field) : "Ignore")),
        )),
    );
}

/** @param {Import} shown */
function importProgress(shown) {
    const { status, position, total, counts } = shown;
    if (status === "new") {
        return null;
    }
    if (shown.undone) {
        const { deleted, kept } = shown.undone;
        return t.div(
            { className: "integrations-import", "html-aria-live": "polite", "html-aria-busy": String(isBusy(shown)) },
            t.progress({ max: Math.max(counts.created, 1), value: deleted + kept, ariaLabel: "Progress" }),
            t.p(null, `${plural(deleted, "contact")} deleted, ${kept.toLocaleString("en")} kept`),
        );
    }
    const would = isOnlyChecked(status);
    return t.div(
        { className: "integrations-import", "html-aria-live": "polite", "html-aria-busy": String(isBusy(shown)) },
        t.progress({ max: Math.max(total, 1), value: position, ariaLabel: "Progress" }),
        t.p(
            null,
            `${position.toLocaleString("en")} of ${total.toLocaleString("en")} rows: `,
            `${counts.created.toLocaleString("en")} ${would ? "would be created" : "created"}, `,
            `${counts.updated.toLocaleString("en")} ${would ? "would be updated" : "updated"}, `,
            `${counts.unchanged.toLocaleString("en")} unchanged, `,
            `${counts.skipped.toLocaleString("en")} skipped, `,
            t.span({ className: counts.refused ? "integrations-bad" : "" }, `${counts.refused.toLocaleString("en")} rejected`),
            counts.repeated ? `; ${plural(counts.repeated, "repeated row")}` : "",
            counts.warnings ? `; ${plural(counts.warnings, "warning")}` : "",
        ),
    );
}

/**
 * @param {string} text
 * @param {() => unknown} onclick
 * @param {string} [style]
 */
function importButton(text, onclick, style = "") {
    return t.button({ type: "button", className: `btn ${style}`, onclick }, t.span({ className: "txt" }, text));
}

/**
 * Only what was checked can be imported.
 *
 * @param {Import} shown
 * @param {boolean} changed
 * @param {(action: "check" | "start" | "cancel") => unknown} act
 */
function importButtons(shown, changed, act) {
    const { status, counts } = shown;
    const over = ["done", "cancelled", "dryRun", "undoing", "undone"].includes(status);
    const rows = counts.created + counts.updated;
    return t.div(
        { className: "integrations-form-buttons" },
        status === "checked" && changed ? t.p({ "html-role": "status" }, "The choices below have changed. Check the import again.") : null,
        status === "checked" && !changed && rows ? importButton(`Import ${plural(rows, "row")}`, () => act("start")) : null,
        over || status === "new" ? null : importButton(status === "checked" ? "Do not import" : "Cancel import", () => act("cancel"), "secondary"),
        importedLinks(shown),
        importDownloads(shown),
        ["done", "cancelled"].includes(status) && counts.created ? importButton("Undo", () => undoImport(shown), "secondary") : null,
    );
}

/**
 * Leads to the contacts that the import has created, and to those of before that were last changed while it ran.
 *
 * @param {Import} shown
 */
function importedLinks({ id, tenant, status, counts, createdAt, updatedAt }) {
    if (!["done", "cancelled"].includes(status)) {
        return null;
    }
    /** @param {string} text @param {string} href @param {string} style */
    const link = (text, href, style) => t.a({ className: `btn ${style}`, href }, t.span({ className: "txt" }, text));
    return [
        counts.created ? link("Show created contacts", contactsPath({ tenant, import: id }), "") : null,
        counts.updated ? link("Show updated contacts", contactsPath({ tenant, createdBefore: createdAt, updatedSince: createdAt, updatedBefore: justAfter(updatedAt), sort: "-updatedAt" }), counts.created ? "secondary" : "") : null,
    ];
}

/**
 * A second later: the last contacts are as new as the end of their import.
 *
 * @param {string} time
 */
function justAfter(time) {
    return new Date(Date.parse(time) + 1000).toISOString();
}

/**
 * The buttons below the choices.
 *
 * @param {Import} shown
 * @param {boolean} changed
 * @param {(action: "check" | "start" | "cancel") => unknown} act
 */
function importCheckButtons(shown, changed, act) {
    return t.div(
        { className: "integrations-form-buttons" },
        importButton("Check", () => act("check"), shown.status === "checked" && !changed ? "secondary" : ""),
        uploadedFile?.id === shown.id ? importButton("Read the file again", () => readAgain(shown), "secondary") : null,
        shown.status === "new" ? importButton("Cancel import", () => act("cancel"), "secondary") : null,
    );
}

/**
 * Where the headings are, and what a person should know about columns.
 *
 * @param {Import} shown
 */
function importRemarks({ encoding, encodings, headings, above, remarks }) {
    const texts = remarks.filter(({ field }) => !field).map(({ text }) => text);
    if (encoding && encoding !== "utf-8" && !encodings) {
        texts.unshift(`the file is read as ${encoding}`);
    }
    if (above.length) {
        texts.unshift(`the headings are in row ${headings}; not imported is what is above them: ${above.join(" · ")}`);
    }
    return texts.length === 0 ? null : t.ul({ className: "integrations-remarks" }, texts.map((text) => t.li(null, text)));
}

/**
 * Asks for the encoding of a file that may be in several ones.
 *
 * @param {Import} shown
 */
function importEncodings({ encodings = [] }) {
    return encodings.length === 0 ? null : t.section(
        { className: "integrations-block", "html-role": "status" },
        t.h2({ className: "integrations-subtitle" }, "Which encoding shows these cells correctly?"),
        t.ul({ className: "integrations-remarks" }, encodings.map(({ encoding, samples }) => t.li(null, t.strong(null, encoding), ` ${samples.join(" · ")}`))),
        t.p(null, "The import can start once you have chosen it: read the file again with this encoding."),
    );
}

/**
 * What a person should know about rows that are applied.
 *
 * @param {Import} shown
 */
function importNotes({ notes = [], counts }) {
    if (!notes.length) {
        return null;
    }
    return t.section(
        { className: "integrations-block" },
        t.h2({ className: "integrations-subtitle" }, counts.warnings + counts.repeated > notes.length ? `The first ${notes.length} warnings and repeated rows` : "Warnings and repeated rows"),
        t.div(
            { className: "page-table-wrapper integrations-table", role: "region", ariaLabel: "Warnings", tabIndex: 0 },
            t.table(
                { className: "responsive-table", ariaLabel: "Warnings" },
                t.thead(null, t.tr(null, ["Row", "Warning"].map((name) => t.th({ scope: "col" }, name)))),
                t.tbody(null, notes.map(({ row, text }) => t.tr(
                    null,
                    t.td({ "html-data-name": "Row" }, row.toLocaleString("en")),
                    t.td({ "html-data-name": "Warning" }, text),
                ))),
            ),
        ),
    );
}

/** @param {Import} shown */
function importRefusals({ refusals = [], counts }) {
    if (!refusals.length) {
        return null;
    }
    const faults = refusals.flatMap(({ row, reason, fields }) => (fields
        ? Object.entries(fields).map(([field, { value, message }]) => ({ row, field, value, message }))
        : [{ row, field: "", value: "", message: reason }]));
    return t.section(
        { className: "integrations-block" },
        t.h2({ className: "integrations-subtitle" }, counts.refused > refusals.length ? `The first ${refusals.length} of ${plural(counts.refused, "rejected row")}` : "Rejected rows"),
        t.div(
            { className: "page-table-wrapper integrations-table", role: "region", ariaLabel: "Rejected rows", tabIndex: 0 },
            t.table(
                { className: "responsive-table", ariaLabel: "Rejected rows" },
                t.thead(null, t.tr(null, ["Row", "Field", "Value", "Reason"].map((name) => t.th({ scope: "col" }, name)))),
                t.tbody(null, faults.map(({ row, field, value, message }) => t.tr(
                    null,
                    t.td({ "html-data-name": "Row" }, row.toLocaleString("en")),
                    t.td({ "html-data-name": "Field" }, field ? fieldTitle(field) : "–"),
                    t.td({ "html-data-name": "Value" }, value ? t.code(null, value) : t.span({ className: "txt-hint" }, field ? "empty" : "–")),
                    t.td({ "html-data-name": "Reason" }, message),
                ))),
            ),
        ),
    );
}
