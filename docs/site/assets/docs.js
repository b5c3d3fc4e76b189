// Searches the operations, the error codes and the guides, gives examples the address of this installation, shows them in the language
// of the reader, and copies them.

import { rank } from "./search.js";

/** @typedef {import("./search.js").Section} Section */

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

async function look() {
  const query = input.value.trim();
  const fits = query ? rank(await load(), query) : [];
  found.hidden = !query;
  found.replaceChildren(...fits.slice(0, maxFound).map((section) => {
    const [item, link, where] = [document.createElement("li"), document.createElement("a"), document.createElement("span")];
    link.href = root + section.address;
    link.textContent = section.heading || section.page;
    where.textContent = section.path || (section.heading ? section.page : section.text.slice(0, 60).replace(/\S*$/, "…"));
    item.append(link, where);
    return item;
  }));
  if (query && !fits.length) {
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
addEventListener("keydown", (event) => {
  const isTyping = event.target instanceof Element && event.target.matches("input, textarea, select");
  if (event.key === "/" && !isTyping || event.key === "k" && (event.ctrlKey || event.metaKey)) {
    event.preventDefault();
    input.focus();
  }
});
if (document.activeElement === input && input.value) { // somebody typed before this script ran
  look();
}

/** The address of a sample installation in all examples. */
const sample = "https://crm.example.com";

for (const code of document.querySelectorAll("article code")) {
  if (code.closest(".samples") || /\/api\/|\/mcp|\/openapi|\/docs\/clients|CONTACTBASE_KEY/.test(code.textContent || "")) {
    const texts = document.createTreeWalker(code, NodeFilter.SHOW_TEXT);
    while (texts.nextNode()) {
      texts.currentNode.nodeValue = (texts.currentNode.nodeValue || "").replaceAll(sample, root.replace(/\/$/, ""));
    }
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
 * Shows all samples in one language. Those that lack it show JavaScript for TypeScript, or their first one.
 *
 * @param {string} language
 */
function speak(language) {
  for (const samples of document.querySelectorAll(".samples")) {
    const figures = /** @type {HTMLElement[]} */ ([...samples.querySelectorAll("figure")]);
    const has = (/** @type {string} */ name) => figures.some(({ dataset }) => dataset.language === name);
    const other = { js: "ts", ts: "js" }[language] || "";
    const shown = has(language) ? language : has(other) ? other : figures[0]?.dataset.language;
    for (const figure of figures) {
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
