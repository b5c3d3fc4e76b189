package payload

import (
	"fmt"
	"strings"
	"testing"
)

// suggestIn returns the mapping that a refusal suggests, "" if none.
func suggestIn(note string) string {
	_, found, _ := strings.Cut(note, "a mapping such as ")
	return strings.TrimSuffix(found, ".")
}

// suggested returns the mapping that is suggested for a body, "" if none.
func suggested(t *testing.T, contentType, body string) string {
	t.Helper()
	d, err := open(contentType, []byte(body))
	if err != nil {
		t.Fatal(err)
	}
	return suggestion(d.root)
}

// A payload whose person is inside is read. The mapping that is suggested for it, if others are in there, too, reads the
// same.
func TestSuggestedMapping(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ contentType, body, name string }{ // the address is always the same
		{asJSON, `{"type":"created","data":{"object":{"id":1,"email":"ada@example.com","name":"Ada"}}}`, "Ada"},
		{asJSON, `{"subscriber":{"email_address":"ada@example.com","first_name":"Ada","last_name":"King"}}`, "Ada King"},
		{asJSON, `{"contact":{"email":"ada@example.com","first_name":"Ada"}}`, "Ada"},
		{asJSON, `{"payload":{"name":"Form","data":{"E-Mail":"ada@example.com","Name":"Ada"}}}`, "Ada"},
		{asJSON, `{"data":{"emails":[{"label":"work","value":"ada@example.com"}],"first_name":"Ada"}}`, "Ada"},
		{asJSON, `{"data":{"email":"ada@example.com","home_email":"b@example.com","name":"Ada","last_name":"King"}}`, "Ada"},
		{asJSON, `{"data":{"email_addresses":[{"id":"1","email_address":"ada@example.com"}],"x":["y"]}}`, ""},
		{asJSON, `{"form":{"field:email":"ada@example.com","field:first.name":"Ada"}}`, "Ada"},
		{asJSON, `{"entries":[[{"email":"ada@example.com"}]]}`, ""},
		{asJSON, `{"field_data":[{"name":"full_name","values":["Ada"]},{"name":"email","values":["ada@example.com"]}]}`, "Ada"},
		{asJSON, `{"user_column_data":[{"column_id":"EMAIL","string_value":"ada@example.com"}]}`, ""},
		{asJSON, `{"fields":{"0":{"name":"Contact","type":"email","value":"ada@example.com"},"1":{"name":"Name","value":"Ada"}}}`, "Ada"},
		{asForm, `data.json=%7B%22email%22%3A%5B%22ada%40example.com%22%5D%2C%22first_name%22%3A%5B%22Ada%22%5D%7D`, "Ada"},
		{asForm, `form_fields[name]=Ada&form_fields[email]=ada%40example.com`, "Ada"},
		{asJSON, `[{"headers":{"host":"x"},"body":{"email":"ada@example.com"}}]`, ""},
		{asJSON, `{"user":{"email":"ada@example.com","name":{"first":"Ada","last":"King"}}}`, "Ada King"},
		{asJSON, `{"event":{"organizer":{"email":"b@example.com","name":"Bo"},"scheduler":{"email":"ada@example.com","name":"Ada"}}}`, "Ada"},
		{asJSON, `{"entry":[{"changes":[{"field":"name","value":"Ada"},{"field":"email","value":"ada@example.com"}]}]}`, "Ada"},
		{asJSON, `{"pages":[{"id":1,"contacts":[{"fields":{"Name":"Ada","Email":"ada@example.com"}}]},{"contacts":[]}]}`, "Ada"},
		{asJSON, `{"form":{"definition":{"fields":[{"id":"a","title":"Name"}]},"answers":[{"type":"text","text":"Ada","field":{"id":"a"}},{"type":"email","email":"ada@example.com","field":{"id":"b"}}]}}`, "Ada"},
		{asForm, `contact[0][name]=Ada&contact[0][email]=ada%40example.com`, "Ada"},
	} {
		mapping := suggested(t, c.contentType, c.body)
		for _, m := range []*Mapping{nil, mustMapping(t, mapping)} {
			p, err := Decode(c.contentType, []byte(c.body), m)
			if err != nil || len(p.Items) != 1 {
				t.Fatalf("%s: %s: %+v, %v", c.body, mapping, p, err)
			}
			it := p.Items[0]
			if name, _ := it.Fields[fieldName].(string); !strings.HasPrefix(name, c.name) || it.Fields[FieldEmail] != "ada@example.com" {
				t.Errorf("%s: %s reads %+v", c.body, mapping, it)
			}
		}
	}
}

