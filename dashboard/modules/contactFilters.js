// The fields by which the API filters contacts. Each takes an index, which is built while nothing can be written.

function filtersButton() {
    return forSuperusers(t.button(
        { type: "button", className: "btn secondary", ariaLabel: "API filters", onclick: () => attempt(openFilters) },
        t.i({ className: "ri-filter-3-line", ariaHidden: true }),
        t.span({ className: "txt" }, "API filters"),
    ));
}

/** Shows which fields have an index, says how long another one takes, and adds it. */
async function openFilters() {
    const { contacts, pauseSeconds, filters } = await callIntegrations("GET", "/contacts/filters");
    const names = filters.filter(({ index }) => !index).map(({ field }) => field);
    const indexed = filters.filter(({ index }) => index).map(({ field }) => field);
    const data = store({ field: names[0] || "" });
    const pause = pauseSeconds < 1 ? "less than a second" : `about ${plural(Math.ceil(pauseSeconds), "second")}`;
    openForm({
        title: "API filters",
        submit: "Add index",
        ready: () => Boolean(data.field),
        content: () => [
            t.p(null, indexed.length ? `The API can filter contacts by ${indexed.join(", ")}.` : "To filter contacts by company or a custom field, the API needs an index."),
            names.length ? selectField("Field", data, "field", () => names.map((name) => [name, name])) : t.p(null, "Every suitable field has an index."),
            names.length ? t.p(null, `Adding an index to ${plural(contacts, "contact")} takes ${pause}. Nothing can be written meanwhile, for any tenant.`) : null,
        ],
        run: async () => {
            await callIntegrations("POST", "/contacts/filters", { field: data.field });
            app.toasts.success(`The API can now filter contacts by ${data.field}.`);
        },
    });
}
