package docs

import (
	"cmp"
	"encoding/json"
	"html"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"

	"contactbase/api"
)

// reference is what the search calls the page of the endpoints.
const reference = "Reference"

// section is an endpoint, or a part of a guide, that a search can find.
type section struct {
	Page    string `json:"page"`    // the title of the guide
	Heading string `json:"heading"` // "" for what comes before the first
	Address string `json:"address"` // relative to the root of the program
	Text    string `json:"text"`
}

var (
	headings = regexp.MustCompile(`<h[23] id="([^"]+)">`)
	tags     = regexp.MustCompile(`<[^>]*>`)
	spaces   = regexp.MustCompile(`\s+`)
)

// SearchIndex returns the endpoints and the sections of all guides as JSON: what a page needs to search through them by itself.
var SearchIndex = sync.OnceValue(func() []byte {
	sections := endpoints()
	for _, name := range guides {
		page := guide(name)
		sections = append(sections, page.sections()...)
	}
	encoded, err := json.Marshal(sections)
	if err != nil {
		panic("docs: " + err.Error()) // unreachable: they are strings
	}
	return encoded
})

// endpoints returns the operations of the API, by their paths.
func endpoints() (all []section) {
	var description struct {
		Paths map[string]map[string]json.RawMessage `json:"paths"`
	}
	if err := json.Unmarshal(api.JSON(), &description); err != nil {
		panic("docs: " + err.Error()) // unreachable: the document is embedded
	}
	for path, operations := range description.Paths {
		for method, encoded := range operations {
			var operation struct {
				Tags        []string `json:"tags"`
				OperationID string   `json:"operationId"`
				Summary     string   `json:"summary"`
				Description string   `json:"description"`
			}
			if json.Unmarshal(encoded, &operation) != nil || len(operation.Tags) == 0 {
				continue // the parameters of a path
			}
			all = append(all, section{
				Page: reference, Heading: operation.Summary,
				Address: "docs#/" + url.PathEscape(operation.Tags[0]) + "/" + operation.OperationID,
				Text:    strings.ToUpper(method) + " " + path + " " + operation.Description,
			})
		}
	}
	slices.SortFunc(all, func(a, b section) int { return cmp.Or(cmp.Compare(a.Address, b.Address), cmp.Compare(a.Text, b.Text)) })
	return all
}

// sections cuts the page at its headings.
func (p Page) sections() []section {
	body := string(p.Body)
	places := append(headings.FindAllStringSubmatchIndex(body, -1), []int{len(body), len(body), 0, 0})
	all := []section{{Page: p.Title, Address: p.Address(), Text: plain(body[:places[0][0]])}}
	for i, place := range places[:len(places)-1] {
		heading, text, _ := strings.Cut(body[place[1]:places[i+1][0]], "</h")
		all = append(all, section{
			Page: p.Title, Heading: plain(heading), Address: p.Address() + "#" + body[place[2]:place[3]], Text: plain(text[strings.Index(text, ">")+1:]),
		})
	}
	return all
}

// plain returns the text of HTML.
func plain(body string) string {
	return strings.TrimSpace(spaces.ReplaceAllString(html.UnescapeString(tags.ReplaceAllString(body, " ")), " "))
}
