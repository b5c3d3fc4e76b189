package contact_test

import (
	"encoding/json"
	"errors"
	"regexp"
	"strings"
	"testing"

	validation "github.com/pocketbase/ozzo-validation/v4"
	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/contact"
	"contactbase/internal/fault"
)

const (
	emoji    = "\U0001F9D1"      // four bytes, one character
	combined = "e\u0301"         // two characters, one after composition
	atDomain = "@an.example.com" // 15 characters
)

// fieldRules are the rules of the shipped fields: what is sent, and what is stored or wrong.
var fieldRules = []struct {
	field string
	sent  any
	want  string // what is stored
	code  string // or what is wrong
}{
	{"name", "Ada", "Ada", ""},
	{"name", " \t Ada \u00a0", "Ada", ""},
	{"name", "Zoe\u0308", "Zoë", ""},
	{"name", strings.Repeat("a", 255), strings.Repeat("a", 255), ""},
	{"name", strings.Repeat("a", 256), "", fault.CodeTooLong},
	{"name", "  " + strings.Repeat("a", 255) + "  ", strings.Repeat("a", 255), ""},
	{"name", strings.Repeat(emoji, 255), strings.Repeat(emoji, 255), ""},
	{"name", strings.Repeat(combined, 255), strings.Repeat("é", 255), ""},
	{"name", strings.Repeat(emoji, 256), "", fault.CodeTooLong},
	{"name", "a\u0000b", "", fault.CodeInvalidCharacters},
	{"name", "a\nb", "", fault.CodeInvalidCharacters},
	{"name", "a\tb", "", fault.CodeInvalidCharacters},
	{"name", "a\u0085b", "", fault.CodeInvalidCharacters},
	{"name", "a\x7fb", "", fault.CodeInvalidCharacters},
	{"name", `<b>"A" & 'B'</b> \ %s`, `<b>"A" & 'B'</b> \ %s`, ""},
	{"name", json.Number("1"), "", fault.CodeInvalidType},
	{"name", true, "", fault.CodeInvalidType},
	{"name", []any{"Ada"}, "", fault.CodeInvalidType},
	{"name", map[string]any{"first": "Ada"}, "", fault.CodeInvalidType},
	{"name", nil, "", ""},
	{"name", "", "", ""},

	{"company", " Blüte GmbH ", "Blüte GmbH", ""},
	{"company", strings.Repeat("ü", 256), "", fault.CodeTooLong},
	{"company", "a\r\nb", "", fault.CodeInvalidCharacters},
	{"company", json.Number("7"), "", fault.CodeInvalidType},
	{"company", nil, "", ""},

	{"email", "ada@example.com", "ada@example.com", ""},
	{"email", " Ada.Lovelace+tag@Example.COM ", "Ada.Lovelace+tag@Example.COM", ""},
	{"email", "o'brien@example.co.uk", "o'brien@example.co.uk", ""},
	{"email", "a_b-c@xn--bcher-kva.example", "a_b-c@xn--bcher-kva.example", ""},
	{"email", "jörg@bücher.example", "jörg@bücher.example", ""},
	{"email", strings.Repeat("a", 64) + "@" + strings.Repeat(strings.Repeat("b", 61)+".", 3) + "com", strings.Repeat("a", 64) + "@" + strings.Repeat(strings.Repeat("b", 61)+".", 3) + "com", ""},
	{"email", strings.Repeat("a", 255-len(atDomain)) + atDomain, "", fault.CodeTooLong},
	{"email", "ada", "", fault.CodeInvalidEmail},
	{"email", "ada@", "", fault.CodeInvalidEmail},
	{"email", "@example.com", "", fault.CodeInvalidEmail},
	{"email", "a da@example.com", "", fault.CodeInvalidEmail},
	{"email", "ada@exam ple.com", "", fault.CodeInvalidEmail},
	{"email", "ada@example.com, bob@example.com", "", fault.CodeInvalidEmail},
	{"email", "Ada <ada@example.com>", "", fault.CodeInvalidEmail},
	{"email", "ada@@example.com", "", fault.CodeInvalidEmail},
	{"email", "ada..l@example.com", "", fault.CodeInvalidEmail},
	{"email", "mailto:ada@example.com", "", fault.CodeInvalidEmail},
	{"email", "ada\n@example.com", "", fault.CodeInvalidCharacters},
	{"email", false, "", fault.CodeInvalidType},
	{"email", nil, "", ""},

	{"phone", "+4930901820", "+4930901820", ""},
	{"phone", " +49 (30) 90-18.20/1 ", "+49309018201", ""},
	{"phone", "+49\u00a030\u202f901820", "+4930901820", ""},
	{"phone", "+123", "+123", ""},
	{"phone", "+123456789012345", "+123456789012345", ""},
	{"phone", "+12", "", fault.CodeInvalidPhone},
	{"phone", "+1234567890123456", "", fault.CodeInvalidPhone},
	{"phone", "+0301234567", "", fault.CodeInvalidPhone},
	{"phone", "030 901820", "", fault.CodeInvalidPhone},
	{"phone", "004930901820", "", fault.CodeInvalidPhone},
	{"phone", "++4930901820", "", fault.CodeInvalidPhone},
	{"phone", "+49 30 901820 ext. 5", "", fault.CodeInvalidPhone},
	{"phone", "+49 30\n901820", "", fault.CodeInvalidPhone},
	{"phone", "+٤٩٣٠١٢٣٤", "+49301234", ""},
	{"phone", "+49 0171 5550101", "+491715550101", ""},
	{"phone", "+", "", fault.CodeInvalidPhone},
	{"phone", "call me", "", fault.CodeInvalidPhone},
	{"phone", json.Number("4930901820"), "", fault.CodeInvalidType},
	{"phone", "", "", ""},
	{"phone", " ", "", ""},
	{"phone", nil, "", ""},

	{"externalId", " CRM-1/ä ", "CRM-1/ä", ""},
	{"externalId", "Zoe\u0308", "Zoe\u0308", ""}, // somebody else's identifier is not ours to rewrite
	{"externalId", strings.Repeat("x", 255), strings.Repeat("x", 255), ""},
	{"externalId", strings.Repeat("x", 256), "", fault.CodeTooLong},
	{"externalId", "a\u0000", "", fault.CodeInvalidCharacters},
	{"externalId", json.Number("17"), "", fault.CodeInvalidType},
	{"externalId", nil, "", ""},
}

