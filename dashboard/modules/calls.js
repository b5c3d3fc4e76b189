// Calls to the server, and what to say when they fail.

/**
 * Calls one of the routes of the pages and returns its data.
 *
 * @template {keyof Answers} Path
 * @param {"GET" | "POST"} method
 * @param {Path} path
 * @param {object} [body]
 */
async function callIntegrations(method, path, body) {
    return (await sendIntegrations(method, path, { body })).data;
}

/**
 * Like sendIntegrations, and returns the headers of the response, too.
 *
 * @template {keyof Answers} Path
 * @param {"GET"} method
 * @param {Path} path
 * @param {import("pocketbase").SendOptions} [options]
 */
async function withHeaders(method, path, options) {
    let headers = new Headers();
    const answer = await sendIntegrations(method, path, {
        ...options,
        fetch: async (url, init) => {
            const response = await fetch(url, init);
            headers = response.headers;
            return response;
        },
    });
    return { answer, headers };
}

/**
 * Like callIntegrations, with query parameters, and returns the whole answer.
 *
 * @template {keyof Answers} Path
 * @param {"GET" | "POST" | "PATCH" | "DELETE"} method
 * @param {Path} path
 * @param {import("pocketbase").SendOptions} [options]
 * @returns {Promise<Answer<Path>>}
 */
function sendIntegrations(method, path, options = {}) {
    // without a key of their own, calls to the same path would cancel one another
    return app.pb.send("/api/integrations" + path, { method, requestKey: null, ...options });
}

/**
 * Which records a list has: those that meet all conditions, of which an empty one is none.
 *
 * @typedef {Omit<import("pocketbase").RecordListOptions, "filter"> & { page?: number, perPage?: number, conditions?: string[] }} ListOptions
 */

/**
 * A page of records. Lists never load more than they show.
 *
 * @template {keyof Records} Name
 * @param {Name} collection
 * @param {ListOptions} options
 */
function listRecords(collection, { page = 1, perPage = 25, conditions = [], ...options }) {
    return app.pb.collection(collection).getList(page, perPage, {
        filter: conditions.filter(Boolean).join(" && "),
        requestKey: null,
        ...options,
    });
}

/**
 * What may be known of an error: anything can be thrown.
 *
 * @typedef {object} Failure
 * @property {string} [message]
 * @property {number} [status] 0 without a response
 * @property {{ message?: string, error?: Fault, data?: Record<string, Fault> }} [response]
 */

/**
 * Returns what went wrong as a sentence: our routes answer an error envelope, the records API one of PocketBase's.
 *
 * @param {unknown} error
 * @returns {string}
 */
function errorText(error) {
    const failure = /** @type {Failure | null | undefined} */ (error);
    const answer = failure?.response || {};
    if (answer.error?.message) {
        return answer.error.message;
    }
    const faults = Object.entries(answer.data || {}).map(([field, { message }]) => `${fieldLabel(field)}: ${plainFault(message)}`);
    if (faults.length) {
        return faults.join(" ");
    }
    if (failure?.status === 0) {
        return "The server cannot be reached.";
    }
    return plainFault(answer.message || failure?.message || "Something went wrong.");
}

/**
 * Says in our words what PocketBase says in its own.
 *
 * @param {string} message
 */
function plainFault(message) {
    const [, least, most] = message.match(/^The length must be between (\d+) and (\d+)\.$/) || [];
    if (least) {
        return `Must have ${least} to ${most} characters.`;
    }
    if (message === "Missing or invalid auth record password." || message === "Missing or invalid old password.") {
        return "The current password is wrong.";
    }
    if (/^Failed to (create|update) record\.$/.test(message)) {
        return "You may not do this. Reload the page to see what has changed.";
    }
    const sentence = /^(is|must|may|cannot|has) /.test(message) ? `This ${message}` : message.charAt(0).toUpperCase() + message.slice(1);
    return /[.!?…”)]$/.test(sentence) ? sentence : sentence + ".";
}

/**
 * What the form that is open calls a field of a record.
 *
 * @param {string} name
 */
function fieldLabel(name) {
    /** @type {HTMLInputElement | null | undefined} */
    const input = (app.modals.getTop() || document).querySelector(`[name="${CSS.escape(name)}"]`);
    return input?.labels?.[0]?.textContent || name;
}

/**
 * Whether the server no longer knows who is signed in.
 *
 * @param {unknown} error
 */
function hasNoSession(error) {
    return /** @type {Failure | null | undefined} */ (error)?.status === 401;
}

/**
 * Whether the requested record does not exist, or no longer does.
 *
 * @param {unknown} error
 */
function isNotFound(error) {
    return /** @type {Failure | null | undefined} */ (error)?.status === 404;
}

/**
 * Runs an action of a button; says so when it fails, and tells whether it succeeded.
 *
 * @param {() => unknown} action
 * @param {string} [success]
 */
async function attempt(action, success) {
    try {
        await action();
    } catch (error) {
        if (hasNoSession(error)) {
            app.checkApiError(error); // leads to the login
        } else {
            app.toasts.error(errorText(error), { duration: 6000 });
        }
        return false;
    }
    if (success) {
        app.toasts.success(success);
    }
    return true;
}

/** While a load takes its time, the pauses grow with it: this many times as long. */
const restPerLoad = 10;

/**
 * Calls load now and then every few seconds, for as long as the page is looked at. PocketBase's realtime is no help
 * here: it does not see rows that the engine writes with SQL, nor those of another process.
 *
 * @param {() => Promise<unknown>} load
 * @param {number} [seconds]
 */
function poll(load, seconds = 3) {
    let timer = 0;
    /** @type {Promise<unknown> | null} */
    let running = null;
    let stopped = false;

    function run() {
        running ||= load().finally(() => (running = null));
        return running;
    }

    async function tick() {
        clearTimeout(timer);
        const started = performance.now();
        if (document.visibilityState === "visible") {
            await run();
        }
        if (!stopped) {
            timer = setTimeout(tick, Math.max(seconds * 1000, restPerLoad * (performance.now() - started)));
        }
    }

    const onVisible = () => document.visibilityState === "visible" && tick();
    document.addEventListener("visibilitychange", onVisible);
    tick();

    return {
        /** Loads again, after a load that is under way: that one may have begun before a change. */
        async again() {
            await running;
            return stopped ? undefined : run();
        },
        stop() {
            stopped = true;
            clearTimeout(timer);
            document.removeEventListener("visibilitychange", onVisible);
        },
    };
}

/**
 * Takes over what a poll brought, where it differs: what stays the same is not rendered again.
 *
 * @template T
 * @template {keyof T} Name
 * @param {T} data
 * @param {Name} name
 * @param {T[Name]} value
 */
function keep(data, name, value) {
    if (JSON.stringify(data[name]) !== JSON.stringify(value)) {
        data[name] = value;
    }
}
