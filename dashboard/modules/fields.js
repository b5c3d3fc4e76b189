// Fields of forms. They bind to a property of a store and look as PocketBase's own.

function fieldId() {
    return "integrations_" + app.utils.randomString();
}

/**
 * A text input.
 *
 * @template {string} Name
 * @param {string} label
 * @param {Record<Name, string>} data
 * @param {Name} name
 * @param {Omit<Attributes<HTMLInputElement>, "id" | "name" | "value"> & { help?: string }} [options]
 */
function textField(label, data, name, { help, ...attributes } = {}) {
    const id = fieldId();
    return t.div(
        { className: "integrations-field" },
        t.div(
            { className: "field" },
            t.label({ htmlFor: id }, label),
            t.input({
                id,
                name,
                type: "text",
                "html-aria-describedby": help ? id + "_help" : undefined,
                value: () => data[name],
                oninput: (event) => (data[name] = event.currentTarget.value),
                ...attributes,
            }),
        ),
        help && t.div({ id: id + "_help", className: "field-help" }, help),
    );
}

/**
 * A native select: it works with every keyboard and screen reader. options returns [value, label] pairs.
 *
 * @template {string} Name
 * @param {string} label
 * @param {Record<Name, string>} data
 * @param {Name} name
 * @param {() => [string, string][]} options
 * @param {Omit<Attributes<HTMLSelectElement>, "id" | "name" | "onchange"> & { help?: string, onchange?: () => unknown }} [more]
 */
function selectField(label, data, name, options, { help, onchange, ...attributes } = {}) {
    const id = fieldId();
    return t.div(
        { className: "integrations-field" },
        t.div(
            { className: "field" },
            t.label({ htmlFor: id }, label),
            t.select(
                {
                    id,
                    name,
                    "html-aria-describedby": help ? id + "_help" : undefined,
                    onchange: (event) => {
                        data[name] = event.currentTarget.value;
                        onchange?.();
                    },
                    ...attributes,
                },
                () => options().map(([value, text]) => t.option({ value, selected: data[name] === value }, text)),
            ),
        ),
        help && t.div({ id: id + "_help", className: "field-help" }, help),
    );
}

/**
 * A group of checkboxes that fills a list of values. options holds [value, label] pairs.
 *
 * @template {string} Name
 * @template {string} Value
 * @param {string} legend
 * @param {Record<Name, Value[]>} data
 * @param {Name} name
 * @param {[Value, string][]} options
 * @param {{ help?: string, onchange?: () => unknown }} [more]
 */
function checkboxesField(legend, data, name, options, { help, onchange } = {}) {
    return t.fieldset(
        { className: "integrations-fieldset", name },
        t.legend(null, legend),
        options.map(([value, text]) => {
            const id = fieldId();
            return t.div(
                { className: "field" },
                t.input({
                    id,
                    type: "checkbox",
                    checked: () => data[name].includes(value),
                    onchange: (event) => {
                        const others = data[name].filter((other) => other !== value);
                        data[name] = event.currentTarget.checked ? [...others, value] : others;
                        onchange?.();
                    },
                }),
                t.label({ htmlFor: id }, text),
            );
        }),
        help && t.div({ className: "field-help" }, help),
    );
}

/**
 * A group of radio buttons. options holds [value, label, explanation] triples.
 *
 * @template {string} Name
 * @template {string} Value
 * @param {string} legend
 * @param {Record<Name, Value>} data
 * @param {Name} name
 * @param {[Value, string, string][]} options
 */
function radioField(legend, data, name, options) {
    const group = fieldId();
    return t.fieldset(
        { className: "integrations-fieldset" },
        t.legend(null, legend),
        options.map(([value, text, explanation]) => {
            const id = fieldId();
            return t.div(
                { className: "field" },
                t.input({
                    id,
                    type: "radio",
                    name: group,
                    checked: () => data[name] === value,
                    onchange: () => (data[name] = value),
                }),
                t.label({ htmlFor: id }, t.span(null, t.strong(null, text), " – ", explanation)),
            );
        }),
    );
}

/**
 * A switch that acts at once; change reports whether it did.
 *
 * @param {Child} label
 * @param {boolean} isOn
 * @param {(isOn: boolean) => Promise<boolean>} change
 */
function switchControl(label, isOn, change) {
    const id = fieldId();
    return t.div(
        { className: "field integrations-switch" },
        t.input({
            id,
            type: "checkbox",
            className: "switch sm",
            checked: isOn,
            onchange: async (event) => {
                const input = event.currentTarget;
                const wanted = input.checked;
                input.checked = !wanted; // until it is changed
                input.disabled = true;
                input.checked = await change(wanted) === wanted;
                input.disabled = false;
            },
        }),
        t.label({ htmlFor: id }, label),
    );
}

/**
 * The tenant that something new belongs to: for a member, their own. Somebody else may have made one since the page was opened.
 *
 * @param {{ tenant: string }} data
 */
function tenantField(data) {
    const options = () => (data.tenant && tenants.list.length === 1 ? tenantOptions() : /** @type {[string, string][]} */ ([["", "Choose a tenant"], ...tenantOptions()]));
    return forSuperusers(selectField("Tenant", data, "tenant", options, {
        required: true,
        onmount: () => loadTenants().catch(() => {}), // then it offers those that it knows
    }));
}

/** The ID of the only tenant, or "" if there are several: a key or a webhook must not reach the wrong customer by default. */
function onlyTenant() {
    return tenants.list.length === 1 ? /** @type {{ id: string }} */ (tenants.list[0]).id : "";
}

/** @param {{ tenant: string }} data */
function chosenTenant({ tenant }) {
    if (!tenant) {
        throw fieldFault("tenant", "Choose a tenant.");
    }
    return tenant;
}

/** @returns {[string, string][]} */
function tenantOptions() {
    return tenants.list.map(({ id, name }) => [id, name]);
}
