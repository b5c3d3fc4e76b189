// Searches the endpoints and the guides, gives examples the address of this installation, and copies them.

/** @typedef {{ page: string, heading: string, address: string, text: string }} Section */

const search = /** @type {HTMLElement} */ (document.querySelector("search"));
const input = /** @type {HTMLInputElement} */ (document.getElementById("search"));
const found = /** @type {HTMLOListElement} */ (document.getElementById("found"));
const root = new URL(search.dataset.root || "./", location.href).href;

/** How many sections a search shows. */
const maxFound = 12;

/** @type {Promise<Section[]> | null} */
let sections = null;

/** Loads what is searched, once somebody searches; again where that failed. */
function load() {
  sections ||= fetch(root + "docs/search.json").then((answer) => answer.json()).catch((error) => {
    sections = null;
    throw error;
  });
  return sections;
}

/**
 * How well a section fits the words, all of which it has to have: 0 for not at all.
 *
 * @param {Section} section
 * @param {string[]} words
 */
function fit({ page, heading, text }, words) {
  const [title, body] = [`${page} ${heading}`.toLowerCase(), text.toLowerCase()];
  if (!words.every((word) => title.includes(word) || body.includes(word))) {
    return 0;
  }
  return 1 + 10 * words.filter((word) => title.includes(word)).length;
}

async function look() {
  const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
  const all = words.length ? await load() : [];
  const fits = all.map((section) => ({ section, points: fit(section, words) })).filter(({ points }) => points).sort((a, b) => b.points - a.points);
  found.hidden = !words.length;
  found.replaceChildren(...fits.slice(0, maxFound).map(({ section }) => {
    const [item, link, where] = [document.createElement("li"), document.createElement("a"), document.createElement("span")];
    link.href = root + section.address;
    link.textContent = section.heading || section.page;
    where.textContent = section.heading ? section.page : section.text.slice(0, 60);
    item.append(link, where);
    return item;
  }));
  if (words.length && !fits.length) {
    found.append(Object.assign(document.createElement("li"), { textContent: "Nothing found" }));
  }
}

input.addEventListener("focus", load);
input.addEventListener("input", look);
if (document.activeElement === input && input.value) { // somebody typed before this script ran
  look();
}

/** The address of a sample installation, in the guides. */
const sample = "https://crm.example.com";

for (const code of document.querySelectorAll("article pre code")) {
  const block = /** @type {HTMLPreElement} */ (code.parentElement);
  if (/\/api\/|\/mcp|\/openapi/.test(code.textContent || "")) {
    code.textContent = (code.textContent || "").replaceAll(sample, root.replace(/\/$/, ""));
  }
  const button = Object.assign(document.createElement("button"), { type: "button", className: "copy", textContent: "Copy" });
  button.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(code.textContent || "");
      button.textContent = "Copied";
    } catch { // without TLS there is no clipboard: what is selected is copied by hand
      getSelection()?.selectAllChildren(code);
      button.textContent = "Selected";
    }
    setTimeout(() => (button.textContent = "Copy"), 2000);
  });
  const frame = Object.assign(document.createElement("div"), { className: "frame" });
  block.replaceWith(frame);
  frame.append(block, button);
}
