package docs

import (
	"encoding/json"
	"net/url"
	"slices"
	"strings"
	"testing"
)

// Each section of a guide can be found, and leads to where it is.
func TestSearchIndex(t *testing.T) {
	t.Parallel()
	var sections []section
	if err := json.Unmarshal(SearchIndex(), &sections); err != nil {
		t.Fatal(err)
	}
	pages := map[string]bool{}
	found := slices.ContainsFunc(sections, func(s section) bool {
		return s.Heading == "Create a contact" && s.Address == "docs#/Contacts/createContact" && strings.HasPrefix(s.Text, "POST /api/ext/v1/contacts ")
	})
	if !found {
		t.Error("an endpoint cannot be found")
	}
	for _, s := range sections {
		if s.Page == reference {
			continue
		}
		target, err := url.Parse(s.Address)
		if err != nil {
			t.Fatal(err)
		}
		name := strings.TrimPrefix(target.Path, "docs/")
		pages[name] = true
		page, found := Render(name)
		if !found || target.Fragment != "" && !strings.Contains(string(page), `id="`+target.Fragment+`"`) {
			t.Errorf("%q leads nowhere", s.Address)
		}
	}
	if text := plain("<p>one &lt;b&gt;<br>\n two</p>"); text != "one <b> two" {
		t.Errorf("the text is %q", text)
	}
	for _, name := range guides {
		if !pages[name] {
			t.Errorf("%s cannot be found", name)
		}
	}
}
