package docs

import (
	"bytes"
	"html/template"
	"regexp"
	"slices"
	"strings"
	"sync"

	"contactbase/docs/reference"
)

// errorsPage is the guide that says what to do about each code of an error.
const errorsPage = "errors-and-limits"

// allOperations is the page that lists all operations.
const allOperations = "reference"

// referencePages returns the pages of the API reference: one with all operations, and one for each group.
func referencePages() []Page {
	layout := template.Must(template.New("").Funcs(template.FuncMap{
		"markdown": describe, "answer": describeAnswer, "join": strings.Join, "parameters": newParameters,
		"highlight": highlight,
	}).ParseFS(site, "site/reference.html"))
	render := func(name string, data any) template.HTML {
		var out bytes.Buffer
		if err := layout.ExecuteTemplate(&out, name, data); err != nil {
			panic("docs: " + err.Error()) // unreachable: a test renders all pages
		}
		return template.HTML(out.String()) // what the document says is our own, and the template has escaped it
	}
	groups := reference.Groups()
	pages := []Page{{Name: allOperations, Title: "All operations", Body: render("all", groups)}}
	for _, group := range groups {
		page := Page{Name: "api-" + group.Slug, Title: group.Name, Body: render("group", group), IsWide: true}
		for _, operation := range group.Operations {
			page.Sections = append(page.Sections, endpoint(page, operation))
		}
		pages = append(pages, page)
	}
	return pages
}

// endpoint is an operation as a search finds it.
func endpoint(page Page, operation reference.Operation) section {
	names := []string{}
	for _, parameter := range operation.Parameters {
		names = append(names, parameter.Name)
	}
	return section{
		Page: "API: " + page.Title, Heading: operation.Summary,
		Address: page.Address() + "#" + operation.ID, ID: operation.ID,
		Path: operation.Method + " " + operation.Path, Text: operation.Description + " " + strings.Join(names, " "),
	}
}

// parameters are those of an operation that are in the same place.
type parameters struct {
	Title string
	List  []reference.Parameter
}

func newParameters(operation reference.Operation, in, title string) parameters {
	found := parameters{Title: title}
	for _, parameter := range operation.Parameters {
		if parameter.In == in {
			found.List = append(found.List, parameter)
		}
	}
	return found
}

// describe renders a description. The pages of the reference are beside the guides.
func describe(text string) template.HTML {
	if known, isKnown := described.Load(text); isKnown {
		return known.(template.HTML)
	}
	_, body := markdown([]byte(text), siteLink("reference"))
	html := template.HTML(headless.ReplaceAllString(scrollable.Replace(coloured(body)), "<p><strong>$1</strong></p>"))
	described.Store(text, html)
	return html
}

// described has the descriptions that were rendered, by their text: many operations share their parameters,
// headers and answers.
var described sync.Map

// headless matches headings, which a description must not add to those of the page.
var headless = regexp.MustCompile(`<h[1-6][^>]*>(.*?)</h[1-6]>`)

// describeAnswer renders the description of an answer. The codes of errors lead to what to do about them.
func describeAnswer(answer reference.Answer) template.HTML {
	return template.HTML(coded.ReplaceAllStringFunc(string(describe(answer.Description)), func(code string) string {
		name := coded.FindStringSubmatch(code)[1]
		if !slices.Contains(reference.Codes(), name) {
			return code
		}
		return `<a href="` + errorsPage + "#" + name + `">` + code + "</a>"
	}))
}

// coded matches a name in the text.
var coded = regexp.MustCompile(`<code>([a-z_]+)</code>`)

// anchored gives the guide about errors an anchor at the first mention of each code, which the reference and
// the search lead to.
func anchored(body string) string {
	for _, code := range reference.Codes() {
		body = strings.Replace(body, "<code>"+code+"</code>", `<code id="`+code+`">`+code+"</code>", 1)
	}
	return body
}
