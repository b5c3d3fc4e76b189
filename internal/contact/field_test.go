package contact_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/api"
	"contactbase/internal/contact"
	"contactbase/internal/contact/list"
	"contactbase/internal/contact/sheet"
	"contactbase/internal/fault"
	"contactbase/internal/inbound"
	"contactbase/internal/testkit"
)

// namesOf returns the names of the fields that are chosen, in the order of the table.
func namesOf(chosen func(*contact.Field) bool) []string {
	var names []string
	for _, field := range contact.Fields {
		if chosen(field) {
			names = append(names, field.Name)
		}
	}
	return names
}

func all(*contact.Field) bool { return true }

// filterNames returns the names of the fields that a list takes as parameters.
func filterNames(app core.App) []string {
	return namesOf(func(field *contact.Field) bool {
		_, err := list.ParsePage(app, url.Values{field.Name: {""}})
		var wrong *fault.Error
		return !errors.As(err, &wrong) || wrong.Fields[field.Name].Code != fault.CodeUnknownParameter
	})
}

// expectNames fails the test with a sentence for each name that one of the lists lacks.
func expectNames(t *testing.T, place string, got, want []string) {
	t.Helper()
	for _, name := range want {
		if !slices.Contains(got, name) {
			t.Errorf("%s lacks %q, which the table of fields has in internal/contact/field.go", place, name)
		}
	}
	for _, name := range got {
		if !slices.Contains(want, name) {
			t.Errorf("%s has %q, which the table of fields lacks in internal/contact/field.go", place, name)
		}
	}
}

// The migrations make the columns that the table of fields names. A column that the table does not know would be taken
// for an admin's, whose contacts are written through records.
func TestFieldsAreThoseOfTheMigrations(t *testing.T) {
	t.Parallel()
	collection, err := testkit.NewApp(t).FindCollectionByNameOrId(contact.CollectionName)
	if err != nil {
		t.Fatal(err)
	}
	const place = "the collection of contacts that the migrations make"
	expectNames(t, place, collection.Fields.FieldNames(), append(namesOf(all), "id", "tenant", "created", "updated"))
	indexes := strings.Join(collection.Indexes, "\n")
	for _, field := range contact.Fields {
		column, ok := collection.Fields.GetByName(field.Name).(*core.TextField)
		if !ok {
			t.Errorf("%s has no text field %q", place, field.Name)
			continue
		}
		if column.Max != field.Limit {
			t.Errorf("%s lets %q have %d characters, the table of fields %d", place, field.Name, column.Max, field.Limit)
		}
		if !column.System {
			t.Errorf("%s does not keep %q from being renamed: a shipped field is a System field", place, field.Name)
		}
		if field.Sortable && field.Name != "name" && !strings.Contains(indexes, "`tenant`, `"+field.Name+"` COLLATE NOCASE, `id`") {
			t.Errorf("%s has no index for lists that are sorted by %q", place, field.Name)
		}
	}
}

// Every property of a contact is in the table, and none of them twice.
func TestFieldsHavePlacesOfTheirOwn(t *testing.T) {
	t.Parallel()
	collection, err := testkit.NewApp(t).FindCollectionByNameOrId(contact.CollectionName)
	if err != nil {
		t.Fatal(err)
	}
	record := core.NewRecord(collection)
	for _, field := range contact.Fields {
		record.Set(field.Name, "the "+field.Name)
	}
	values := contact.OfRecord(record).Values()
	for _, field := range contact.Fields {
		if values[field.Name] != "the "+field.Name {
			t.Errorf("%q of a contact is %v: another field in internal/contact/field.go has the same place", field.Name, values[field.Name])
		}
	}
	const others = 5 // ID, Created, Updated, Custom, stored
	if places := reflect.TypeFor[contact.Contact]().NumField() - others; places != len(contact.Fields) {
		t.Errorf("a Contact has %d places for fields, the table in internal/contact/field.go %d fields", places, len(contact.Fields))
	}
}

