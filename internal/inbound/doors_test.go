package inbound_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"mime/multipart"
	"net/url"
	"slices"
	"sort"
	"strings"
	"testing"

	"github.com/pocketbase/dbx"
	"github.com/pocketbase/pocketbase/core"
	"github.com/xuri/excelize/v2"

	"contactbase/internal/contact"
	"contactbase/internal/contact/imports"
	"contactbase/internal/contact/sheet"
	"contactbase/internal/inbound"
	"contactbase/internal/inbound/payload"
	"contactbase/internal/testkit"
)

// doors are an app with own fields, and the ways by which the texts of people and other programs arrive.
type doors struct {
	*testing.T
	app core.App
}

func newDoors(t *testing.T) doors {
	app := testkit.NewApp(t)
	testkit.AddFields(t, app, &core.DateField{Name: "birthday"}, &core.BoolField{Name: "newsletter"},
		&core.NumberField{Name: "score"}, &core.SelectField{Name: "tier", Values: []string{"Gold", "Silver"}, MaxSelect: 1},
		&core.SelectField{Name: "tags", Values: []string{"vip", "early", "press"}, MaxSelect: 3},
		&core.URLField{Name: "website"}, &core.TextField{Name: "notes"})
	return doors{t, app}
}

// tenant returns a new tenant in a country, which may be "".
func (d doors) tenant(country string) string {
	return testkit.Record(d, d.app, "tenants", map[string]any{"name": "T", "apiEnabled": true, "country": country}).Id
}

// file imports a file, and returns the contacts of the tenant and what the import says.
func (d doors) file(tenantID, name string, content []byte) (contacts, notes []string) {
	stored, err := imports.Store(d.Context(), d.app, tenantID, imports.Source{Name: name}, bytes.NewReader(content))
	if err != nil {
		d.Fatal(err)
	}
	for i, begin := range []func(core.App, string, sheet.Choices) error{imports.Check, imports.Start} {
		if err := begin(d.app, stored.ID, sheet.Choices{Mapping: stored.Mapping}); err != nil {
			d.Fatal(err)
		}
		if err := imports.Work(d.Context(), d.app); err != nil {
			d.Fatal(err)
		}
		found, err := imports.Find(d.app, stored.ID)
		if err != nil {
			d.Fatal(err)
		}
		said := []string{}
		for _, note := range found.Notes {
			said = append(said, note.Text)
		}
		for _, refusal := range found.Refusals {
			said = append(said, "refused: "+refusal.Reason)
		}
		if i == 1 && !slices.Equal(said, notes) {
			d.Errorf("%s: the check says %q, the import %q", name, notes, said)
		}
		notes = said
	}
	return d.contacts(tenantID), notes
}

// body receives a body, and returns the contacts of the tenant and the warnings.
func (d doors) body(tenantID, contentType, body string, mapping *payload.Mapping) (contacts, warnings []string) {
	request, err := inbound.Read(d.app, &inbound.Webhook{
		TenantID: tenantID, Access: inbound.AccessUpsert, Mapping: mapping,
	}, contentType, []byte(body))
	if err != nil {
		d.Fatalf("%s: %v", body, err)
	}
	outcome, err := request.Preview(d.app)
	if err != nil {
		d.Fatal(err)
	}
	for _, result := range outcome.Results {
		warnings = append(warnings, result.Warnings...)
		if result.Error != nil {
			warnings = append(warnings, "refused: "+result.Error.Message)
		}
		if c := result.Contact; c != nil {
			encoded, err := json.Marshal(c)
			if err != nil {
				d.Fatal(err)
			}
			contacts = append(contacts, d.line(encoded))
		}
	}
	return contacts, warnings
}

// contacts returns the contacts of a tenant.
func (d doors) contacts(tenantID string) (lines []string) {
	records, err := d.app.FindRecordsByFilter("contacts", "tenant = {:t}", "name", 0, 0, dbx.Params{"t": tenantID})
	if err != nil {
		d.Fatal(err)
	}
	for _, record := range records {
		encoded, err := json.Marshal(contact.OfRecord(record))
		if err != nil {
			d.Fatal(err)
		}
		lines = append(lines, d.line(encoded))
	}
	sort.Strings(lines)
	return lines
}

