package docs

import (
	"encoding/json"
	"html"
	"regexp"
	"strings"
	"sync"

	"contactbase/docs/reference"
)

// section is an operation, an error code or a part of a guide, which a search can find.
type section struct {
	Page    string `json:"page"`           // the title of the page
	Heading string `json:"heading"`        // "" for what comes before the first
	Path    string `json:"path,omitempty"` // of an operation, with its method
	Address string `json:"address"`        // relative to the root of the program
	Text    string `json:"text"`

	ID    string `json:"-"` // of the heading on its page
	IsSub bool   `json:"-"` // whether it is part of the section before it
}

var (
	headings = regexp.MustCompile(`<h[23] id="([^"]+)">`)
	tags     = regexp.MustCompile(`<[^>]*>`)
	spaces   = regexp.MustCompile(`\s+`)
)

// SearchIndex returns the operations, the error codes and the sections of all guides as JSON: the data with which
// a page searches them without the server.
var SearchIndex = sync.OnceValue(func() []byte {
	var operations, guides []section
	for _, chapter := range chapters() {
		for _, page := range chapter.Pages {
			switch {
			case page.IsWide:
				operations = append(operations, page.Sections...)
			case page.Name != allOperations: // its operations are found on their own pages
				guides = append(guides, page.Sections...)
				if page.Name == errorsPage {
					operations = append(operations, codes(string(page.Body))...)
				}
			}
		}
	}
	encoded, err := json.Marshal(append(operations, guides...))
	if err != nil {
		panic("docs: " + err.Error()) // unreachable: they are strings
	}
	return encoded
})

// codes returns the codes of errors, each with the row or the paragraph of the guide that mentions it first.
func codes(body string) (all []section) {
	for _, code := range reference.Codes() {
		before, behind, found := strings.Cut(body, `<code id="`+code+`">`)
		if !found {
			continue
		}
		begin := max(strings.LastIndex(before, "<tr>"), strings.LastIndex(before, "<p>"), strings.LastIndex(before, "<li>"))
		end := regexp.MustCompile(`</tr>|</p>|</li>`).FindStringIndex(behind)
		all = append(all, section{
			Page: "Error code", Heading: code, Address: "docs/" + errorsPage + "#" + code,
			Text: plain(before[max(begin, 0):] + code + behind[:end[0]]),
		})
	}
	return all
}

// sections splits the page at its headings.
func (p Page) sections() []section {
	body := string(p.Body)
	places := append(headings.FindAllStringSubmatchIndex(body, -1), []int{len(body), len(body), 0, 0})
	all := []section{
		{Page: p.Title, Address: p.Address(), Text: strings.TrimPrefix(plain(body[:places[0][0]]), p.Title+" ")},
	}
	for i, place := range places[:len(places)-1] {
		heading, text, _ := strings.Cut(body[place[1]:places[i+1][0]], "</h")
		id := body[place[2]:place[3]]
		all = append(all, section{
			Page: p.Title, Heading: plain(heading), Address: p.Address() + "#" + id,
			ID: id, IsSub: body[place[0]+2] == '3', Text: plain(text[strings.Index(text, ">")+1:]),
		})
	}
	return all
}

// plain returns the text of HTML.
func plain(body string) string {
	return strings.TrimSpace(spaces.ReplaceAllString(html.UnescapeString(tags.ReplaceAllString(body, " ")), " "))
}