// A suggestion for a list reads all its elements, and one for an object its parts.
func TestSuggestedPaths(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]string{
		`{"contacts":[{"email":"a@example.com"},{"email":"b@example.com"}]}`: `{"items":"contacts","fields":{"email":"email"}}`,
		`{"a":[{"b":[{"email":"a@example.com"}]}]}`:                          `{"items":"a.#.b|@flatten","fields":{"email":"email"}}`,
		`{"traits":{"email":"a@example.com","company":{"id":1,"name":"AE"},"phone":{"area":"1","full":"+1"}}}`: `{"fields":{"company":"traits.company.name",` +
			`"email":"traits.email","phone":"traits.phone.full"}}`,
		`{"data":{"email":"a@example.com","list":{"name":"News"},"merges":{"FNAME":"Ada","LNAME":"King","PHONE":"+1"}}}`: `{"fields":{"email":"data.email",` +
			`"name":"data.merges.@answer:name","phone":"data.merges.@answer:phone"}}`,
		`{"data":{"email":"a@example.com","custom_fields":[{"name":"First Name","value":"Ada"}],"fields":["x"]}}`: `{"fields":{"email":"data.email","name":"data.custom_fields.@answer:name"}}`,
		`{"x":{"email":"a@example.com","phone":{"area":"212","number":"5550100"}}}`:                               `{"fields":{"email":"x.email","phone":"x.@answer:phone"}}`,
	} {
		if got := suggested(t, asJSON, body); got != want {
			t.Errorf("%s: got %s", body, got)
		}
	}
}

// A payload that is read, or has no email address, gets no suggestion. If only its name is read, a warning
// has the suggestion.
func TestNoSuggestion(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]string{
		`{"email":"ada@example.com","boss":{"email":"b@example.com"}}`:                         "",
		`{"plan":"pro","sizes":[{"label":"a","value":"b"}],"x":[],"y":{}}`:                     "with the paths of the contact's fields.",
		strings.Repeat(`{"a":`, 11) + `{"email":"deep@example.com"}` + strings.Repeat("}", 11): "with the paths of the contact's fields.",
		`[{"email":"ada@example.com"},{"a":{"email":"b@example.com"}}]`:                        "",
	} {
		p, err := Decode(asJSON, []byte(body), nil)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasSuffix(p.Note, want) || strings.Contains(p.Note, "such as") || len(p.Items[0].Warnings) > 0 {
			t.Errorf("%s gives %q, %q", body, p.Note, p.Items[0].Warnings)
		}
	}
	p, err := Decode(asJSON, []byte(`{"name":"Contact form","data":{"email":"ada@example.com"}}`), nil)
	if err != nil || len(p.Items[0].Warnings) != 1 || !strings.Contains(p.Items[0].Warnings[0], `{"fields":{"email":"data.email"}}`) {
		t.Errorf("got %+v, %v", p, err)
	}
}

// A list of only questions is one contact, not one contact per label.
func TestListOfQuestions(t *testing.T) {
	t.Parallel()
	p, err := Decode(asJSON, []byte(`[{"name":"email","value":"ada@example.com"},{"name":"first_name","value":"Ada"},{"name":"surname","value":"King"},
		{"name":"company","value":""},{"name":"plan","value":"pro"},{"name":"tags","value":["a"]}]`), nil)
	if err != nil || len(p.Items) != 1 || p.Batch {
		t.Fatalf("got %+v, %v", p, err)
	}
	if it := p.Items[0]; fmt.Sprint(it.Fields) != "map[email:ada@example.com name:Ada King]" || fmt.Sprint(it.Extra) != "map[plan:pro tags:[a]]" || it.Match == nil {
		t.Errorf("got %+v", it)
	}
	for _, body := range []string{
		`[{"key":"email","value":"ada@example.com"},{"key":"name","value":"Ada"}]`,
		`[{"title":"","type":"file","value":"x"},{"title":"Name","value":"Ada"},{"title":"Email","value":"ada@example.com"}]`,
		`[{"label":"About you","type":"section"},{"label":"Name","value":"Ada"},{"label":"Email","value":"ada@example.com"}]`,
		`[{"id":1,"field":"email","value":"ada@example.com"},{"id":2,"field":"name","value":"Ada"}]`,
		`[{"fieldid":"1","fieldname":"Email","fieldvalue":"ada@example.com"},{"fieldid":"2","fieldname":"Name","fieldvalue":"Ada"}]`,
	} {
		if p, err := Decode(asJSON, []byte(body), nil); err != nil || p.Batch || fmt.Sprint(p.Items[0].Fields) != "map[email:ada@example.com name:Ada]" {
			t.Errorf("%s gives %+v, %v", body, p, err)
		}
	}
	for _, body := range []string{`[{"label":"Ada"},{"label":"Bo"}]`, `[{"id":1,"value":"ada@example.com"}]`, `[{"name":"Ada","value":"5"}]`, `[{"name":"email","value":"ada@example.com"},{"name":"Ada"}]`} {
		if p, err := Decode(asJSON, []byte(body), nil); err != nil || !p.Batch {
			t.Errorf("%s gives %+v, %v", body, p, err)
		}
	}
}
