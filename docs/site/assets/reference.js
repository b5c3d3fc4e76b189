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
}

const reference = /** @type {HTMLElement} */ (document.getElementById("reference")); // the page has it
new MutationObserver(() => nameParts(reference)).observe(reference, { childList: true, subtree: true });

SwaggerUIBundle({
  url: new URL("/openapi.json", location.href).href,
  domNode: reference,
  deepLinking: true,
  docExpansion: "list",
  defaultModelsExpandDepth: 0,
  supportedSubmitMethods: [], // no "Try it out"
  validatorUrl: null,
  plugins: [readOnly],
  syntaxHighlight: false,
});
