// What needs attention: one block for each kind of problem, and in it one line for each tenant and reason.

/** How many lines of a block are shown at once; the others fold. */
const maxLines = 3;

/** How many names a line has. */
const maxNames = 3;

/** @param {Overview} overview */
function overviewProblems({ problems, counts, more }) {
    if (!problems.length) {
        return t.p({ className: "integrations-well", role: "status" }, t.i({ className: "ri-checkbox-circle-line", ariaHidden: true }), " Nothing needs your attention.");
    }
    return t.section(
        { className: "integrations-problems", ariaLabel: "Needs your attention" },
        t.h2({ className: "integrations-subtitle" }, "Needs your attention"),
        t.ul(null, [...Map.groupBy(problems, ({ kind }) => kind)].map(([kind, alike]) => problemBlock(kind, alike, counts[kind] || alike.length))),
        more ? t.p({ className: "txt-hint" }, "Only the first 20 problems of each kind are listed here.") : null,
    );
}

/**
 * @param {Problem["kind"]} kind
 * @param {Problem[]} problems the first of this kind
 * @param {number} all how many there are
 */
function problemBlock(kind, problems, all) {
    const { title, style } = problemKind(kind, all);
    const health = kind === "webhook_failing" ? "failing" : kind === "webhook_disabled" ? "disabled" : "";
    const lines = [...Map.groupBy(problems, problemGroup).values()].map((alike) => problemLine(kind, alike));
    const folded = lines.slice(maxLines);
    return t.li(
        { className: style },
        t.h3(null, title, health && all > maxLines ? [" · ", t.a({ href: `${integrationsPath}/webhooks?health=${health}` }, "Show all")] : null),
        t.ul(null, lines.slice(0, maxLines)),
        folded.length ? t.details(
            { className: "integrations-details" },
            t.summary(null, `Show ${count(folded.length)} more`),
            t.ul(null, folded),
        ) : null,
    );
}

/**
 * Problems of a kind with the same group share a line. What has numbers of its own stands alone.
 *
 * @param {Problem} problem
 */
function problemGroup({ kind, id, tenant, detail }) {
    return kind === "webhook_disabled" ? `${tenant?.id} ${detail}` : id + detail;
}

/**
 * @param {Problem["kind"]} kind
 * @param {number} number
 */
function problemKind(kind, number) {
    switch (kind) {
        case "webhook_disabled":
            return { title: `${plural(number, "webhook is", "webhooks are")} disabled`, style: "danger" };
        case "webhook_failing":
            return { title: `${plural(number, "webhook is", "webhooks are")} failing`, style: "danger" };
        case "deliveries_failed":
            return { title: `${plural(number, "webhook", "webhooks")} missed events in the last 24 hours`, style: "warning" };
        case "key_expires":
            return { title: `${plural(number, "API key expires", "API keys expire")} soon`, style: "warning" };
        default:
            return { title: "Contactbase is not ready", style: "danger" };
    }
}

/**
 * A problem of one or several records of a tenant, and where to fix it.
 *
 * @param {Problem["kind"]} kind
 * @param {Problem[]} problems of one group
 */
function problemLine(kind, problems) {
    const [first] = problems;
    if (!first) {
        return null;
    }
    const { tenant, detail, name, at } = first;
    const { text, link, href } = problemLabel(kind, first, problems.length);
    const names = problems.slice(0, maxNames).map((problem) => problem.name).join(", ") + (problems.length > maxNames ? ` and ${count(problems.length - maxNames)} more` : "");
    return t.li(
        { title: detail && at ? parseTime(at).toLocaleString() : "" },
        t.span(null, tenant && !member() ? [t.span({ className: "txt-hint" }, tenant.name), " · "] : null, t.strong(null, tenant ? names : name), ": ", text),
        t.a({ href }, link),
    );
}

/**
 * @param {Problem["kind"]} kind
 * @param {Problem} problem
 * @param {number} number how many share the line
 * @returns {{ text: Child, link: string, href: string }}
 */
function problemLabel(kind, { id, tenant, detail, at, count: times, of }, number) {
    switch (kind) {
        case "webhook_disabled":
            return {
                text: detail || "disabled by an administrator",
                ...(number > 1 ? { link: "Show them", href: `${integrationsPath}/webhooks?health=disabled&tenant=${tenant?.id}` } : { link: "Show it", href: webhookPath(id) }),
            };
        case "webhook_failing":
            return {
                text: [
                    `${count(times)} of ${plural(of, "attempt")} failed in the last 24 hours`,
                    at ? ["; all since ", timeAgo(at), detail ? `: ${detail}` : ""] : "; the last one succeeded",
                ],
                link: "Show deliveries",
                href: webhookPath(id),
            };
        case "deliveries_failed":
            return { text: `${plural(times, "delivery", "deliveries")} failed permanently`, link: "Show failed deliveries", href: webhookPath(id) + "?status=failed" };
        case "key_expires":
            return { text: ["expires ", timeAgo(at)], link: mayChange() ? "Rotate it" : "Show keys", href: integrationsPath + "/keys" };
        default:
            return { text: detail, link: "Show the log", href: "#/logs" };
    }
}
