package inbound_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/pocketbase/dbx"
	"github.com/xuri/excelize/v2"

	"contactbase/internal/contact"
	"contactbase/internal/contact/sheet"
	"contactbase/internal/inbound/payload"
)

// The files of other programs are read as people mean them.
func TestFilesOfPeople(t *testing.T) {
	t.Parallel()
	d := newDoors(t)
	read := func(name, country string) ([]string, []string) {
		t.Helper()
		content, err := os.ReadFile("testdata/values/" + name)
		if err != nil {
			t.Fatal(err)
		}
		return d.file(d.tenant(country), name, content)
	}
	got, notes := read("a20_custom.csv", "")
	const born = "birthday=1985-01-31T00:00:00.000Z email="
	for i, want := range []string{
		born + "ana@example.com name=Ana newsletter=true notes=hello score=1234.5 tags=[vip early] tier=Gold website=https://example.com",
		born + "ben@example.com name=Ben newsletter=true notes=x score=1234.5 tags=[vip press] tier=Gold website=https://example.com/b",
		born + "cara@example.com name=Cara newsletter=true notes=y score=1234.5 tags=[vip early] tier=Gold website=https://www.example.org",
		born + "dora@example.com name=Dora notes=z score=99 tags=[vip] tier=Silver website=http://example.net",
		born + "emil@example.com name=Emil newsletter=true notes=z score=12 tags=[vip] tier=Silver",
		born + "gus@example.com name=Gus newsletter=true",
		strings.Replace(born, "00:00:00", "10:00:00", 1) + "fay@example.com name=Fay newsletter=true",
	} {
		if len(got) != 7 || got[i] != want {
			t.Errorf("a20: got %q, want %q", got, want)
		}
	}
	if len(notes) > 0 {
		t.Errorf("a20: the import says %q", notes)
	}
	got, notes = read("a21_null.csv", "")
	for _, line := range got {
		if strings.Contains(line, "=NULL") || strings.Contains(line, `\N`) || strings.Contains(line, "=nan") || strings.Contains(strings.ToLower(line), "=n/a") ||
			strings.Contains(line, "=none") || strings.Contains(line, "=-") {
			t.Errorf("a21: got %q", line)
		}
	}
	if len(got) != 15 || !strings.Contains(strings.Join(notes, "\n"), `name: "NULL" is left out`) {
		t.Errorf("a21: %d contacts %q, the import says %q", len(got), got, notes)
	}
	if got, _ = d.file(d.tenant(""), "a.csv", []byte("Name,Email\nA,NULL\nB,NULL\nC,NULL\nD,d@example.com\n")); got[0] != "email=d@example.com name=D" {
		t.Errorf("a column that is mostly NULL gives %q", got)
	}
	for _, country := range []string{"", "DE"} {
		got, notes = read("a31_trunk_zero.csv", country)
		if want := "name=A phone=+491715550101,name=B phone=+491715550102,name=C phone=+442079460101"; strings.Join(got, ",") != want || len(notes) > 0 {
			t.Errorf("a31: got %q %q", got, notes)
		}
	}
}

// The values of a column decide about those that could be read in two ways, wherever they are in the file.
func TestColumnsDecide(t *testing.T) {
	t.Parallel()
	d := newDoors(t)
	var text strings.Builder
	text.WriteString("name;birthday;score\nA;03/04/1985;1.234\n")
	for i := range 500 {
		fmt.Fprintf(&text, "B%d;;\n", i)
	}
	text.WriteString("C;31/12/1985;12,5\n")
	tenantID := d.tenant("US")
	got, notes := d.file(tenantID, "a.csv", []byte(text.String()))
	if len(got) != 502 || !slices.Contains(got, "birthday=1985-04-03T00:00:00.000Z name=A score=1234") || len(notes) > 0 {
		t.Errorf("got %q %q", got[:1], notes)
	}
}

