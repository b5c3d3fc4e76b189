package docs

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"contactbase/internal/contact"
	"contactbase/internal/contact/names"
	"contactbase/internal/inbound/payload"
)

var codePattern = regexp.MustCompile("`([^`]+)`")

// codesIn returns what stands in a line between backquotes.
func codesIn(line string) (codes []string) {
	for _, match := range codePattern.FindAllStringSubmatch(line, -1) {
		codes = append(codes, match[1])
	}
	return codes
}

// The guide lists the names that senders may use for each field: each of them is understood, and no
// field is missing.
func TestNamesThatAreUnderstood(t *testing.T) {
	t.Parallel()
	source, err := os.ReadFile("inbound.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(source), "### Recognized field names")
	table, _, _ = strings.Cut(table, "###")
	listed := map[string][]string{}
	for line := range strings.Lines(table) {
		if codes := codesIn(line); strings.HasPrefix(line, "| `") {
			listed[codes[0]] = codes[1:]
		}
	}
	mapped := regexp.MustCompile("(?m)^.*the paths of `.*your custom fields.*$").FindString(string(source))
	for _, field := range contact.Fields {
		if !slices.Contains(codesIn(mapped), field.Name) {
			t.Errorf("the paths of a mapping lack %s", field.Name)
		}
		if !slices.Contains(listed[field.Name], field.Name) {
			t.Errorf("the names of %s lack its own", field.Name)
		}
	}
	if len(listed) != len(contact.Fields)+1 { // and the id
		t.Errorf("names are listed for %d fields", len(listed))
	}
	for field, names := range listed {
		for _, name := range names {
			if !understands(t, name, field) {
				t.Errorf("%s is not understood as %s", name, field)
			}
		}
	}
}

// The guide to imports lists headings for each field: each of them is recognized, and no field is missing.
func TestHeadingsThatAreRecognized(t *testing.T) {
	t.Parallel()
	_, table, _ := strings.Cut(read(t, "import.md"), "\n| field | headings, for example |\n|---|---|\n")
	table, _, _ = strings.Cut(table, "\n\n")
	listed := map[string]bool{}
	for line := range strings.Lines(table) {
		field, headings, _ := strings.Cut(strings.Trim(line, "| \n"), " | ")
		if field = strings.Trim(field, "`"); contact.FieldNamed(field) == nil {
			continue // the parts of a name
		}
		listed[field] = true
		for heading := range strings.SplitSeq(headings, ", ") {
			if got := names.Of(heading).Field; got != field {
				t.Errorf("the heading %q means %q, not %q", heading, got, field)
			}
		}
	}
	for _, field := range contact.Fields {
		if !listed[field.Name] {
			t.Errorf("docs/import.md has no headings for %s", field.Name)
		}
	}
}

// The guide names every preset, and the notes on recorded payloads name its documentation.
func TestPresetsAreListed(t *testing.T) {
	t.Parallel()
	const notes = "../internal/inbound/payload/testdata/README.md"
	guide, recorded := read(t, "inbound.md"), read(t, notes)
	for _, preset := range payload.Presets() {
		name := "`" + preset.Name + "`"
		if !strings.Contains(guide, name) {
			t.Errorf("docs/inbound.md does not name the preset %s", name)
		}
		if !strings.Contains(recorded, "\n| "+name+" |") {
			t.Errorf("%s has no row for the preset %s", strings.TrimPrefix(notes, "../"), name)
		}
	}
}

// The page of senders has each preset whose sender signs, by its title and the label of its scheme.
func TestSendersThatSignAreListed(t *testing.T) {
	t.Parallel()
	page, labels := read(t, "senders.md"), read(t, "../dashboard/modules/inbound.js")
	for _, preset := range payload.Presets() {
		if preset.Scheme == "" {
			continue
		}
		label := regexp.MustCompile(`\["` + preset.Scheme + `", "([^"]+)"\]`).FindStringSubmatch(labels)
		if label == nil {
			t.Errorf("dashboard/modules/inbound.js has no label for the scheme %q", preset.Scheme)
		} else if line := "\n- Sender: *" + preset.Title + "*. It signs as *" + label[1] + "*.\n"; !strings.Contains(page, line) {
			t.Errorf("docs/senders.md has no section with %q", strings.TrimSpace(line))
		}
	}
}

// understands reports whether a property of that name is taken for the field.
func understands(t *testing.T, name, field string) bool {
	t.Helper()
	const sent = "0abcdefghij1234"
	body, err := json.Marshal(map[string]string{name: sent})
	if err != nil {
		t.Fatal(err)
	}
	decoded, err := payload.Decode("application/json", body, nil)
	if err != nil {
		t.Fatal(err)
	}
	item := decoded.Items[0]
	if field == payload.FieldID {
		return item.Action == contact.Update
	}
	return fmt.Sprint(item.Fields[field]) == sent
}