// line returns the values of a contact in a line, without empty ones.
func (d doors) line(encoded []byte) string {
	values, parts := map[string]any{}, []string{}
	if err := json.Unmarshal(encoded, &values); err != nil {
		d.Fatal(err)
	}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if value := values[name]; value != nil && value != false && value != 0.0 && name != "id" && !strings.HasSuffix(name, "edAt") {
			parts = append(parts, fmt.Sprintf("%s=%v", name, value))
		}
	}
	return strings.Join(parts, " ")
}

// everywhere sends values by all ways that take them. A form has only texts, a workbook of texts has them, too.
func (d doors) everywhere(values map[string]string, country, want string, says ...string) {
	d.Helper()
	names := slices.Sorted(maps.Keys(values))
	var csv, card strings.Builder
	book, form, object := excelize.NewFile(), url.Values{}, map[string]any{}
	var multi bytes.Buffer
	parts := multipart.NewWriter(&multi)
	csv.WriteString(strings.Join(names, ";") + "\n")
	properties := map[string]string{"name": "FN", "email": "EMAIL", "phone": "TEL", "company": "ORG"}
	for i, name := range names {
		value := values[name]
		if i > 0 {
			csv.WriteString(";")
		}
		csv.WriteString(`"` + strings.ReplaceAll(value, `"`, `""`) + `"`)
		for row, text := range []string{name, value} {
			at, _ := excelize.CoordinatesToCellName(i+1, row+1)
			if err := book.SetCellStr("Sheet1", at, text); err != nil {
				d.Fatal(err)
			}
		}
		form.Set(name, value)
		object[name] = value
		_ = parts.WriteField(name, value)
		if properties[name] == "" {
			properties = nil
			continue
		}
		card.WriteString(properties[name] + ":" + strings.NewReplacer(`\`, `\\`, ",", `\,`, ";", `\;`).Replace(value) + "\n")
	}
	workbook, err := book.WriteToBuffer()
	if err != nil {
		d.Fatal(err)
	}
	encoded, _ := json.Marshal(object)
	_ = parts.Close()
	check := func(door string, got, said []string) {
		d.Helper()
		if strings.Join(got, "\n") != want {
			d.Errorf("%s of %q: the contacts are %q, want %q (%q)", door, values, got, want, said)
		}
		for _, sentence := range says {
			if !strings.Contains(strings.Join(said, "\n"), sentence) {
				d.Errorf("%s of %q says %q, not %q", door, values, said, sentence)
			}
		}
		if len(says) == 0 && len(said) > 0 {
			d.Errorf("%s of %q says %q", door, values, said)
		}
	}
	file := func(name string, content []byte) {
		d.Helper()
		got, said := d.file(d.tenant(country), name, content)
		check(name, got, said)
	}
	file("a.csv", []byte(csv.String()))
	file("a.xlsx", workbook.Bytes())
	if properties != nil {
		file("a.vcf", []byte("BEGIN:VCARD\nVERSION:3.0\n"+card.String()+"END:VCARD\n"))
	}
	for contentType, body := range map[string]string{
		"application/json": string(encoded), "application/x-www-form-urlencoded": form.Encode(),
		parts.FormDataContentType(): multi.String(),
	} {
		got, said := d.body(d.tenant(country), contentType, body, nil)
		check(contentType, got, said)
	}
}

// A text means the same whatever door it comes by.
func TestValuesAtEveryDoor(t *testing.T) {
	t.Parallel()
	d := newDoors(t)
	type values = map[string]string
	for _, c := range []struct {
		values        values
		country, want string
		says          []string
	}{
		{values{"name": "A", "phone": "+49 0171 5550101"}, "", "name=A phone=+491715550101", nil},
		{values{"name": "A", "phone": "0049 0171 5550101"}, "", "name=A phone=+491715550101", nil},
		{values{"name": "A", "phone": "+٤٩ ١٧١ ٥٥٥٠١٠١"}, "", "name=A phone=+491715550101", nil},
		{values{"name": "A", "phone": "33655502001"}, "", "name=A phone=+33655502001", []string{"has no plus sign"}},
		{values{"name": "A", "phone": "0171 5550101"}, "DE", "name=A phone=+491715550101", nil},
		{values{"name": "A", "phone": "+49301 / +49302"}, "", "name=A phone=+49301", []string{`"+49302" left out`}},
		{values{"name": "A", "email": "Ann Lee <ann@example.com>"}, "", "email=ann@example.com name=A", nil},
		{values{"name": "A", "email": "mailto:ann@example.com"}, "", "email=ann@example.com name=A", nil},
		{values{"name": "A", "email": "ann@example.com;"}, "", "email=ann@example.com name=A", nil},
		{values{"name": "A", "email": `"Lee, Ann" <ann@example.com>, bo@example.com`}, "", "email=ann@example.com name=A", []string{`"bo@example.com" left out`}},
		{values{"name": "A", "email": "\u200bann@example.com"}, "", "email=ann@example.com name=A", nil},
		{values{"name": "A", "email": "NULL", "phone": "N/A"}, "", "name=A", nil},
		{values{"name": "A", "company": "{{company}}"}, "", "name=A", []string{`company: "{{company}}" is left out`}},
		{values{"name": "undefined", "email": "a@example.com"}, "", "email=a@example.com", []string{`name: "undefined" is left out`}},
		{values{"name": "Ann Null", "company": "{N}CODE"}, "", "company={N}CODE name=Ann Null", nil},
		{values{"name": "Null", "company": "3M"}, "", "company=3M name=Null", nil},
		{values{"name": "NONE", "company": "7-Eleven"}, "", "company=7-Eleven name=NONE", nil},
		{values{"name": "O&#039;Neil &amp; Söhne", "company": "A &amp;amp; B"}, "", "company=A &amp; B name=O'Neil & Söhne", nil},
		{values{"company": "Acme", "phone": "+49301234"}, "", "company=Acme name=Acme phone=+49301234", []string{contact.CompanyIsName}},
		{values{"name": "null", "company": "Acme"}, "", "company=Acme name=Acme", []string{contact.CompanyIsName, `name: "null"`}},
		{values{"name": "A", "birthday": "31.01.1985", "newsletter": "ja", "score": "1.234,50", "tier": "gold", "tags": "vip; Press", "website": "example.com"},
			"", "birthday=1985-01-31T00:00:00.000Z name=A newsletter=true score=1234.5 tags=[vip press] tier=Gold website=https://example.com", nil},
		{values{"name": "A", "birthday": "03/04/1985", "score": "1,234"}, "US", "birthday=1985-03-04T00:00:00.000Z name=A score=1234", nil},
		{values{"name": "A", "birthday": "03/04/1985", "score": "1,234"}, "DE", "birthday=1985-04-03T00:00:00.000Z name=A score=1.234", nil},
		{values{"name": "A", "birthday": "03/04/1985", "score": "1,234"}, "", "name=A", []string{`"03/04/1985"`, `"1,234"`, "choose the country"}},
		{values{"name": "A", "newsletter": "perhaps", "score": "many", "tier": "Bronze", "tags": "late, vip", "birthday": "soon"}, "", "name=A tags=[vip]",
			[]string{`"perhaps"`, `"many"`, `"Bronze"`, `"late"`, `"soon"`, "one of Gold, Silver", "one of vip, early, press", "such as 1234.5", "such as 2026-01-31"}},
		{values{"name": "A", "newsletter": "N/A", "score": "-", "tier": "none", "tags": "undefined", "birthday": "{{birthday}}", "website": "--"}, "", "name=A", nil},
		{values{"name": "A", "notes": "N/A", "score": "12 %"}, "", "name=A notes=N/A score=12", nil},
	} {
		d.everywhere(c.values, c.country, c.want, c.says...)
	}
}

// At the API, a text is what it says, but for the way in which phone numbers are written.
func TestTextsOfTheAPI(t *testing.T) {
	t.Parallel()
	d := newDoors(t)
	tenantID := d.tenant("DE")
	changes, err := contact.ParseChanges(d.app, map[string]any{"name": "A &amp; B", "company": "NULL", "phone": "+49 0171 5550101"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := contact.Write(d.app, tenantID, []contact.Item{{Action: contact.Create, Changes: changes}}); err != nil {
		t.Fatal(err)
	}
	if got := d.contacts(tenantID); len(got) != 1 || got[0] != "company=NULL name=A &amp; B phone=+491715550101" {
		t.Errorf("got %q", got)
	}
	for field, text := range map[string]string{"email": "Ann <ann@example.com>", "phone": "33655502001", "score": "1", "tier": "gold"} {
		if _, err := contact.ParseChanges(d.app, map[string]any{field: text}); err == nil {
			t.Errorf("the API takes %q as %s", text, field)
		}
	}
}
