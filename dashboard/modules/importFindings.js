// What a check of an import has found: groups of rows with their number, what to do about them, and the rows to download.

/** @type {Record<FindingKind, (rows: string, field: string) => string>} */
const findingTexts = {
    invalid_email: (rows) => `${rows} with an invalid email address`,
    invalid_phone: (rows) => `${rows} with an invalid phone number`,
    invalid_value: (rows, field) => `${rows} with a value that does not fit: ${field}`,
    left_out: (rows, field) => `${rows} with a value that is left out${field ? `: ${field}` : ""}`,
    no_identity: (rows) => `${rows} with neither a name nor an email address`,
    shared_email: (rows) => `${rows} with an email address that an earlier row or another contact has`,
    repeated_id: (rows, field) => `${rows} with an ID that an earlier row or another contact has: ${field}`,
    too_long: (rows, field) => `${rows} that ${field ? `have a value that is too long: ${field}` : "are too long"}`,
    cells: (rows) => `${rows} that cannot be divided into the columns`,
};

/**
 * What the buttons of findings do: lead to the field of the country, match contacts by their email address, map a column to a field.
 *
 * @typedef {{ chooseCountry: () => unknown, matchByEmail: () => unknown, chooseField: (column: string, field: string) => unknown }} ImportCures
 */

/**
 * The findings of a check.
 *
 * @param {Import} shown
 * @param {ImportCures | null} cures null once nothing can be chosen any more
 */
function importFindings(shown, cures) {
    const { findings, remarks } = shown;
    const columns = cures ? remarks.filter(({ field }) => field) : [];
    if (!findings.length && !columns.length) {
        return null;
    }
    return t.section(
        { className: "integrations-block" },
        t.h2({ className: "integrations-subtitle" }, "Findings"),
        findings.map((finding) => [t.details(
            { className: "integrations-details" },
            t.summary(null, findingTexts[finding.kind](plural(finding.count, "row"), finding.field ? fieldTitle(finding.field) : "")),
            t.ul({ className: "integrations-remarks" }, finding.rows.map((row) => t.li(null, findingRow(shown, row, finding.field)))),
            finding.count > finding.rows.length ? t.p({ className: "txt-hint" }, `The first ${finding.rows.length} rows. Download all of them above.`) : null,
        ), cures && findingCure(finding, shown, cures)]),
        columns.map(({ column = "", field = "" }) => t.p(
            null,
            `${column || "A column"} has IDs of another system. `,
            importButton(`Use as ${fieldTitle(field)}`, () => cures?.chooseField(column, field), "secondary sm"),
        )),
    );
}

/**
 * What to do about a finding, if a choice of the import does it.
 *
 * @param {Import["findings"][number]} finding
 * @param {Import} shown
 * @param {ImportCures} cures
 */
function findingCure({ kind }, { country, match }, { chooseCountry, matchByEmail }) {
    if (kind === "invalid_phone" && !country) {
        return importButton("Choose a country", chooseCountry, "secondary sm");
    }
    return kind === "shared_email" && match !== "email" ? t.p(
        null,
        "These rows become contacts of their own. To update the contacts that have these addresses, match by email. ",
        importButton("Match by email", matchByEmail, "secondary sm"),
    ) : null;
}

/**
 * The errors or warnings of a row, as far as the answer has them.
 *
 * @param {Import} shown
 * @param {number} row
 * @param {string} [field]
 */
function findingRow({ refusals = [], notes = [] }, row, field) {
    const refused = refusals.find((refusal) => refusal.row === row);
    const of = field ? refused?.fields?.[field] : undefined;
    const texts = refused
        ? [of ? `${of.value ? `“${of.value}” ` : ""}${of.message}` : refused.reason]
        : notes.filter((note) => note.row === row && (!field || note.text.startsWith(`${field}:`) || !note.text.includes(":"))).map(({ text }) => text);
    return `Row ${row.toLocaleString("en")}${texts.length ? `: ${texts.join("; ")}` : ""}`;
}

/** @param {Import} shown */
function importDownloads({ id, status, counts }) {
    if (status === "new" || isBusy({ status })) {
        return null;
    }
    /** @param {"refused" | "warnings"} kind */
    const load = (kind) => () => attempt(() => loadSheet(`/imports/${id}/problems`, { kind }));
    return [
        counts.refused ? importButton("Download rejected rows", load("refused"), "secondary") : null,
        counts.warnings || counts.repeated ? importButton("Download rows with warnings", load("warnings"), "secondary") : null,
    ];
}

/**
 * Asks with the numbers whether to delete what an import has created, and does it.
 *
 * @param {Import} shown
 */
function undoImport({ id, name }) {
    attempt(async () => {
        const { deleted, kept } = await undone(id, true);
        confirmDialog({
            title: "Undo the import?",
            text: `${plural(deleted, "contact")} that ${name || "the import"} created will be deleted. ${kept ? `${plural(kept, "contact")} will be kept, because something has changed them since or requires them. ` : ""}Contacts that the import updated stay as they are.`,
            action: `Delete ${plural(deleted, "contact")}`,
            run: async () => {
                await undone(id, false);
                refreshPage();
            },
        });
    });
}

/**
 * @param {string} id
 * @param {boolean} dryRun
 */
async function undone(id, dryRun) {
    const answer = /** @type {unknown} */ (await callIntegrations("POST", `/imports/${id}/undo`, { dryRun }));
    return /** @type {UndoneImport} */ (answer);
}
