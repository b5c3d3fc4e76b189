// Says whether this installation is healthy, and keeps looking.

/** @param {HTMLElement} health where it says so */
async function look(health) {
  let state = "down";
  try {
    const answer = await fetch("api/health", { cache: "no-store", signal: AbortSignal.timeout(5000) });
    state = answer.ok ? "up" : "down";
  } catch {
    // it cannot be reached, or takes too long: down either way
  }
  const text = state === "up" ? "The server is running." : "The server does not respond.";
  if (health.textContent !== text) {
    health.textContent = text; // read aloud when it changes, and only then
  }
  health.dataset.state = state;
}

const health = document.getElementById("health");
if (health) { // a page of one's own, in the folder pb_public, may have none
  look(health);
  setInterval(() => document.visibilityState === "visible" && look(health), 15_000);
}
