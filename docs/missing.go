package docs

import (
	"bytes"
	"html/template"
)

// Missing returns the page for an address that does not exist. root leads from there to the root of the program.
func Missing(root string) []byte {
	page := Page{Name: "404", Title: "Page not found", Body: template.HTML(`<h1>Page not found</h1>
<p>There is no page at this address. Search the documentation, or continue with one of these:</p>
<ul>
<li><a href="` + template.HTMLEscapeString(root) + `docs">Documentation</a></li>
<li><a href="` + template.HTMLEscapeString(root) + `_/">Dashboard</a>, for administrators</li>
<li><a href="` + template.HTMLEscapeString(root) + `portal/">Portal</a>, for members</li>
</ul>`)}
	var out bytes.Buffer
	if err := layout().Execute(&out, view{Page: page, Chapters: chapters(), Root: root}); err != nil {
		panic("docs: " + err.Error()) // unreachable: a test renders it
	}
	return out.Bytes()
}
