// Import from spreadsheets and export to them: the list of imports, and the export. One import is in import.js.

/** @type {Record<ImportStatus, State>} */
const importStates = {
    new: { text: "Uploaded", style: "" },
    checking: { text: "Checking", style: "warning" },
    checked: { text: "Checked", style: "" },
    running: { text: "Running", style: "warning" },
    done: { text: "Done", style: "success" },
    cancelled: { text: "Cancelled", style: "danger" },
    dryRun: { text: "Dry run", style: "" },
    undoing: { text: "Undoing", style: "warning" },
    undone: { text: "Undone", style: "danger" },
};

function importsPage() {
    /** @type {{ rows: Import[] | null }} */
    const data = store({ rows: null });
    return integrationsPage({
        title: "Import and export",
        intro: "Import contacts from an Excel workbook, CSV or vCards, or export them. An import shows what it would change before it writes anything.",
        load: async () => keep(data, "rows", await callIntegrations("GET", "/imports")),
        actions: [newButton("Import contacts", importContacts), exportButton(), filtersButton()],
        content: () => table({
            label: "Imports",
            data,
            empty: () => emptyState("ri-file-upload-line", "No imports yet", "Choose a file to match its columns to fields.", newButton("Import contacts", importContacts)),
            columns: [
                { name: "File", className: "integrations-grows", cell: ({ id, name }) => t.a({ className: "integrations-receiver", href: importPath(id) }, t.strong(null, middleCut(name || id))) },
                { name: "Tenant", className: "integrations-shrinks integrations-roomy", cell: tenantCell },
                { name: "Status", cell: ({ status }) => stateLabel(importStates[status]) },
                { name: "Rows", className: "integrations-number", cell: ({ total }) => total.toLocaleString("en") },
                { name: "Created", className: "integrations-number", cell: (row) => writtenRows(row, row.counts.created) },
                { name: "Updated", className: "integrations-number", cell: (row) => writtenRows(row, row.counts.updated) },
                { name: "Rejected", className: "integrations-number", cell: ({ counts }) => counts.refused.toLocaleString("en") },
                { name: "Warnings", className: "integrations-number integrations-wide", cell: ({ counts }) => counts.warnings.toLocaleString("en") },
                { name: "When", cell: ({ createdAt }) => timeAgo(createdAt) },
            ],
        }),
    });
}

/**
 * A number of rows, unless they were only checked.
 *
 * @param {Import} shown
 * @param {number} rows
 */
function writtenRows({ status }, rows) {
    return isOnlyChecked(status) ? "–" : rows.toLocaleString("en");
}

/** @param {ImportStatus} status */
function isOnlyChecked(status) {
    return ["checking", "checked", "dryRun"].includes(status);
}

const workbookType = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet";

/** @param {string} id */
function importPath(id) {
    return `${integrationsPath}/imports/${id}`;
}

/** Asks for a file, and stores it. */
function importContacts() {
    const data = store({ tenant: onlyTenant(), sheet: "", headings: "", encoding: "", name: "" });
    /** @type {HTMLInputElement | null} */
    let input = null;
    const id = fieldId();
    openForm({
        title: "Import contacts",
        submit: "Upload file",
        content: () => [
            tenantField(data),
            t.div(
                {
                    className: "integrations-field",
                    ondragover: (event) => event.preventDefault(),
                    ondrop: (event) => {
                        event.preventDefault();
                        if (input && event.dataTransfer?.files.length) {
                            input.files = event.dataTransfer.files;
                            data.name = input.files[0]?.name || "";
                        }
                    },
                },
                t.div(
                    { className: "field" },
                    t.label({ htmlFor: id }, "File"),
                    t.input({ id, type: "file", multiple: true, onchange: (event) => (data.name = event.currentTarget.files?.[0]?.name || ""), accept: `.xlsx,.csv,.txt,.tsv,.vcf,${workbookType},text/csv,text/vcard`, required: true, onmount: (element) => (input = element) }),
                ),
                t.div({ className: "field-help" }, "An Excel workbook (.xlsx), CSV or vCards (.vcf), at most 64 MiB. "
                    + (matchMedia("(pointer: coarse)").matches ? "You can choose several files of vCards." : "You can drop it here, and choose several files of vCards.")),
            ),
            () => partFields(data, data.name),
        ],
        run: async () => {
            await uploadFile(joinFiles([...(input?.files || [])]), chosenTenant(data), data);
        },
    });
}

/**
 * One file, also for several ones with vCards.
 *
 * @param {File[]} files
 */
function joinFiles(files) {
    const [first, ...others] = files;
    if (!first) {
        throw new Error("Choose a file.");
    }
    if (!others.length) {
        return first;
    }
    if (files.some(({ name }) => !name.toLowerCase().endsWith(".vcf"))) {
        throw new Error("Choose one file, or several with vCards (.vcf).");
    }
    return new File(files.flatMap((file) => [file, "\n"]), first.name, { type: "text/vcard" });
}

/**
 * The file that was uploaded last, so that it can be read again.
 *
 * @type {{ id: string, file: File } | null}
 */
let uploadedFile = null;