// Every door treats a field as the table says, one that somebody adds, too: a value that does not fit is left out of a
// file's row and of an inbound item, or refuses both. A card has every field.
func TestFieldsAreAlikeAtEveryDoor(t *testing.T) {
	t.Parallel()
	app := testkit.NewApp(t)
	tenant := testkit.Tenant(t, app, "Acme")
	sender := testkit.NewClient(t, testkit.Serve(t, app), "")
	hook := "/api/hooks/" + testkit.Inbound(t, app, tenant, inbound.AccessUpsert, nil)
	for _, field := range contact.Fields {
		row := map[string]string{"name": "Ada", "email": "ada@example.com", field.Name: strings.Repeat("x", field.Limit+1)}
		item, warnings := readRow(t, app, row)
		if isRefused := item.Wrong != nil; isRefused != field.Identifies || !isRefused && len(warnings) != 1 {
			t.Errorf("a long %s in a file: refused %v, warnings %q", field.Name, item.Wrong, warnings)
		}
		body, err := json.Marshal(row)
		if err != nil {
			t.Fatal(err)
		}
		answer := sender.Do("POST", hook, string(body))
		if isRefused := answer.FieldCode(field.Name) != ""; isRefused != field.Identifies ||
			!isRefused && answer.Status != 200 {
			t.Errorf("a long %s in an inbound body answers %d %s", field.Name, answer.Status, answer.Body)
		}
	}
	values := map[string]string{"email": "ada@example.com", "phone": "+442079460958"}
	input := map[string]any{}
	for _, field := range contact.Fields {
		input[field.Name] = cmp.Or(values[field.Name], "the "+field.Name)
	}
	created, err := testkit.Create(app, tenant, (&testkit.Book{TB: t, App: app}).Changes(input))
	if err != nil {
		t.Fatal(err)
	}
	item := readCard(t, app, created)
	for name, value := range input {
		if item.Changes[name] != value {
			t.Errorf("%s comes back from a card as %v, not %q", name, item.Changes[name], value)
		}
	}
}

// readRow returns the item of a file's row with these values.
func readRow(t *testing.T, app core.App, row map[string]string) (contact.Item, []string) {
	t.Helper()
	columns := slices.Sorted(maps.Keys(row))
	cells := make([]string, len(columns))
	for i, column := range columns {
		cells[i] = row[column]
	}
	parser, err := sheet.Choices{Mapping: columns}.Parser(app, columns, nil)
	if err != nil {
		t.Fatal(err)
	}
	item, warnings, err := parser.Item(cells)
	if err != nil {
		t.Fatal(err)
	}
	texts := make([]string, len(warnings))
	for i, warning := range warnings {
		texts[i] = warning.Text
	}
	return item, texts
}

