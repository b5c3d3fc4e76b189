// The line below the title of a page: the copy that the server keeps outside of its machine.

/** @type {{ status: Replica | null }} */
const replica = store({ status: null });

async function loadStatus() {
    keep(replica, "status", await callIntegrations("GET", "/replica"));
}

/** Its faults stand on each page, a healthy state only on the overview. Nothing where the server keeps none. */
function statusLine() {
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
