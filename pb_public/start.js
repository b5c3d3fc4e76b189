// Says whether this installation is healthy, and keeps looking.

const health = document.getElementById("health");

async function look() {
  let state = "down";
  try {
    const answer = await fetch("/api/health", { cache: "no-store", signal: AbortSignal.timeout(5000) });
    state = answer.ok ? "up" : "down";
  } catch {
    // it cannot be reached, or takes too long: down either way
  }
  const text = state === "up" ? "It is healthy." : "It does not answer.";
  if (health.textContent !== text) {
    health.textContent = text; // read aloud when it changes, and only then
  }
  health.dataset.state = state;
}

look();
setInterval(() => document.visibilityState === "visible" && look(), 15_000);
