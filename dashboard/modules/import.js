// One import: the field of each column, what the import would do, its progress, and the refused rows.

/**
 * @typedef {object} ImportData
 * @property {Import | null} shown
 * @property {string[]} fields that a column can hold
 * @property {string[]} mapping as it is chosen
 * @property {string} match
 */

// The fields that can find contacts, in the order in which they are suggested.
const importMatches = ["id", "externalId", "email"];

// Columns of an export that an import does not read.
const unreadColumns = ["id", "createdAt", "updatedAt"];

/** How often a page shows how far an import is, in milliseconds. */
const stepTime = 500;

/** @param {Import} shown */
const isBusy = ({ status }) => ["checking", "running"].includes(status);

/** @param {Route<"id">} route */
function importPage(route) {
    const path = /** @type {const} */ (`/imports/${route.params.id}`);
    /** @type {ImportData} */
    const data = store({ shown: null, fields: [], mapping: [], match: "" });
    let soon = 0;

    /** @param {Import} shown */
    function take(shown) {
        if (!data.shown) {
            data.mapping = shown.mapping;
            data.match = shown.match || importMatches.find((field) => shown.mapping.includes(field)) || "email";
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
        take(await callIntegrations("POST", `${path}/${action}`, action === "cancel" ? undefined : { mapping: data.mapping, match: data.match }));
    });

    return integrationsPage({
        title: "Import",
        trail: [["Import and export", integrationsPath + "/imports"]],
        load,
        content: () => [
            () => data.shown && t.div({ className: "integrations-attempt-summary m-b-sm" }, stateLabel(importStates[data.shown.status]), t.strong(null, data.shown.name), plural(data.shown.total, "row")),
            () => (data.shown && ["new", "checked"].includes(data.shown.status) ? importMapping(data) : null),
            () => (data.shown && ["new", "checked"].includes(data.shown.status) ? importLeftOut(data) : null),
            () => data.shown && importProgress(data.shown),
            () => data.shown && importButtons(data.shown, isChanged(data), act),
            () => data.shown && importRefusals(data.shown),
        ],
    });
}

/**
 * Whether another mapping is chosen than the one that was checked.
 *
 * @param {ImportData} data
 */
function isChanged({ shown, mapping, match }) {
    return JSON.stringify([shown?.mapping, shown?.match]) !== JSON.stringify([mapping, match]);
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
        selectField("Match contacts by", data, "match", () => importMatches.map((field) => [field, fieldTitle(field)]), {
            help: "A row updates the contact with the same value, or creates a new contact. Empty cells change nothing.",
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
        " To import a column, choose its field above.",
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
                    data.mapping = data.mapping.map((field, place) => (place === index ? chosen : field === chosen ? "" : field));
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
            t.span({ className: counts.refused ? "integrations-bad" : "" }, `${counts.refused.toLocaleString("en")} refused`),
        ),
    );
}

/**
 * Only what was checked can be imported.
 *
 * @param {Import} shown
 * @param {boolean} changed
 * @param {(action: "check" | "start" | "cancel") => unknown} act
 */
function importButtons({ id, status, counts }, changed, act) {
    /**
     * @param {string} text
     * @param {() => unknown} onclick
     * @param {string} [style]
     */
    const button = (text, onclick, style = "") => t.button({ type: "button", className: `btn ${style}`, onclick }, t.span({ className: "txt" }, text));
    const over = ["done", "cancelled", "dryRun"].includes(status);
    const ready = status === "checked" && !changed;
    return t.div(
        { className: "integrations-form-buttons" },
        status === "new" || status === "checked" ? button("Check", () => act("check"), ready ? "secondary" : "") : null,
        ready && counts.created + counts.updated ? button(`Import ${plural(counts.created + counts.updated, "row")}`, () => act("start")) : null,
        over ? null : button(status === "checked" ? "Do not import" : "Cancel import", () => act("cancel"), "secondary"),
        over && counts.refused ? button("Download refused rows", () => attempt(() => loadSheet(`/imports/${id}/refused`, {})), "secondary") : null,
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
        t.h2({ className: "integrations-subtitle" }, counts.refused > refusals.length ? `The first ${refusals.length} of ${plural(counts.refused, "refused row")}` : "Refused rows"),
        t.div(
            { className: "page-table-wrapper integrations-table", role: "region", ariaLabel: "Refused rows", tabIndex: 0 },
            t.table(
                { className: "responsive-table", ariaLabel: "Refused rows" },
                t.thead(null, t.tr(null, ["Row", "Field", "Value", "Reason"].map((name) => t.th({ scope: "col" }, name)))),
                t.tbody(null, faults.map(({ row, field, value, message }) => t.tr(
                    null,
                    t.td({ "html-data-name": "Row" }, row.toLocaleString("en")),
                    t.td({ "html-data-name": "Field" }, field ? fieldTitle(field) : "–"),
                    t.td({ "html-data-name": "Value" }, value ? t.code(null, value) : t.span({ className: "txt-hint" }, "empty")),
                    t.td({ "html-data-name": "Reason" }, message),
                ))),
            ),
        ),
    );
}
