package docs

import (
	"encoding/json"
	"html"
	"regexp"
	"strings"
	"sync"
)

// section is a part of a guide that a search can find.
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

// SearchIndex returns the sections of all guides as JSON: what a page needs to search through them by itself.
var SearchIndex = sync.OnceValue(func() []byte {
	var sections []section
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
