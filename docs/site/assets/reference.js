// Shows the description of this installation's API. It is for reading: the page has no place for a key, because a key
// never belongs in a browser.

const nothing = () => () => null;

/** Shows only the text of a link. */
const textOnly = () => (/** @type {{ text: string }} */ { text }) => text;

/** Parts of Swagger UI that are left out or replaced. */
const readOnly = () => ({
  wrapComponents: {
    authorizeBtn: nothing,
    authorizeOperationBtn: nothing,
    JsonSchemaForm: nothing, // the inputs of parameters
    ServersContainer: nothing, // there is one server: this one
    CopyToClipboardBtn: nothing,
    InfoContainer: nothing, // the operations come first; the guides say what it says
    DeepLink: textOnly, // a link inside of the button that opens an operation cannot be reached
  },
});

/**
 * Names what Swagger UI leaves without a name, and lets the keyboard scroll what is wider than the screen.
 *
 * @param {HTMLElement} reference
 */
function nameParts(reference) {
  for (const select of reference.querySelectorAll("select:not([aria-label])")) {
    select.setAttribute("aria-label", select.closest(".examples-select") ? "Example" : "Media type");
  }
  for (const block of /** @type {NodeListOf<HTMLPreElement>} */ (reference.querySelectorAll("pre:not([tabindex])"))) {
    block.tabIndex = 0;
  }
  for (const link of reference.querySelectorAll('a[href^="/docs/"]')) {
    link.setAttribute("href", (link.getAttribute("href") || "").slice(1)); // a proxy may have put the program below a path
  }
}

const reference = /** @type {HTMLElement} */ (document.getElementById("reference")); // the page has it
new MutationObserver(() => nameParts(reference)).observe(reference, { childList: true, subtree: true });

/**
 * Opens an operation.
 *
 * @param {string} id of its place
 */
function show(id) {
  const place = document.getElementById(id);
  if (place && !place.classList.contains("is-open")) {
    place.querySelector("button")?.click();
  }
  place?.scrollIntoView();
}

// A search leads to an operation as Swagger UI addresses it, which looks there only while the page is loaded.
addEventListener("hashchange", () => {
  const [, tag, operation] = location.hash.match(/^#\/([^/]+)\/([^/]+)$/) || [];
  if (tag && operation) {
    show(`operations-${decodeURIComponent(tag).replaceAll(" ", "_")}-${operation}`);
  }
});

/** @typedef {{ tags: string[], operationId: string, summary: string }} Operation */

/**
 * Lists the operations by their tags. Each leads to its place, and opens it.
 *
 * @param {{ paths: Record<string, Record<string, Operation>>, webhooks?: Record<string, Record<string, Operation>> }} description
 */
function listOperations({ paths, webhooks = {} }) {
  const index = /** @type {HTMLDetailsElement} */ (document.getElementById("endpoints"));
  const nav = /** @type {HTMLElement} */ (index.querySelector("nav"));
  /** @type {Record<string, HTMLElement>} */
  const groups = {};
  for (const operation of [...Object.values(paths), ...Object.values(webhooks)].flatMap((item) => Object.values(item))) {
    const tag = operation.tags?.[0];
    if (!tag) {
      continue; // the parameters of a path
    }
    groups[tag] ||= nav.appendChild(document.createElement("section"));
    if (!groups[tag].firstChild) {
      groups[tag].append(Object.assign(document.createElement("h2"), { textContent: tag }));
    }
    const id = `operations-${tag.replaceAll(" ", "_")}-${operation.operationId}`;
    const link = Object.assign(document.createElement("a"), { href: "#" + id, textContent: operation.summary });
    link.addEventListener("click", (event) => {
      event.preventDefault();
      show(id);
    });
    groups[tag].append(link);
  }
  index.open = matchMedia("(min-width: 1100px)").matches; // where it has room at the side
  index.hidden = false;
}

const description = await fetch(new URL("openapi.json", location.href)).then((answer) => answer.json());
listOperations(description);

SwaggerUIBundle({
  spec: description,
  domNode: reference,
  deepLinking: true,
  docExpansion: "list",
  defaultModelsExpandDepth: 0,
  supportedSubmitMethods: [], // no "Try it out"
  validatorUrl: null,
  plugins: [readOnly],
  syntaxHighlight: false,
});
