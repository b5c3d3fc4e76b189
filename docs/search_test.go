package docs

import (
	"encoding/json"
	"net/url"
	"slices"
	"strings"
	"testing"

	"contactbase/clients"
	"contactbase/docs/reference"
)

// Each operation, error code and section of a guide can be found, and leads to where it is.
func TestSearchIndex(t *testing.T) {
	t.Parallel()
	var sections []section
	if err := json.Unmarshal(SearchIndex(), &sections); err != nil {
		t.Fatal(err)
	}
	pages, found := map[string]bool{}, map[string]bool{}
	for _, s := range sections {
		target, err := url.Parse(s.Address)
		if err != nil {
			t.Fatal(err)
		}
		name := strings.TrimPrefix(strings.TrimPrefix(target.Path, "docs"), "/")
		pages[name], found[s.Heading] = true, true
		page, isPage := Render(name, clients.NamesFor(""))
		if !isPage || target.Fragment != "" && !strings.Contains(string(page), `id="`+target.Fragment+`"`) {
			t.Errorf("%q leads nowhere", s.Address)
		}
	}
	for name := range rendered() {
		if !pages[name] && name != "reference" {
			t.Errorf("the page %q cannot be found", name)
		}
	}
	for _, group := range reference.Groups() {
		for _, operation := range group.Operations {
			isIt := func(s section) bool {
				return s.Heading == operation.Summary && s.Path == operation.Method+" "+operation.Path && strings.HasSuffix(s.Address, "#"+operation.ID)
			}
			if !slices.ContainsFunc(sections, isIt) {
				t.Errorf("the operation %s cannot be found", operation.ID)
			}
		}
	}
	for _, code := range reference.Codes() {
		if !found[code] {
			t.Errorf("the error code %s cannot be found: is it in the guide?", code)
		}
	}
}

func TestPlain(t *testing.T) {
	t.Parallel()
	if text := plain("<p>one &lt;b&gt;<br>\n two</p>"); text != "one <b> two" {
		t.Errorf("the text is %q", text)
	}
}
