// Searches the operations, the error codes and the guides, gives examples the address of this installation, shows them in the language
// of the reader, and copies them.

/** @typedef {{ page: string, heading: string, path?: string, address: string, text: string }} Section */

const search = /** @type {HTMLElement} */ (document.querySelector("search"));
const input = /** @type {HTMLInputElement} */ (document.getElementById("search"));
const found = /** @type {HTMLOListElement} */ (document.getElementById("found"));
const menu = /** @type {HTMLElement} */ (document.getElementById("menu"));
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
function fit({ page, heading, path = "", text }, words) {
  const [title, body] = [`${page} ${heading} ${path}`.toLowerCase(), text.toLowerCase()];
  if (!words.every((word) => title.includes(word) || body.includes(word))) {
    return 0;
  }
  return 1 + 10 * words.filter((word) => title.includes(word)).length + (heading.toLowerCase() === words.join(" ") ? 100 : 0);
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
    where.textContent = section.path || (section.heading ? section.page : section.text.slice(0, 60).replace(/\S*$/, "…"));
    item.append(link, where);
    return item;
  }));
  if (words.length && !fits.length) {
    found.append(Object.assign(document.createElement("li"), { textContent: "Nothing found" }));
  }
}

/** Ends the search, and the menu of a narrow screen. */
function leave() {
  found.hidden = true;
  if (menu.matches(":popover-open")) {
    menu.hidePopover();
  }
}

input.addEventListener("focus", load);
input.addEventListener("input", look);
input.addEventListener("keydown", ({ key }) => {
  if (key === "ArrowDown") {
    found.querySelector("a")?.focus();
  }
});
for (const links of [found, menu]) {
  links.addEventListener("click", ({ target }) => {
    if (target instanceof HTMLElement && target.closest("a")) {
      leave();
    }
  });
}
search.addEventListener("keydown", ({ key }) => {
  if (key === "Escape") {
    leave();
    input.focus();
  }
});
if (document.activeElement === input && input.value) { // somebody typed before this script ran
  look();
}

/** The address of a sample installation in all examples. */
const sample = "https://crm.example.com";

for (const code of document.querySelectorAll("article code")) {
  if (code.closest(".samples") || /\/api\/|\/mcp|\/openapi|\/docs\/clients/.test(code.textContent || "")) {
    code.textContent = (code.textContent || "").replaceAll(sample, root.replace(/\/$/, ""));
  }
}

for (const code of document.querySelectorAll("article pre code")) {
  const block = /** @type {HTMLPreElement} */ (code.parentElement);
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

/** Where the browser remembers the language of the samples. */
const languageKey = "contactbase-docs-language";

/**
 * Shows all samples in one language, and those that lack it with curl.
 *
 * @param {string} language
 */
function speak(language) {
  for (const samples of document.querySelectorAll(".samples")) {
    const shown = samples.querySelector(`figure[data-language="${CSS.escape(language)}"]`) ? language : "curl";
    for (const figure of /** @type {NodeListOf<HTMLElement>} */ (samples.querySelectorAll("figure"))) {
      figure.hidden = figure.dataset.language !== shown;
    }
    for (const button of /** @type {NodeListOf<HTMLElement>} */ (samples.querySelectorAll(".languages button"))) {
      button.ariaPressed = String(button.dataset.language === shown);
    }
  }
}

/** Without this script the samples stand one below the other. */
for (const samples of document.querySelectorAll(".samples")) {
  const languages = Object.assign(document.createElement("div"), { className: "languages", role: "group", ariaLabel: "Language" });
  for (const figure of /** @type {NodeListOf<HTMLElement>} */ (samples.querySelectorAll("figure"))) {
    const caption = /** @type {HTMLElement} */ (figure.querySelector("figcaption"));
    const button = Object.assign(document.createElement("button"), { type: "button", textContent: caption.textContent });
    button.dataset.language = figure.dataset.language;
    button.addEventListener("click", () => {
      const before = button.getBoundingClientRect().top;
      speak(button.dataset.language || "");
      scrollBy({ top: button.getBoundingClientRect().top - before, behavior: "instant" }); // samples above have another height
      try {
        localStorage.setItem(languageKey, button.dataset.language || "");
      } catch { /* a browser that keeps nothing shows curl again */ }
    });
    caption.hidden = true;
    languages.append(button);
  }
  samples.prepend(languages);
}
let language = "curl";
try {
  language = localStorage.getItem(languageKey) || language;
} catch { /* a browser that keeps nothing */ }
speak(language);
document.getElementById(decodeURIComponent(location.hash.slice(1)))?.scrollIntoView(); // the samples have become shorter