func TestFieldRules(t *testing.T) {
	t.Parallel()
	b := newBook(t)
	for _, tc := range fieldRules {
		changes, err := contact.ParseChanges(b.App, map[string]any{tc.field: tc.sent})
		if tc.code != "" {
			var faults fault.Fields
			if !errors.As(err, &faults) || len(faults) != 1 || faults[tc.field].Code != tc.code {
				t.Errorf("%s %.60q gives %v, not %s", tc.field, tc.sent, err, tc.code)
			}
			continue
		}
		if err != nil || changes[tc.field] != tc.want {
			t.Errorf("%s %.60q gives %.60q (%v), not %.60q", tc.field, tc.sent, changes[tc.field], err, tc.want)
		}
	}
}

// The dashboard and the records API are held to the same rules as the API.
func TestFieldRulesOfRecords(t *testing.T) {
	t.Parallel()
	b := newBook(t)
	collection, err := b.App.FindCachedCollectionByNameOrId(contact.CollectionName)
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range fieldRules {
		text, ok := tc.sent.(string)
		if !ok {
			continue // records coerce; there is no wrong type
		}
		record := core.NewRecord(collection)
		record.Set("tenant", b.Tenant)
		record.Set("name", "Somebody")
		record.Set("email", "somebody@example.com")
		record.Set(tc.field, text)
		err := b.App.Save(record)
		if tc.code != "" {
			var faults validation.Errors
			var wrong validation.Error
			if !errors.As(err, &faults) || !errors.As(faults[tc.field], &wrong) || wrong.Code() != "validation_"+tc.code {
				t.Errorf("a record with the %s %.60q gives %v", tc.field, text, err)
			}
			continue
		}
		if err != nil || record.GetString(tc.field) != tc.want {
			t.Errorf("a record with the %s %.60q has %.60q (%v)", tc.field, text, record.GetString(tc.field), err)
		}
	}
	record := core.NewRecord(collection)
	record.Set("tenant", b.Tenant)
	record.Set("company", "Nobody's")
	if err := b.App.Save(record); err == nil {
		t.Error("a record without name and email is saved")
	}
}

