// The lines below the title of a page: the warnings of the server, and the copy that it keeps outside of its machine.

/** @type {{ status: Replica | null, warnings: string[] }} */
const replica = store({ status: null, warnings: [] });

async function loadStatus() {
    const [status, ready] = await Promise.all([callIntegrations("GET", "/replica"), fetch(app.pb.buildURL("/readyz"))]);
    /** @type {{ warnings?: string[] }} */
    const { warnings = [] } = await ready.json();
    keep(replica, "status", status);
    keep(replica, "warnings", warnings);
}

function statusLine() {
    return [...warningLines(), replicaLine()];
}

/** What will fail, such as emails that servers reject. It stands on the overview. */
function warningLines() {
    const warnings = app.store.title === "Overview" ? replica.warnings : [];
    return warnings.map((warning) => t.p({ className: "integrations-replica alert warning", role: "status" }, warning));
}

/** Faults of the replica stand on each page, a healthy state only on the overview. Nothing where the server keeps none. */
function replicaLine() {
    const { status } = replica;
    const faults = status?.faults.join("; ");
    if (!status || !faults && app.store.title !== "Overview") {
        return null;
    }
    return t.p(
        { className: faults ? "integrations-replica alert danger" : "integrations-replica txt-hint", role: "status" },
        t.strong(null, "Replica: "),
        faults ? faults : [replicaLabel(status), ", ", restoreTestLabel(status), "."],
    );
}

/** @param {Replica} status */
function replicaLabel({ state, mode, lagSeconds }) {
    if (state !== "active") {
        return "creating the first copy";
    }
    if (mode === "sync") {
        return "up to date before each response";
    }
    return lagSeconds < 2 ? "up to date" : `${Math.round(lagSeconds)} s behind`;
}

/** @param {Replica} status */
function restoreTestLabel({ drill }) {
    return drill ? ["last restore test ", timeAgo(drill.at), `, ${drill.rows.toLocaleString("en")} rows compared`] : "no restore test yet";
}