// readCard writes the card of a contact, and returns the item of it.
func readCard(t *testing.T, app core.App, c *contact.Contact) contact.Item {
	t.Helper()
	var card bytes.Buffer
	writer, err := sheet.NewContactWriter(&card, sheet.VCard, nil)
	if err == nil {
		err = errors.Join(writer.WriteContact(c), writer.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
	reader, err := sheet.NewReader(t.Context(), &card, t.TempDir(), sheet.Choice{Known: func(string) bool { return true }})
	if err != nil {
		t.Fatal(err)
	}
	read, err := reader.Read()
	if err != nil {
		t.Fatal(err)
	}
	row := map[string]string{}
	for i, column := range reader.Columns {
		if contact.FieldNamed(column) != nil {
			row[column] = read.Cells[i]
		}
	}
	item, _ := readRow(t, app, row)
	return item
}

// The clients and the page of a contact name every field. Where one is not named, it would be a custom one.
func TestClientsNameTheFields(t *testing.T) {
	t.Parallel()
	client := source(t, "../../clients/go/contact.go")
	_, node, _ := strings.Cut(source(t, "../../clients/n8n/nodes/Contactbase/properties.ts"), "name: 'fields',")
	_, page, _ := strings.Cut(source(t, "../../dashboard/modules/contact.js"), "const contactFields = {")
	page, _, _ = strings.Cut(page, "}")
	for i, field := range contact.Fields {
		name := reflect.TypeFor[contact.Contact]().Field(1 + i).Name // after ID
		for place, has := range map[string]bool{
			"the type Contact in clients/go/contact.go": inStruct(client, "Contact", name),
			"the type Fields in clients/go/contact.go":  inStruct(client, "Fields", name),
			"UnmarshalJSON of Fields in clients/go/contact.go": strings.Contains(
				client, strconv.Quote(field.Name)+": &f."+name+","),
			"the property fields in clients/n8n/nodes/Contactbase/properties.ts": strings.Contains(node, "name: '"+field.Name+"'"),
			"contactFields in dashboard/modules/contact.js":                      strings.Contains(page, " "+field.Name+": "),
		} {
			if !has {
				t.Errorf("%s lacks %q, which the table of fields has in internal/contact/field.go", place, field.Name)
			}
		}
	}
}

func source(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// inStruct reports whether a struct of a Go file has a field.
func inStruct(text, of, name string) bool {
	_, rest, _ := strings.Cut(text, "\ntype "+of+" struct {\n")
	fields, _, _ := strings.Cut(rest, "\n}\n")
	return regexp.MustCompile(`(?m)^\t` + name + ` `).MatchString(fields)
}

// propertySchema is what the OpenAPI document says of a value.
type propertySchema struct {
	Type        any    `json:"type"`
	MaxLength   int    `json:"maxLength"`
	Pattern     string `json:"pattern"`
	Description string `json:"description"`
}

// described is the part of the OpenAPI document that is about contacts.
type described struct {
	Paths map[string]struct {
		Get struct {
			Parameters []struct {
				Ref string `json:"$ref"`
			} `json:"parameters"`
		} `json:"get"`
	} `json:"paths"`
	Components struct {
		Parameters map[string]struct {
			Name        string `json:"name"`
			Description string `json:"description"`
			Schema      struct {
				Enum []string `json:"enum"`
			} `json:"schema"`
		} `json:"parameters"`
		Schemas map[string]struct {
			Required   []string                  `json:"required"`
			Properties map[string]propertySchema `json:"properties"`
		} `json:"schemas"`
	} `json:"components"`
}

// readDescribed reads api/openapi.yaml. Of the schemas only those of contacts have the shape that is looked at.
func readDescribed(t *testing.T) *described {
	t.Helper()
	var document described
	if err := json.Unmarshal(api.JSON(), &document); err != nil {
		t.Fatalf("reading api/openapi.yaml: %v", err)
	}
	return &document
}

func TestFieldsAreThoseOfTheDescription(t *testing.T) {
	t.Parallel()
	schemas := readDescribed(t).Components.Schemas
	const place = "the schema %s in api/openapi.yaml"
	for name, others := range map[string][]string{
		"Contact":      {"id", "createdAt", "updatedAt"},
		"ContactInput": {"id", "createdAt", "updatedAt"},
		"InboundItem":  {"id", "action"},
	} {
		expectNames(t, fmt.Sprintf(place, name), slices.Collect(maps.Keys(schemas[name].Properties)), append(namesOf(all), others...))
	}
	required := slices.Concat([]string{"id"}, namesOf(all), []string{"createdAt", "updatedAt"})
	if !slices.Equal(schemas["Contact"].Required, required) {
		t.Errorf("the list of what the schema Contact in api/openapi.yaml requires is %q, not %q as the contact object has it", schemas["Contact"].Required, required)
	}
	for _, field := range contact.Fields {
		shown, sent := schemas["Contact"].Properties[field.Name], schemas["ContactInput"].Properties[field.Name]
		for schema, kind := range map[string]any{"Contact": shown.Type, "ContactInput": sent.Type} {
			if fmt.Sprint(kind) != "[string null]" {
				t.Errorf("the schema %s in api/openapi.yaml has %q be %v, not a string or null", schema, field.Name, kind)
			}
		}
		if shown.Pattern != "" {
			expectPattern(t, field, shown.Pattern)
			continue
		}
		if shown.MaxLength != field.Limit {
			t.Errorf("the schema Contact in api/openapi.yaml lets %q have %d characters, the table of fields %d", field.Name, shown.MaxLength, field.Limit)
		}
		if !strings.Contains(sent.Description, "t most "+strconv.Itoa(field.Limit)+" characters") {
			t.Errorf("the schema ContactInput in api/openapi.yaml does not say that %q has at most %d characters", field.Name, field.Limit)
		}
	}
}

// expectPattern holds the pattern of a number against its limit.
func expectPattern(t *testing.T, field *contact.Field, pattern string) {
	t.Helper()
	compiled, err := regexp.Compile(pattern)
	if err != nil {
		t.Fatalf("the pattern of %q in api/openapi.yaml: %v", field.Name, err)
	}
	longest := "+" + strings.Repeat("1", field.Limit-1)
	if !compiled.MatchString(longest) || compiled.MatchString(longest+"1") {
		t.Errorf("the pattern of %q in api/openapi.yaml has another length than the table of fields, %d characters", field.Name, field.Limit)
	}
}

// A list sorts, filters and searches by what the description says.
func TestListsAreThoseOfTheDescription(t *testing.T) {
	t.Parallel()
	app, document := testkit.NewApp(t), readDescribed(t)
	parameters := document.Components.Parameters
	sorts := []string{"createdAt", "-createdAt", "updatedAt", "-updatedAt"}
	for _, name := range namesOf(func(f *contact.Field) bool { return f.Sortable }) {
		sorts = append(sorts, name, "-"+name)
	}
	expectNames(t, "the parameter Sort in api/openapi.yaml", parameters["Sort"].Schema.Enum, sorts)
	for _, sort := range parameters["Sort"].Schema.Enum {
		if _, err := list.ParsePage(app, url.Values{"sort": {sort}}); err != nil {
			t.Errorf("the sort %q of api/openapi.yaml is refused: %v", sort, err)
		}
	}
	filters := append(filterNames(app), "q", "createdSince", "createdBefore", "updatedSince", "updatedBefore")
	pages := []string{"limit", "offset", "sort", "cursor"}
	for path, others := range map[string][]string{
		"/api/ext/v1/contacts": pages, "/api/ext/v1/contacts/count": nil,
		"/api/integrations/contacts": pages, "/api/integrations/contacts/count": nil,
	} {
		var listed []string
		for _, parameter := range document.Paths[path].Get.Parameters {
			listed = append(listed, parameters[strings.TrimPrefix(parameter.Ref, "#/components/parameters/")].Name)
		}
		expectNames(t, "GET "+path+" in api/openapi.yaml", listed, slices.Concat(filters, others))
	}
	for _, field := range contact.Fields {
		if field.Searched != strings.Contains(parameters["Q"].Description, field.Name) {
			t.Errorf("whether a search looks into %q is one thing in the parameter Q in api/openapi.yaml and another in the table of fields", field.Name)
		}
	}
}

// The API saves no records, which costs twice as much as writing the rows, whatever fields an admin has added.
func TestFieldsAreWrittenDirectly(t *testing.T) {
	t.Parallel()
	b := newBook(t)
	records := 0
	count := func(e *core.RecordEvent) error {
		records++
		return e.Next()
	}
	b.App.OnRecordCreateExecute(contact.CollectionName).BindFunc(count)
	b.App.OnRecordUpdateExecute(contact.CollectionName).BindFunc(count)
	for _, input := range []map[string]any{{"name": "Ada"}, {"name": "Ada", "note": "x"}} {
		created := b.Add(input)
		if _, err := b.update(created.ID, map[string]any{"name": "Ada Lovelace"}); err != nil {
			t.Fatal(err)
		}
		testkit.AddFields(t, b.App, &core.TextField{Name: "note"})
	}
	if records != 0 {
		t.Errorf("%d records were saved to create and change contacts", records)
	}
}

// The bytes of a contact object are part of its entity tag, and of what webhooks sign.
func TestBytesOfTheContactObject(t *testing.T) {
	t.Parallel()
	c := &contact.Contact{
		ID: "0mm8yqpxck3w9xa", Name: `Ada "Countess" Lovelace`, Phone: "+442079460958", Company: "Ä & Söhne", ExternalID: "crm-1815",
		Created: "2026-03-02T09:15:04.512Z", Updated: "2026-03-04T16:20:11.087Z", Custom: []contact.CustomValue{{Name: "score", Value: 1.5}},
	}
	const want = `{"id":"0mm8yqpxck3w9xa","name":"Ada \"Countess\" Lovelace","email":null,"phone":"+442079460958","company":"Ä & Söhne",` +
		`"externalId":"crm-1815","score":1.5,"createdAt":"2026-03-02T09:15:04.512Z","updatedAt":"2026-03-04T16:20:11.087Z"}`
	got, err := c.MarshalJSON()
	if err != nil || string(got) != want {
		t.Errorf("the contact is encoded as\n%s (%v), not\n%s", got, err, want)
	}
}