func TestUnknownAndIgnoredFields(t *testing.T) {
	t.Parallel()
	b := newBook(t)
	for _, field := range []string{"surname", "Name", "tenant", "created", "updated", "collectionId", "name+", "+name", "name:lower", "", "@x"} {
		_, err := b.create(map[string]any{"name": "Ada", field: "x"})
		var faults fault.Fields
		if !errors.As(err, &faults) || faults[field].Code != fault.CodeUnknownField {
			t.Errorf("the field %q gives %v", field, err)
		}
	}
	created := b.Add(map[string]any{"name": "Ada", "id": "mine", "createdAt": json.Number("1"), "updatedAt": nil})
	if created.ID == "mine" || !strings.HasPrefix(created.Created, "20") {
		t.Errorf("what is ignored has set %s %s", created.ID, created.Created)
	}
	if _, err := b.create(map[string]any{"name": json.Number("1"), "email": "x", "surname": "y"}); err == nil || strings.Count(err.Error(), ";") != 2 {
		t.Errorf("not every fault is told: %v", err)
	}
}

func TestNameOrEmail(t *testing.T) {
	t.Parallel()
	b := newBook(t)
	for _, input := range []map[string]any{{}, {"phone": "+49301"}, {"name": " ", "email": nil}, {"company": "x", "externalId": "y"}} {
		_, err := b.create(input)
		var faults fault.Fields
		if !errors.As(err, &faults) || faults["name"].Code != fault.CodeRequired || faults["email"].Code != fault.CodeRequired {
			t.Errorf("%v gives %v", input, err)
		}
	}
	both := b.Add(map[string]any{"name": "Ada", "email": "ada@example.com"})
	for _, step := range []struct {
		input map[string]any
		ok    bool
	}{
		{map[string]any{"name": nil, "email": nil}, false},
		{map[string]any{"name": nil}, true},
		{map[string]any{"email": ""}, false},
		{map[string]any{"email": nil, "name": "Ada again"}, true},
	} {
		if _, err := b.update(both.ID, step.input); (err == nil) != step.ok {
			t.Errorf("%v gives %v", step.input, err)
		}
	}
}

func TestExternalIDIsUniquePerTenant(t *testing.T) {
	t.Parallel()
	b := newBook(t)
	first := b.Add(map[string]any{"name": "A", "externalId": "x"})
	second := b.Add(map[string]any{"name": "B", "externalId": "X"}) // another id: case counts
	b.Other().Add(map[string]any{"name": "C", "externalId": "x"})
	b.Add(map[string]any{"name": "D"})
	b.Add(map[string]any{"name": "E"}) // none is not an id
	_, createErr := b.create(map[string]any{"name": "F", "externalId": " x "})
	_, updateErr := b.update(second.ID, map[string]any{"externalId": "x"})
	for _, err := range []error{createErr, updateErr} {
		var faults fault.Fields
		if !errors.As(err, &faults) || faults["externalId"].Code != fault.CodeDuplicateExternalID {
			t.Errorf("a taken external id gives %v", err)
		}
	}
	if _, err := b.update(first.ID, map[string]any{"externalId": "x", "name": "A2"}); err != nil {
		t.Errorf("its own external id: %v", err)
	}
	if _, err := b.update(first.ID, map[string]any{"externalId": nil}); err != nil {
		t.Error(err)
	}
	if _, err := b.update(second.ID, map[string]any{"externalId": "x"}); err != nil {
		t.Errorf("an external id that was given up: %v", err)
	}
}

// The contact object has every key, null where there is no value, and text exactly as it was sent.
func TestContactObject(t *testing.T) {
	t.Parallel()
	b := newBook(t)
	for _, text := range []string{"A", `"\/<>&'`, "a\u2028b\u2029c\ufeffd", "日本語 🧑‍🚀", "\u200fעברית"} {
		c := b.Add(map[string]any{"name": text})
		encoded, err := c.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		var object map[string]any
		if err := json.Unmarshal(encoded, &object); err != nil {
			t.Fatalf("%v: %s", err, encoded)
		}
		if object["name"] != text {
			t.Errorf("%q became %q", text, object["name"])
		}
		for _, key := range []string{"email", "phone", "company", "externalId"} {
			if value, there := object[key]; !there || value != nil {
				t.Errorf("%s is %v in %s", key, value, encoded)
			}
		}
		if len(object) != len(contact.Fields)+3 || object["id"] != c.ID || !stampPattern.MatchString(object["createdAt"].(string)) || object["updatedAt"] != object["createdAt"] {
			t.Errorf("the object is %s", encoded)
		}
	}
}

// stampPattern is RFC 3339 in UTC with milliseconds.
var stampPattern = regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$`)
