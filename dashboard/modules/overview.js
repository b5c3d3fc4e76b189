// The first page: what needs attention, and what happens. The problems are in problems.js.

function overviewPage() {
    /** @type {{ overview: (Overview & { period: Period }) | null, period: Period | "" }} */
    const data = store({ overview: null, period: "" });

    async function load() {
        keep(data, "overview", await loadActivity(data, async (period) => (await sendIntegrations("GET", "/overview", { query: { period } })).data));
    }

    /** @param {(step: OverviewStep) => number[]} values */
    const steps = (values) => () => chartData(data.overview, values);

    return integrationsPage({
        title: "Overview",
        load,
        content: () => [
            () => (data.overview ? overviewProblems(data.overview) : t.div({ className: "skeleton-loader", role: "status", ariaLabel: "Loading" })),
            () => (data.overview?.contacts === 0 && mayChange() ? firstStepsHint() : null),
            () => (data.overview ? overviewFigures(data.overview) : null),
            t.div({ className: "integrations-section" }, t.h2({ className: "integrations-subtitle" }, "Activity"), periodButtons(data)),
            t.div(
                { className: "integrations-charts" },
                chart({ label: "New contacts", series: [{ name: "Created", tone: "plain" }], data: steps(({ created }) => [created]) }),
                chart({
                    label: "Events",
                    series: [{ name: "Created", tone: "plain" }, { name: "Updated", tone: "good" }, { name: "Deleted", tone: "waits" }],
                    data: steps(({ created, updated, deleted }) => [created, updated, deleted]),
                }),
                chart({ label: "Delivery attempts", series: attemptSeries, data: steps(({ delivered, retried, failed }) => [delivered, retried, failed]) }),
                chart({
                    label: "API calls",
                    series: [{ name: "Succeeded", tone: "plain" }, { name: "Rejected or failed", tone: "bad" }],
                    data: steps(({ calls, refused }) => [calls - refused, refused]),
                }),
            ),
            () => (data.overview?.notices.length ? latestNotices(data.overview.notices) : null),
        ],
    });
}

/**
 * The latest notices, and what became of their emails.
 *
 * @param {Notice[]} rows
 */
function latestNotices(rows) {
    return t.section(
        { ariaLabel: "Latest notices" },
        t.h2({ className: "integrations-subtitle" }, "Latest notices"),
        table({
            label: "Latest notices",
            data: { rows },
            empty: () => null,
            columns: [
                { name: "Notice", className: "integrations-grows", cell: ({ title, detail }) => t.div({ className: "integrations-named" }, t.strong(null, middleCut(title)), t.span({ className: "txt-hint integrations-ellipsis", title: detail }, detail)) },
                { name: "Tenant", className: "integrations-shrinks integrations-roomy", cell: ({ tenant }) => (tenant ? middleCut(tenant.name) : t.span({ className: "txt-hint" }, "–")) },
                { name: "State", cell: ({ lasts }) => (lasts ? t.span({ className: "label warning" }, "Lasts") : t.span({ className: "txt-hint" }, "–")) },
                { name: "Emails", className: "integrations-roomy", cell: ({ emails }) => noticeEmails(emails) },
                { name: "Time", cell: ({ created }) => timeAgo(created) },
            ],
        }),
    );
}

/** @param {Notice["emails"]} emails */
function noticeEmails({ sent, waiting, givenUp }) {
    const parts = [[sent, "sent"], [waiting, "waiting"], [givenUp, "given up"]].filter(([number]) => number);
    return parts.length ? parts.map(([number, state]) => `${number} ${state}`).join(", ") : "No recipients";
}

/**
 * How many webhooks are in which state, and what is pending.
 *
 * @param {Overview} overview
 */
function overviewFigures({ webhooks, pending, oldestPending }) {
    const states = /** @type {[HealthState, number][]} */ (Object.entries(webhooks)).filter(([, number]) => number);
    if (!states.length) {
        return null;
    }
    return t.p(
        { className: "integrations-figures" },
        t.span(null, "Webhooks: "),
        states.map(([state, number]) => t.a(
            { href: `${integrationsPath}/webhooks?health=${state}`, className: `label ${healthStates[state].style}` },
            `${count(number)} ${healthStates[state].text.toLowerCase()}`,
        )),
        t.span(null, pending
            ? [t.a({ href: `${integrationsPath}/webhooks?sort=-pending` }, `${cappedCount(pending)} pending ${pending === 1 ? "delivery" : "deliveries"}`), ", the oldest from ", timeAgo(oldestPending)]
            : "No pending deliveries"),
    );
}

function firstStepsHint() {
    return emptyState(
        "ri-rocket-line",
        "No contacts yet",
        "The first steps guide you to your first event.",
        forEditors(t.a({ className: "btn expanded", href: integrationsPath + "/start" }, t.span({ className: "txt" }, "First steps"))),
    );
}
