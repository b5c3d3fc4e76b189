// Signing in: with a password, a code by email, both, or another service.

const signInPath = "/api/collections/tenant_members";
const oauth2Key = "contactbaseOAuth2 " + location.pathname;

/** @typedef {{ name: string, displayName: string, state: string, authURL: string, codeVerifier: string }} Provider */

/**
 * What the collection allows.
 *
 * @typedef {{ password: { enabled: boolean }, otp: { enabled: boolean }, oauth2: { enabled: boolean, providers: Provider[] } }} Methods
 */

/**
 * @template T
 * @param {string} action
 * @param {object} body
 * @returns {Promise<T>}
 */
function askToSignIn(action, body) {
    return client.send(`${signInPath}/${action}`, { method: "POST", body });
}

const secondStep = "One more step: now use another way to sign in.";

/**
 * Signs in. Returns what to say if a second way to sign in has to follow.
 *
 * @param {string} action
 * @param {object} body
 * @param {string} [refusal] what to say if the server does not accept the password or code
 */
async function signIn(action, body, refusal) {
    try {
        /** @type {{ token: string }} */
        const { token } = await askToSignIn(action, { ...body, mfaId: session.mfaId || undefined });
        startSession(token);
        return "";
    } catch (error) {
        const { status, response } = /** @type {Refusal} */ (error);
        if (status === 401 && response?.mfaId) {
            session.mfaId = response.mfaId;
            return secondStep;
        }
        throw status === 400 && refusal ? new Error(refusal) : error;
    }
}

/**
 * A page with a form in its middle.
 *
 * @param {string} title
 * @param {() => Child} content
 */
function card(title, content) {
    app.store.title = title;
    return t.div(
        { className: "page portal-card" },
        t.section(
            { className: "integrations-form", ariaLabel: title },
            t.div({ className: "portal-brand" }, logo(), t.strong(null, settings.appName)),
            t.h1(null, title),
            content(),
        ),
    );
}

/**
 * The form of a card. While run runs it is busy; afterwards it says what run returned, or what went wrong, beside the fields
 * if it is about them.
 *
 * @param {object} form
 * @param {{ busy: boolean, fault: string, said: string }} form.state
 * @param {Child} form.fields
 * @param {string} form.submit what the button says
 * @param {() => Promise<string | void>} form.run
 * @param {Child} [form.more]
 */
function cardForm({ state, fields, submit, run, more }) {
    return t.form(
        {
            className: "integrations-form",
            onsubmit: (event) => {
                event.preventDefault();
                attemptIn(state, run, event.currentTarget);
            },
        },
        fields,
        t.div(
            null,
            t.div({ role: "alert" }, () => state.fault && t.div({ className: "alert danger m-b-sm" }, state.fault)),
            t.div({ role: "status" }, () => state.said && t.div({ className: "alert info m-b-sm" }, state.said)),
            t.button({ type: "submit", className: () => `btn lg block ${state.busy ? "loading" : ""}`, disabled: () => state.busy }, t.span({ className: "txt" }, submit)),
        ),
        more,
    );
}

/**
 * @param {{ busy: boolean, fault: string, said: string }} state
 * @param {() => Promise<string | void>} run
 * @param {HTMLElement} [form] whose fields show their faults
 */
async function attemptIn(state, run, form) {
    Object.assign(state, { busy: true, fault: "", said: "" });
    try {
        state.said = await run() || "";
    } catch (error) {
        state.fault = form && showFieldFaults(form, error) ? "" : errorText(error);
    }
    state.busy = false;
}

