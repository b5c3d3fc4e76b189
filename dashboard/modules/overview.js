// The first page: what happens, what is wrong, and where to begin.

function overviewPage() {
    /** @type {{ overview: Overview | null }} */
    const data = store({ overview: null });

    async function load() {
        keep(data, "overview", await callIntegrations("GET", "/overview"));
    }

    /** @param {(step: OverviewStep) => number[]} values */
    const steps = (values) => () => data.overview && data.overview.steps.map((step) => ({ start: step.start, values: values(step) }));

    return integrationsPage({
        title: "Overview",
        load,
        content: () => [
            () => (data.overview ? overviewProblems(data.overview) : t.div({ className: "skeleton-loader", role: "status", ariaLabel: "Loading" })),
            t.h2({ className: "integrations-subtitle" }, "The last 24 hours"),
            t.div(
                { className: "integrations-charts" },
                chart({ label: "New contacts", series: [{ name: "Created", tone: "plain" }], steps: steps(({ created }) => [created]) }),
                chart({
                    label: "Events",
                    series: [{ name: "Created", tone: "plain" }, { name: "Updated", tone: "good" }, { name: "Deleted", tone: "waits" }],
                    steps: steps(({ created, updated, deleted }) => [created, updated, deleted]),
                }),
                chart({ label: "Attempts to deliver", series: attemptSeries, steps: steps(({ delivered, retried, failed }) => [delivered, retried, failed]) }),
                chart({ label: "Refused API calls", series: [{ name: "Refused", tone: "bad" }], steps: steps(({ refused }) => [refused]) }),
            ),
            () => (data.overview?.contacts === 0 ? firstStepsHint() : null),
        ],
    });
}

/** @param {Overview} overview */
function overviewProblems({ problems, more }) {
    if (!problems.length) {
        return t.p({ className: "integrations-well", role: "status" }, t.i({ className: "ri-checkbox-circle-line", ariaHidden: true }), " Nothing needs your attention.");
    }
    return t.section(
        { className: "integrations-problems", ariaLabel: "What needs your attention" },
        t.h2({ className: "integrations-subtitle" }, "Needs your attention"),
        t.ul(null, problems.map((problem) => {
            const { text, link, href, style } = problemLabel(problem);
            return t.li({ className: style }, t.span(null, text), t.a({ href }, link));
        })),
        more ? t.p({ className: "txt-hint" }, "There are more of the same kinds.") : null,
    );
}

/**
 * What is wrong, and where it is mended.
 *
 * @param {Problem} problem
 * @returns {{ text: Child, link: string, href: string, style: string }}
 */
function problemLabel({ kind, id, name, detail, at, count: times }) {
    const called = t.strong(null, name);
    switch (kind) {
        case "webhook_disabled":
            return { text: [called, ` gets nothing: it is disabled. ${detail}`], link: "Enable it", href: integrationsPath + "/webhooks", style: "danger" };
        case "webhook_failing":
            return {
                text: [called, ` fails: none of ${plural(times, "attempt")} since `, t.span(null, stepName(at || "", false)), " succeeded."],
                link: "Its deliveries",
                href: deliveriesPath(id),
                style: "danger",
            };
        case "deliveries_failed":
            return { text: [called, ` missed ${plural(times, "event")}: they were given up.`], link: "Deliver them again", href: deliveriesPath(id) + "?status=failed", style: "warning" };
        case "key_expires":
            return { text: ["The key ", called, ` of ${detail} expires `, timeAgo(at), "."], link: "Replace it", href: integrationsPath + "/keys", style: "warning" };
        default:
            return { text: ["The program is not ready: ", detail, ` (${name})`], link: "The log", href: "#/logs", style: "danger" };
    }
}

function firstStepsHint() {
    return emptyState(
        "ri-rocket-line",
        "No contacts yet",
        "The first steps lead to the first one.",
        t.a({ className: "btn expanded", href: integrationsPath + "/start" }, t.span({ className: "txt" }, "First steps")),
    );
}
