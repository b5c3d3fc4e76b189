package sheet_test

import (
	"bytes"
	"reflect"
	"strings"
	"testing"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/contact"
	"contactbase/internal/contact/sheet"
)

// An export escapes texts as all address books read them, and an import reads all fields of it.
func TestCardsOfExports(t *testing.T) {
	t.Parallel()
	custom := []core.Field{&core.TextField{Name: "note"}, &core.NumberField{Name: "max_score"}, &core.JSONField{Name: "extra"}}
	written := &contact.Contact{ID: "abcdefghijklmno", Name: `A\nn, "B"; C`, Company: "Müller; Söhne, GmbH", Custom: []contact.CustomValue{
		{Name: "note", Value: " =a;b,c\\n\r\nd\\\r\n 'e"}, {Name: "max_score", Value: 1.5}, {Name: "extra", Value: map[string]any{"a": "b;c"}},
	}}
	var file bytes.Buffer
	writer, err := sheet.NewContactWriter(&file, sheet.VCard, custom)
	if err != nil {
		t.Fatal(err)
	}
	if err := writer.WriteContact(written); err != nil {
		t.Fatal(err)
	}
	if err := writer.Close(); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"\r\nORG:Müller\\; Söhne\\, GmbH\r\n", "\r\nFN:A\\\\nn\\, \"B\"\\; C\r\n", "\r\nUID:urn:contactbase:abcdefghijklmno\r\n",
		"\r\nX-CONTACTBASE-ID:abcdefghijklmno\r\n", "\r\nX-CONTACTBASE-MAX_SCORE:1.5\r\n", "\r\nX-CONTACTBASE-EXTRA:{\"a\":\"b\\;c\"}\r\n",
	} {
		if !strings.Contains(file.String(), want) {
			t.Errorf("%q is not in %q", want, file.String())
		}
	}
	reader, rows, err := read(t, file.String(), sheet.Choice{Custom: []string{"note", "max_score", "extra"}})
	if err != nil || len(rows) != 1 {
		t.Fatalf("%v, %v", rows, err)
	}
	got := map[string]string{}
	for i, column := range reader.Columns {
		if rows[0].Cells[i] != "" {
			got[column] = rows[0].Cells[i]
		}
	}
	want := map[string]string{
		"X-CONTACTBASE-ID": written.ID, "name": written.Name, "company": written.Company,
		"note": " =a;b,c\\n\r\nd\\\r\n 'e", "max_score": "1.5", "extra": `{"a":"b;c"}`,
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// Cards as telephones write them.
func TestCardsOfTelephones(t *testing.T) {
	t.Parallel()
	const quoted = ";CHARSET=UTF-8;ENCODING=QUOTED-PRINTABLE:"
	for text, want := range map[string]map[string]string{
		card("FN:", "N:;;;;", "NICKNAME:Bobby", "TEL:+491"):                        {"name": "Bobby", "phone": "+491"},
		card("FN:", "N:;;;;", "NICKNAME:Bob\\, the\\; B,Bobby"):                    {"name": "Bob, the; B"},
		card("FN:Ann", "NICKNAME:Bobby"):                                           {"name": "Ann"},
		card("FN:", "N:;;;;", "ORG:Only Org Ltd", "TEL:+491"):                      {"company": "Only Org Ltd", "phone": "+491"},
		card("FN:A", "UID:urn:contactbase:abcdefghijklmno"):                        {"name": "A"},
		card("FN:A", "UID:urn:uuid:1"):                                             {"name": "A", "externalId": "urn:uuid:1"},
		card("FN" + quoted + "=D0=9B=D0=B5=D0=B2=20=D0=90=\r\n =D0=B2=D0=B8"):      {"name": "Лев Ави"},
		card("N" + quoted + "=D0=90=\r\n =D0=B2=\r\n =D0=B8;=D0=9B=D0=B5=D0=B2;;"): {"name": "Лев Ави"},
		card("FN" + quoted + "Ann M=C3=BCller=\r\n Reed"):                          {"name": "Ann Müller Reed"},
		card("FN" + quoted + "M=C3=BC=\r\nller"):                                   {"name": "Müller"},
		"\ufeff" + card("FN:A") + "\ufeff":                                         {"name": "A"},
		card("FN;ENCODING=QUOTED-PRINTABLE:=C8=E2=E0=ED =CF=E5=F2=F0=EE=E2"):       {"name": "Иван Петров"},
	} {
		if got := readCards(t, text); len(got) != 1 || !reflect.DeepEqual(got[0], want) {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}