function signInPage() {
    const data = store({
        /** @type {Methods | null} */
        methods: null,
        email: "",
        password: "",
        code: "",
        otpId: "", // of the code that was sent
        busy: false,
        fault: "",
        said: takeReason(),
    });
    client.send(`${signInPath}/auth-methods`, {})
        .then((methods) => (data.methods = /** @type {Methods} */ (methods)))
        .catch((error) => (data.fault = errorText(error)));

    async function sendCode() {
        data.code = "";
        data.otpId = (/** @type {{ otpId: string }} */ (await askToSignIn("request-otp", { email: data.email }))).otpId;
        return "If an account has this address, a code was sent to it.";
    }

    async function withPassword() {
        const { email, password, methods } = data;
        const next = await signIn("auth-with-password", { identity: email, password }, "The email address or password is incorrect.");
        return next && methods?.otp.enabled ? sendCode() : next;
    }

    async function withCode() {
        const { otpId, code } = data;
        const next = await signIn("auth-with-otp", { otpId, password: code.trim() }, "The code is incorrect or has expired.");
        if (next) {
            data.otpId = "";
        }
        return next;
    }

    async function startOver() {
        data.otpId = session.mfaId = "";
        return "";
    }

    async function resetPassword() {
        await askToSignIn("request-password-reset", { email: data.email });
        return "If an account has this address, a link to set a new password was sent to it.";
    }

    const email = () => textField("Email", data, "email", { type: "email", required: true, autocomplete: "username", autofocus: true });
    const other = (/** @type {string} */ text, /** @type {() => Promise<string>} */ run) => {
        const onclick = () => attemptIn(data, async () => (data.email ? run() : "Enter your email address first."));
        return t.button({ type: "button", className: "btn transparent", disabled: () => data.busy, onclick }, t.span({ className: "txt" }, text));
    };

    return card("Sign in", () => () => {
        const { methods } = data;
        if (!methods) {
            return t.div({ role: "alert" }, () => data.fault && t.div({ className: "alert danger" }, data.fault));
        }
        if (data.otpId) {
            return cardForm({
                state: data,
                fields: textField("Code from the email", data, "code", { required: true, autocomplete: "one-time-code", inputMode: "numeric", autofocus: true }),
                submit: "Sign in",
                run: withCode,
                more: [other("Send another code", sendCode), other("Start over", startOver)],
            });
        }
        return [
            methods.password.enabled ? cardForm({
                state: data,
                fields: [email(), textField("Password", data, "password", { type: "password", required: true, autocomplete: "current-password" })],
                submit: "Sign in",
                run: withPassword,
                more: [
                    settings.sendsMail ? other("Forgot your password?", resetPassword) : t.p({ className: "txt-hint" }, "Forgot your password? Ask the company that runs this portal for a new one."),
                    methods.otp.enabled && settings.sendsMail ? other("Send me a code instead", sendCode) : null,
                ],
            }) : null,
            !methods.password.enabled && methods.otp.enabled ? cardForm({ state: data, fields: email(), submit: "Send me a code", run: sendCode }) : null,
            ...(methods.oauth2.enabled ? methods.oauth2.providers : []).map(providerButton),
        ];
    });
}

/** @param {Provider} provider */
function providerButton({ name, displayName, state, authURL, codeVerifier }) {
    const onclick = () => {
        sessionStorage.setItem(oauth2Key, JSON.stringify({ provider: name, state, codeVerifier }));
        location.assign(authURL + encodeURIComponent(location.origin + location.pathname));
    };
    return t.button({ type: "button", className: "btn lg block secondary", onclick }, t.span({ className: "txt" }, `Sign in with ${displayName || name}`));
}

/** Ends the sign-in with another service, which has sent the browser back with a code in the address. */
async function finishOAuth2() {
    const query = new URLSearchParams(location.search);
    const stored = sessionStorage.getItem(oauth2Key);
    if (!stored || !query.get("state")) {
        return;
    }
    sessionStorage.removeItem(oauth2Key);
    window.history.replaceState(null, "", location.pathname);
    const { provider, state, codeVerifier } = JSON.parse(stored);
    try {
        if (query.get("state") !== state || !query.get("code")) {
            throw new Error("The service rejected the sign-in.");
        }
        const next = await signIn("auth-with-oauth2", { provider, code: query.get("code"), codeVerifier, redirectURL: location.origin + location.pathname });
        sessionStorage.setItem(reasonKey, next);
    } catch (error) {
        sessionStorage.setItem(reasonKey, `Signing in failed. ${errorText(error)}`);
    }
}

/**
 * The pages that emails link to.
 *
 * @type {Record<`#/${string}/{token}`, { title: string, label: string, submit: string, action: string, said: string }>}
 */
const mailPages = {
    "#/reset/{token}": { title: "Set a new password", label: "New password", submit: "Set password", action: "confirm-password-reset", said: "Your password was set." },
    "#/email/{token}": { title: "Change your email address", label: "Password", submit: "Change address", action: "confirm-email-change", said: "Your address was changed." },
    "#/verify/{token}": { title: "Verify your email address", label: "", submit: "Verify", action: "confirm-verification", said: "Your address was verified." },
};

/**
 * @param {string} token
 * @param {(typeof mailPages)["#/reset/{token}"]} page
 */
