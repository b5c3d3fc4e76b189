package docs

import (
	"fmt"
	"strings"

	"contactbase/clients"
)

// ForModels returns what an installation at the base address offers to a language model, in the form of
// https://llmstxt.org.
func ForModels(base string, served clients.Names) string {
	var out strings.Builder
	link := func(path, title, about string) {
		fmt.Fprintf(&out, "- [%s](%s%s): %s\n", title, base, path, about)
	}
	out.WriteString("# Contactbase\n\n" +
		"> The contacts API of a CRM: a REST API with API keys, signed webhooks and a feed of events.\n\n" +
		"Requests need an API key in the header `X-API-Key` or `Authorization: Bearer`. An administrator creates keys.\n" +
		"Check `error.code`, and send an `Idempotency-Key` with each POST request, so that you can retry it " +
		"safely.\n\n## API\n\n")
	link("/openapi.json", "OpenAPI 3.1 document", "all operations with examples")
	link("/mcp", "MCP server", "tools for contacts, over Streamable HTTP with an API key")
	link("/api/ext/v1", "Base URL", "the address of all operations for integrators")
	out.WriteString("\n## Clients\n\n")
	link("/docs/clients/"+served.NPM, served.NPM, "TypeScript and JavaScript: `npm install` with this address")
	link("/docs/clients/"+served.Python, served.Python, "Python: `pip install` with this address")
	link("/docs/clients/"+served.Go, served.Go, "Go: unpack it, and refer to it with `replace` in `go.mod`")
	for _, chapter := range chapters() {
		fmt.Fprintf(&out, "\n## %s\n\n", chapter.Title)
		for _, page := range chapter.Pages {
			about := "operations and their examples"
			if !page.IsWide && page.Name != allOperations {
				about = firstSentence(page.Sections[0].Text)
			}
			link("/"+page.Address(), page.Title, about)
		}
	}
	return out.String()
}

// firstSentence returns the beginning of a text.
func firstSentence(text string) string {
	if sentence, _, found := strings.Cut(text, ". "); found {
		return sentence
	}
	return strings.TrimRight(text, ".:")
}
