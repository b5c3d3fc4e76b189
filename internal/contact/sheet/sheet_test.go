package sheet_test

import (
	"errors"
	"io"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"

	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/unicode"

	"contactbase/internal/contact/sheet"
)

// readAll returns the columns and the rows of a sheet.
func readAll(text string) (rows [][]string, err error) {
	reader, err := sheet.NewReader(iotest.OneByteReader(strings.NewReader(text)))
	if err != nil {
		return nil, err
	}
	rows = [][]string{reader.Columns}
	for {
		cells, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return rows, nil
		}
		if err != nil {
			return rows, err
		}
		rows = append(rows, cells)
	}
}

func TestReader(t *testing.T) {
	t.Parallel()
	encoded := func(text string, encoder interface{ String(string) (string, error) }) string {
		result, err := encoder.String(text)
		if err != nil {
			t.Fatal(err)
		}
		return result
	}
	want := [][]string{{"name", "company"}, {"Zoë", "Fünf; Söhne"}, {"Ada", ""}}
	const semicolons = "name;company\r\nZoë;\"Fünf; Söhne\"\r\nAda\r\n"
	for what, text := range map[string]string{
		"UTF-8":            "name,company\nZoë,Fünf; Söhne\nAda,\n",
		"Excel's UTF-8":    "\uFEFF" + semicolons,
		"Windows-1252":     encoded(semicolons, charmap.Windows1252.NewEncoder()),
		"UTF-16LE, tabs":   encoded("name\tcompany\r\nZoë\tFünf; Söhne\r\nAda\t\r\n", unicode.UTF16(unicode.LittleEndian, unicode.UseBOM).NewEncoder()),
		"UTF-16BE":         encoded(semicolons, unicode.UTF16(unicode.BigEndian, unicode.UseBOM).NewEncoder()),
		"sep=":             "sep=|\r\nname|company\r\nZoë|Fünf; Söhne\r\nAda|\r\n",
		"trimmed":          "name,company\n Zoë ,Fünf; Söhne,,\n\nAda,,,\n",
		"quoted separator": "\"name\";\"company\"\nZoë;\"Fünf; Söhne\"\nAda;\n",
	} {
		rows, err := readAll(text)
		if err != nil || !reflect.DeepEqual(rows, want) {
			t.Errorf("%s: got %q (%v)", what, rows, err)
		}
	}
	for text, wrong := range map[string]string{
		"":                              "is empty",
		"name\nAda,Grace\n":             "row 2 has 2 cells",
		"name\n\"Ada":                   "row 2, in line 2",
		"name\n" + large():              "larger than",
		strings.Repeat("a,", 300) + "a": "row 1 has 301 cells",
	} {
		if _, err := readAll(text); err == nil || !strings.Contains(err.Error(), wrong) {
			t.Errorf("%.20q: got %v, want %q", text, err, wrong)
		}
	}
}

func large() string { return strings.Repeat("a", 300<<10) }

// What would be a formula in a spreadsheet is none, and comes back as it was.
func TestFormulasAreDefused(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	writer, err := sheet.NewWriter(&out, []string{"name"})
	if err != nil {
		t.Fatal(err)
	}
	cells := []string{"=1+1", "+49301234", "-1", "@sum", "it's", "'quoted", "a=b", ""}
	for _, cell := range cells {
		if err := writer.Write([]string{cell}); err != nil {
			t.Fatal(err)
		}
	}
	if err := writer.Flush(); err != nil {
		t.Fatal(err)
	}
	for _, line := range strings.Split(strings.TrimPrefix(out.String(), "\uFEFF"), "\n") {
		if line != "" && strings.ContainsAny(line[:1], "=+-@") {
			t.Errorf("%q is a formula", line)
		}
	}
	rows, err := readAll(out.String())
	if err != nil || len(rows) < len(cells) {
		t.Fatalf("got %q (%v)", rows, err)
	}
	for i, cell := range cells[:len(cells)-1] {
		if rows[i+1][0] != cell {
			t.Errorf("%q comes back as %q", cell, rows[i+1][0])
		}
	}
}