function mailPage(token, { title, label, submit, action, said }) {
    const data = store({ password: "", busy: false, fault: "", said: "" });
    window.history.replaceState(null, "", location.pathname); // the token would stay in the history
    const leave = t.a({ href: integrationsPath }, "Sign in");
    return card(title, () => () => (data.said ? [t.div({ className: "alert success", role: "status" }, data.said), leave] : cardForm({
        state: data,
        fields: label ? textField(label, data, "password", { type: "password", required: true, autocomplete: action === "confirm-password-reset" ? "new-password" : "current-password", autofocus: true }) : null,
        submit,
        run: async () => {
            try {
                await askToSignIn(action, { token, password: data.password, passwordConfirm: data.password });
            } catch (error) {
                throw /** @type {Refusal} */ (error).response?.data?.token ? new Error("This link was used or has expired. Request a new one.") : error;
            }
            return said;
        },
        more: leave,
    })));
}

/** Whether the address is that of a page that emails link to. Who opens it may be somebody else than who is signed in. */
function leadsFromMail() {
    return /^#\/((reset|email|verify)\/|invitation(\/|$))/.test(location.hash);
}

/** The shortest password that a member can choose, unless an admin has set another rule, which the server knows. */
const minPassword = 8;

/** The address of the page of an invitation without the token, which would stay in the history. */
const invitationPath = "#/invitation";

/** Where the tab keeps the token of the invitation until it is used, so that its page can be loaded again. */
const invitationKey = "contactbaseInvitation " + location.pathname;

/** @typedef {{ email: string, tenant: string }} Invited */

/**
 * The page on which an invited member chooses a password. It first says who is invited, or that the invitation has ended.
 *
 * @param {string} [opened] the token of a link that was opened
 */
function invitationPage(opened) {
    const token = opened || sessionStorage.getItem(invitationKey) || "";
    sessionStorage.setItem(invitationKey, token);
    window.history.replaceState(null, "", invitationPath);
    /** @type {{ invited: Invited | null, fault: string, ended: boolean }} */
    const data = store({ invited: null, fault: "", ended: false });

    async function open() {
        data.fault = "";
        try {
            /** @type {{ data: Invited }} */
            const answer = await client.send("/api/integrations/invitations/open", { method: "POST", body: { token } });
            data.invited = answer.data;
        } catch (error) {
            data.fault = errorText(error);
            data.ended = /** @type {Refusal} */ (error).status === 410;
        }
        if (data.ended) {
            sessionStorage.removeItem(invitationKey);
        }
    }
    open();

    const leave = t.a({ href: integrationsPath }, "Sign in");
    return card("Choose your password", () => () => {
        const { invited, fault, ended } = data;
        if (invited) {
            return passwordForm(token, invited, leave);
        }
        if (ended) {
            return [
                t.div({ className: "alert danger", role: "alert" }, "This invitation was used, replaced, or has expired."),
                t.p(null, "If you have already chosen a password, sign in with it. Otherwise, ask the person who invited you for a new invitation."),
                leave,
            ];
        }
        return fault ? [
            t.div({ className: "alert danger", role: "alert" }, fault),
            t.button({ type: "button", className: "btn lg block", onclick: open }, t.span({ className: "txt" }, "Try again")),
        ] : t.div({ className: "skeleton-loader lg", role: "status", ariaLabel: "Loading" });
    });
}

/**
 * @param {string} token
 * @param {Invited} invited
 * @param {Child} leave the way to the sign-in
 */
function passwordForm(token, { email, tenant }, leave) {
    const data = store({ password: "", confirmation: "", busy: false, fault: "", said: "" });
    // the browser's own check of a required field would leave no message beside it
    const attributes = /** @type {const} */ ({ type: "password", autocomplete: "new-password", "html-aria-required": "true" });

    async function accept() {
        const { password, confirmation } = data;
        if (password.length < minPassword) {
            throw fieldFault("password", `Choose a password of at least ${minPassword} characters.`);
        }
        if (password !== confirmation) {
            throw fieldFault("confirmation", "The passwords differ. Enter the same password twice.");
        }
        await client.send("/api/integrations/invitations/accept", { method: "POST", body: { token, password } });
        sessionStorage.removeItem(invitationKey);
        return "Your password is set. Sign in with your email address and this password.";
    }

    return t.div(null, () => (data.said ? t.div({ className: "integrations-form" }, t.div({ className: "alert success", role: "status" }, data.said), leave) : t.div(
        { className: "integrations-form" },
        t.p({ className: "portal-invited" }, "You are invited to ", t.strong({ dir: "auto" }, tenant), ". You will sign in as ", t.strong({ dir: "auto" }, email), "."),
        cardForm({
            state: data,
            fields: [
                textField("Password", data, "password", { ...attributes, autofocus: true, help: `At least ${minPassword} characters.` }),
                textField("Repeat the password", data, "confirmation", attributes),
            ],
            submit: "Set password",
            run: accept,
            more: leave,
        }),
    )));
}
