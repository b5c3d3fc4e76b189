package sheet_test

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/contact/sheet"
	"contactbase/internal/fault"
	"contactbase/internal/testkit"
)

// FuzzSheet reads any file as a sheet, suggests a mapping, and makes items of its rows. A mapping of one's own is
// valid or an error that says why.
func FuzzSheet(f *testing.F) {
	app := testkit.NewApp(f)
	testkit.AddFields(f, app, &core.NumberField{Name: "score"}, &core.JSONField{Name: "extra"}, &core.SelectField{Name: "tags", Values: []string{"a", "b"}, MaxSelect: 2}, &core.DateField{Name: "born"})
	for _, text := range []string{
		"name,email\nAda,ada@example.com\n", "\ufeffName;E-Mail;Telefon\r\n\"Zoë \"\"Z\"\"\";zoe@example.com;+49 30 1\r\n", "sep=|\nname|score\nAda|1e999\n",
		"\xff\xfen\x00a\x00m\x00e\x00\n\x00A\x00\n\x00", "name\n\xe9\n", "id,name,createdAt,updatedAt\nx,'=1+1,,\n", "extra\ttags\tborn\n{\"a\":[1]}\ta b\t2026-01-31\n", "a,a\n\n,\n\"", "PK\x03\x04xl/", "\n\n,,,\n",
		"Vorname;Nachname\n;\n\"a\nb\";c\n", "BEGIN:VCARD\nFN:Ada\nEND:VCARD\n", "Email,Email\n\"a@b.c ::: d@e.f\",\"\"x\r\r\"", "\ufeffname\nZo\xeb\n",
		"BEGIN:VCARD\nN;CHARSET=ISO-8859-1;QUOTED-PRINTABLE:M=FCller;J=\n=F6rg\na.TEL;CELL;X=\"a:b:+491\n 2\nBEGIN:VCARD\nORG:a\\;b;c\nEND:VCARD\nFN:x\n",
	} {
		f.Add([]byte(text), "name,email", "email")
	}
	f.Fuzz(func(t *testing.T, file []byte, targets, match string) {
		isKnown, err := sheet.Known(app, nil)
		if err != nil {
			t.Fatal(err)
		}
		reader, err := sheet.NewReader(t.Context(), strings.NewReader(string(file)), t.TempDir(), sheet.Choice{Known: isKnown})
		if err != nil {
			return
		}
		sample, err := reader.Sample()
		if err != nil {
			return
		}
		suggestion, err := sheet.Suggest(app, reader.Columns, sample)
		if err != nil || len(suggestion.Mapping) != len(reader.Columns) {
			t.Fatalf("%q is mapped to %+v: %v", reader.Columns, suggestion, err)
		}
		choices := sheet.Choices{Mapping: suggestion.Mapping}
		parser, err := choices.Parser(app, reader.Columns, nil)
		if err != nil {
			t.Fatal(err)
		}
		for {
			row, err := reader.Read()
			if errors.Is(err, io.EOF) || err != nil && utf8.ValidString(err.Error()) {
				break
			}
			if err != nil || len(row.Cells) != len(reader.Columns) || !utf8.ValidString(strings.Join(row.Cells, "")) {
				t.Fatalf("a row of %q is %+v: %v", file, row, err)
			}
			if item, warnings, err := parser.Item(row.Cells); err != nil || item.Wrong != nil && item.Wrong.Code == "" || !utf8.ValidString(fmt.Sprint(warnings)) {
				t.Fatalf("the item of %q is %+v: %v", row.Cells, item, err)
			}
		}
		var wrong *fault.Error
		if err := (&sheet.Choices{Mapping: strings.Split(targets, ","), Match: match}).Check(app, len(reader.Columns)); err != nil && !errors.As(err, &wrong) {
			t.Errorf("the mapping %q is refused with %v", targets, err)
		}
	})
}