// A workbook's number is what its cell shows: a date, a percentage, or the number of a day.
func TestNumbersOfWorkbooks(t *testing.T) {
	t.Parallel()
	d := newDoors(t)
	book := excelize.NewFile()
	percent, err := book.NewStyle(&excelize.Style{NumFmt: 9})
	if err != nil {
		t.Fatal(err)
	}
	date, err := book.NewStyle(&excelize.Style{NumFmt: 14})
	if err != nil {
		t.Fatal(err)
	}
	for i, row := range [][]any{
		{"name", "birthday", "score", "newsletter"}, {"A", 31078, 0.12, true}, {"B", 31078, 1234.5, 1}, {"C", 31078.5, 0.12, false},
	} {
		if err := book.SetSheetRow("Sheet1", fmt.Sprintf("A%d", i+1), &row); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(book.SetCellStyle("Sheet1", "C2", "C2", percent), book.SetCellStyle("Sheet1", "B2", "B2", date)); err != nil {
		t.Fatal(err)
	}
	content, err := book.WriteToBuffer()
	if err != nil {
		t.Fatal(err)
	}
	got, notes := d.file(d.tenant(""), "a.xlsx", content.Bytes())
	if want := "birthday=1985-01-31T00:00:00.000Z name=A newsletter=true score=12," +
		"birthday=1985-01-31T00:00:00.000Z name=B newsletter=true score=1234.5," +
		"birthday=1985-01-31T12:00:00.000Z name=C score=0.12"; strings.Join(got, ",") != want || len(notes) > 0 {
		t.Errorf("got %q %q", got, notes)
	}
}

// A phone number belongs to the country beside it, by a column of the row or a property of the body.
func TestCountryBesideNumber(t *testing.T) {
	t.Parallel()
	d := newDoors(t)
	got, notes := d.file(d.tenant("DE"), "a.csv", []byte("Name,Phone,Country,Calling code\nA,655502001,FR,\nB,020 7946 0101,,+44\n"+
		"C,0171 5550101,,\nD,0171 5550102,US,\nE,655502002,DE,33\nF,0171 5550103,Germany,\n"))
	if want := "name=A phone=+33655502001,name=B phone=+442079460101,name=C phone=+491715550101,name=D phone=+491715550102," +
		"name=E phone=+33655502002,name=F phone=+491715550103"; strings.Join(got, ",") != want || len(notes) > 0 {
		t.Errorf("got %q %q", got, notes)
	}
	mapping := func(text string) *payload.Mapping {
		parsed, err := payload.ParseMapping([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		return parsed
	}
	const twenty = `{"record":{"name":{"firstName":"Twe","lastName":"Nty"},"phones":{"primaryPhoneNumber":"655502001",` +
		`"primaryPhoneCallingCode":"+33","primaryPhoneCountryCode":"FR"}}}`
	for _, c := range []struct {
		body    string
		mapping *payload.Mapping
	}{
		{`{"name":"A","phone":"655502001","country":"FR"}`, nil},
		{`{"name":"A","phone":"655502001","country_code":"33","country":"DE"}`, nil},
		{`{"name":"A","phone":"655502001","phone_country_code":"FR","country":"DE"}`, nil},
		{`{"name":"A","phone":"655502001","calling_code":"+33"}`, nil},
		{`{"name":"A","phone":{"number":"655502001","countryCode":"fr"}}`, nil},
		{`{"name":"A","phone":"655502001","billing_address":{"country_code":"FR"}}`, nil},
		{twenty, mapping(`{"items":"record"}`)},
		{twenty, mapping(`{"fields":{"name":"record.name.firstName","phone":"record.phones.primaryPhoneNumber"}}`)},
		{`{"n":"A","p":"655502001","country":"FR"}`, mapping(`{"fields":{"name":"n","phone":"p"}}`)},
	} {
		got, warnings := d.body(d.tenant(""), "application/json", c.body, c.mapping)
		if len(got) != 1 || !strings.Contains(got[0], "phone=+33655502001") {
			t.Errorf("%s: got %q %q", c.body, got, warnings)
		}
	}
}

// What programs send for no value is not sent: the next name or path is tried, and an update keeps what is stored.
func TestNoValueOfBodies(t *testing.T) {
	t.Parallel()
	d := newDoors(t)
	mapping, err := payload.ParseMapping([]byte(`{"fields":{"name":"name","email":"email","phone":["phone","mobile"],"company":["a","b"],` +
		`"score":"score","newsletter":"ok","tags":"tags"}}`))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		body, want string
		mapping    *payload.Mapping
		says       string
	}{
		{`{"_model":"res.partner","id":12,"name":"Noor","email":"n@example.com","phone":false,"mobile":"+971 50 555 0101","company_name":false}`,
			"email=n@example.com name=Noor phone=+971505550101", nil, "id ignored"},
		{`{"name":"Rami","email":"r@example.com","phone":false,"mobile":"+971505550103","a":false,"b":"Acme"}`,
			"company=Acme email=r@example.com name=Rami phone=+971505550103", mapping, ""},
		{`{"name":"Rami","a":"{{company}}","b":"n/a","phone":"NULL","mobile":"+971505550103"}`, "name=Rami phone=+971505550103", mapping, `company: "n/a" is left out`},
		{`{"name":"Rami","score":1.234,"ok":false,"tags":["VIP","late"]}`, "name=Rami score=1.234 tags=[vip]", mapping, `"late"`},
		{`{"name":"Rami","company":"NULL","organization":"Acme"}`, "company=Acme name=Rami", nil, ""},
		{`{"first_name":"null","last_name":"Lee"}`, "name=Lee", nil, ""},
		{`[{"label":"Name","value":"Ann"},{"label":"Email","value":"a@example.com"},{"label":"Company","value":"N/A"}]`,
			"email=a@example.com name=Ann", nil, `company: "N/A"`},
		{`{"name":"A","score":"1.234","newsletter":1,"birthday":31078,"notes":12.50,"tier":false}`,
			"birthday=1985-01-31T00:00:00.000Z name=A newsletter=true notes=12.50 score=1.234", nil, ""},
	} {
		got, warnings := d.body(d.tenant(""), "application/json", c.body, c.mapping)
		if len(got) != 1 || got[0] != c.want || !strings.Contains(strings.Join(warnings, "\n"), c.says) {
			t.Errorf("%s: got %q %q", c.body, got, warnings)
		}
	}
	tenantID := d.tenant("")
	d.file(tenantID, "a.csv", []byte("name,email,company\nAnn,ann@example.com,Acme\n"))
	got, _ := d.body(tenantID, "application/json", `{"name":"NULL","email":"ann@example.com","company":"{{company}}"}`, nil)
	if len(got) != 1 || got[0] != "company=Acme email=ann@example.com name=Ann" {
		t.Errorf("an update gives %q", got)
	}
	if got, _ = d.file(tenantID, "a.csv", []byte("email,company\nann@example.com,Other\n")); len(got) != 1 ||
		got[0] != "company=Other email=ann@example.com name=Ann" {
		t.Errorf("an update without a name gives %q", got)
	}
}

// What this program has written comes back as it was: in files, and as events in bodies.
func TestOwnTextsComeBack(t *testing.T) {
	t.Parallel()
	d := newDoors(t)
	tenantID := d.tenant("DE")
	for _, values := range []map[string]any{
		{"name": "NULL", "company": "{{company}}", "externalId": "-", "score": json.Number("1.234"), "notes": "N/A"},
		{"name": "A &amp; B", "email": "null@example.com", "company": "[name]", "website": "http://example.com", "tags": []any{"early"}},
		{"email": "c@example.com", "company": "Only", "birthday": "1985-04-03T00:00:00.000Z", "newsletter": true},
	} {
		changes, err := contact.ParseChanges(d.app, values)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := contact.Write(d.app, tenantID, []contact.Item{{Action: contact.Create, Changes: changes}}); err != nil {
			t.Fatal(err)
		}
	}
	want := d.contacts(tenantID)
	fields, err := contact.CustomFields(d.app)
	if err != nil {
		t.Fatal(err)
	}
	records, err := d.app.FindRecordsByFilter("contacts", "tenant = {:t}", "", 0, 0, dbx.Params{"t": tenantID})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"a.csv", "a.xlsx"} {
		var file bytes.Buffer
		writer, err := sheet.NewContactWriter(&file, sheet.FormatOf(name), fields)
		if err != nil {
			t.Fatal(err)
		}
		for _, record := range records {
			c := contact.OfRecord(record)
			c.ID = ""
			if err := writer.WriteContact(c); err != nil {
				t.Fatal(err)
			}
		}
		if err := writer.Close(); err != nil {
			t.Fatal(err)
		}
		if got, notes := d.file(d.tenant("DE"), name, file.Bytes()); !slices.Equal(got, want) || len(notes) > 0 {
			t.Errorf("%s comes back as %q, not %q (%q)", name, got, want, notes)
		}
	}
	for _, record := range records {
		c := contact.OfRecord(record)
		encoded, err := json.Marshal(c)
		if err != nil {
			t.Fatal(err)
		}
		event := `{"id":"evt_1","type":"contact.created","timestamp":"2026-01-01T00:00:00.000Z","data":` + string(encoded) + `}`
		got, warnings := d.body(d.tenant("DE"), "application/json", event, nil)
		sent := d.line(encoded)
		if len(got) != 1 || len(warnings) > 0 || c.ExternalID != "" && got[0] != sent ||
			c.ExternalID == "" && strings.Replace(got[0], "externalId="+c.ID+" ", "", 1) != sent {
			t.Errorf("an event of %q gives %q %q", sent, got, warnings)
		}
	}
}
