package sheet_test

import (
	"errors"
	"io"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/contact/sheet"
	"contactbase/internal/fault"
	"contactbase/internal/testkit"
)

// FuzzSheet reads any file as a sheet, suggests a mapping, and makes items of its rows. A mapping of one's own is valid or an error that
// says why.
func FuzzSheet(f *testing.F) {
	app := testkit.NewApp(f)
	testkit.AddFields(f, app, &core.NumberField{Name: "score"}, &core.JSONField{Name: "extra"}, &core.SelectField{Name: "tags", Values: []string{"a", "b"}, MaxSelect: 2}, &core.DateField{Name: "born"})
	for _, text := range []string{
		"name,email\nAda,ada@example.com\n", "\ufeffName;E-Mail;Telefon\r\n\"Zoë \"\"Z\"\"\";zoe@example.com;+49 30 1\r\n", "sep=|\nname|score\nAda|1e999\n",
		"\xff\xfen\x00a\x00m\x00e\x00\n\x00A\x00\n\x00", "name\n\xe9\n", "id,name,createdAt,updatedAt\nx,'=1+1,,\n", "extra\ttags\tborn\n{\"a\":[1]}\ta b\t2026-01-31\n", "a,a\n\n,\n\"", "PK\x03\x04xl/", "\n\n,,,\n",
		"Vorname;Nachname\n;\n\"a\nb\";c\n", "\ufeffname\nZo\xeb\n",
	} {
		f.Add([]byte(text), "name,email", "email")
	}
	f.Fuzz(func(t *testing.T, file []byte, targets, match string) {
		reader, err := sheet.NewReader(t.Context(), strings.NewReader(string(file)), t.TempDir(), "")
		if err != nil {
			return
		}
		mapping, err := sheet.Suggest(app, reader.Columns)
		if err != nil || len(mapping) != len(reader.Columns) {
			t.Fatalf("%q is mapped to %q: %v", reader.Columns, mapping, err)
		}
		mapping.Unknown(reader.Columns)
		parser, err := mapping.Parser(app, mapping.DefaultMatch())
		if err != nil {
			t.Fatal(err)
		}
		for {
			cells, err := reader.Read()
			if errors.Is(err, io.EOF) || err != nil && utf8.ValidString(err.Error()) {
				break
			}
			if err != nil || len(cells) != len(reader.Columns) || !utf8.ValidString(strings.Join(cells, "")) {
				t.Fatalf("row %d of %q is %q: %v", reader.Row(), file, cells, err)
			}
			if item, err := parser.Item(cells); err != nil || item.Wrong != nil && item.Wrong.Code == "" {
				t.Fatalf("the item of %q is %+v: %v", cells, item, err)
			}
		}
		var wrong *fault.Error
		if err := sheet.Mapping(strings.Split(targets, ",")).Check(app, len(reader.Columns), match); err != nil && !errors.As(err, &wrong) {
			t.Errorf("the mapping %q is refused with %v", targets, err)
		}
	})
}