/**
 * @param {File} file
 * @param {string} tenant
 * @param {FilePart} part
 */
async function uploadFile(file, tenant, { sheet, headings, encoding }) {
    const { data: stored } = await sendIntegrations("POST", "/imports?", {
        query: { tenant, name: file.name, sheet: sheet.trim(), headings: headings.trim(), encoding },
        body: file,
        headers: { "Content-Type": file.type || "text/csv" },
    });
    uploadedFile = { id: stored.id, file };
    leadTo(importPath(stored.id));
}

/** @typedef {{ sheet: string, headings: string, encoding: string }} FilePart which part of a file is read, and how */

/** The encodings of a file, as the WHATWG names them; "" finds it out. */
const fileEncodings = ["", "utf-8", "utf-16le", "utf-16be", "windows-1250", "windows-1251", "windows-1252", "windows-1253", "windows-1254",
    "windows-1255", "windows-1256", "windows-1257", "windows-1258", "windows-874", "iso-8859-2", "iso-8859-3", "iso-8859-4", "iso-8859-5", "iso-8859-6",
    "iso-8859-7", "iso-8859-8", "iso-8859-10", "iso-8859-13", "iso-8859-14", "iso-8859-15", "iso-8859-16", "macintosh", "x-mac-cyrillic", "koi8-r",
    "koi8-u", "ibm866", "shift_jis", "euc-jp", "iso-2022-jp", "euc-kr", "gbk", "gb18030", "big5"];

/**
 * The fields for how a file is read: only those that it can have. None is asked for before there is a file.
 *
 * @param {FilePart} data
 * @param {string} name of the file
 */
function partFields(data, name) {
    const isWorkbook = /\.xls\w$/i.test(name);
    return !name ? [] : [
        isWorkbook ? textField("Sheet", data, "sheet", { help: "The name of a sheet in the workbook. Leave empty for the first one." }) : null,
        /\.vcf$/i.test(name) ? null : textField("Row of the headings", data, "headings", { inputMode: "numeric", help: "The number of the row. Leave empty to find the headings in the first 20 rows." }),
        isWorkbook ? null : selectField("Encoding", data, "encoding", () => fileEncodings.map((encoding) => [encoding, encoding || "Detect"])),
    ];
}

/**
 * Reads another sheet, the headings from another row, or another encoding of the file that was uploaded last.
 *
 * @param {Import} shown
 */
function readAgain({ id, tenant, encodings = [] }) {
    const data = store({ sheet: "", headings: "", encoding: encodings[0]?.encoding || "" });
    openForm({
        title: "Read the file again",
        submit: "Read again",
        content: () => partFields(data, uploadedFile?.file.name || ""),
        run: async () => {
            if (uploadedFile) {
                await uploadFile(uploadedFile.file, tenant, data);
                await callIntegrations("POST", `/imports/${id}/cancel`);
            }
        },
    });
}

function exportButton() {
    return forEditors(t.button(
        { type: "button", className: "btn secondary", ariaLabel: "Export contacts", onclick: exportContacts },
        t.i({ className: "ri-file-download-line", ariaHidden: true }),
        t.span({ className: "txt" }, "Export contacts"),
    ));
}

/** Asks which contacts, and loads them as a file. */
function exportContacts() {
    const data = store({ tenant: onlyTenant(), format: "xlsx", q: "", updatedSince: "" });
    openForm({
        title: "Export contacts",
        submit: "Export",
        content: () => [
            tenantField(data),
            selectField("Format", data, "format", () => [["xlsx", "Excel workbook (.xlsx)"], ["csv", "CSV for spreadsheets"], ["data", "CSV for programs"], ["vcf", "vCards (.vcf)"]], {
                help: "In CSV for spreadsheets, cells that begin with +, -, = or @ get an apostrophe, but not phone numbers, because spreadsheets would run them as formulas. An import removes it. CSV for programs has all cells unchanged.",
            }),
            textField("Search", data, "q", { help: "Exports contacts that contain every word. Leave empty to export all." }),
            textField("Updated since", data, "updatedSince", { type: "datetime-local", onchange: (event) => (data.updatedSince = event.currentTarget.value) }),
        ],
        run: async () => loadSheet("/contacts/export", { tenant: chosenTenant(data), ...(data.format === "data" ? { format: "csv", for: "data" } : { format: data.format }), q: data.q.trim(), updatedSince: inputTime(data.updatedSince) }),
    });
}

/**
 * Loads a sheet and hands it to the browser as a file.
 *
 * @param {string} path
 * @param {Record<string, string>} query
 */
async function loadSheet(path, query) {
    const chosen = Object.entries(query).filter(([, value]) => value);
    const address = app.pb.buildURL(`/api/integrations${path}?${new URLSearchParams(chosen)}`);
    const response = await fetch(address, { headers: { Authorization: app.pb.authStore.token } });
    if (!response.ok) {
        throw new Error((await response.json()).error?.message || "The file could not be downloaded.");
    }
    const [, name] = /filename="(.+)"/.exec(response.headers.get("Content-Disposition") || "") || ["", "contacts"];
    const link = t.a({ href: URL.createObjectURL(await response.blob()), download: name });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}
