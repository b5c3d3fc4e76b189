package sheet_test

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/unicode"

	"contactbase/internal/contact/sheet"
)

// known are the headings that the tests know.
func known(heading string) bool {
	return slices.Contains([]string{"name", "company", "email", "phone", "a", "b", "text"}, heading)
}

// read returns the columns and the rows of a sheet.
func read(t *testing.T, text string, choice sheet.Choice) (reader *sheet.Reader, rows []sheet.Row, err error) {
	t.Helper()
	choice.Known = known
	reader, err = sheet.NewReader(t.Context(), iotest.OneByteReader(strings.NewReader(text)), t.TempDir(), choice)
	if err != nil {
		return nil, nil, err
	}
	t.Cleanup(func() { _ = reader.Close() })
	for {
		row, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return reader, rows, nil
		}
		if err != nil {
			return reader, rows, err
		}
		rows = append(rows, row)
	}
}

// readAll returns the cells of a sheet. The error is also that of the first refused row.
func readAll(t *testing.T, text string) (cells [][]string, err error) {
	t.Helper()
	reader, rows, err := read(t, text, sheet.Choice{})
	if err != nil {
		return nil, err
	}
	cells = [][]string{reader.Columns}
	for _, row := range rows {
		if row.Refused != "" && err == nil {
			err = fmt.Errorf("row %d: %s", row.Number, row.Refused)
		}
		cells = append(cells, row.Cells)
	}
	return cells, err
}

func encode(t *testing.T, text string, encoder *encoding.Encoder) string {
	t.Helper()
	result, err := encoder.String(text)
	if err != nil {
		t.Fatal(err)
	}
	return result
}

func TestReader(t *testing.T) {
	t.Parallel()
	encoded := func(text string, encoder *encoding.Encoder) string { return encode(t, text, encoder) }
	want := [][]string{{"name", "company"}, {"Zoë", "Fünf; Söhne"}, {"Ada", ""}}
	const semicolons = "name;company\r\nZoë;\"Fünf; Söhne\"\r\nAda\r\n"
	for what, text := range map[string]string{
		"UTF-8":            "name,company\nZoë,Fünf; Söhne\nAda,\n",
		"Excel's UTF-8":    "\uFEFF" + semicolons,
		"Windows-1252":     encoded(semicolons, charmap.Windows1252.NewEncoder()),
		"both":             "\uFEFF" + encoded(semicolons, charmap.Windows1252.NewEncoder()),
		"UTF-16LE, tabs":   encoded("name\tcompany\r\nZoë\tFünf; Söhne\r\nAda\t\r\n", unicode.UTF16(unicode.LittleEndian, unicode.UseBOM).NewEncoder()),
		"UTF-16BE":         encoded(semicolons, unicode.UTF16(unicode.BigEndian, unicode.UseBOM).NewEncoder()),
		"without a mark":   encoded(semicolons, unicode.UTF16(unicode.LittleEndian, unicode.IgnoreBOM).NewEncoder()),
		"Mac Roman":        encoded(semicolons, charmap.Macintosh.NewEncoder()),
		"sep=":             "sep=|\r\nname|company\r\nZoë|Fünf; Söhne\r\nAda|\r\n",
		"blank cells":      " name ,company,\nZoë,Fünf; Söhne, ,\n\nAda,,,\n",
		"quoted separator": "\"name\";\"company\"\nZoë;\"Fünf; Söhne\"\nAda;\n",
	} {
		rows, err := readAll(t, text)
		if err != nil || !reflect.DeepEqual(rows, want) {
			t.Errorf("%s: got %q (%v)", what, rows, err)
		}
	}
	for text, wrong := range map[string]string{
		"":                          "is empty",
		",,\n":                      "is empty",
		"name\nAda,Grace\n":         "row 2: the row has 2 cells, but there are only 1 headings",
		"name\n\"Ada":               "row 2: a cell has a quotation mark at its beginning",
		"name\n" + large(256<<10+1): "row 2: the row has a cell of 256 KiB; a cell can have at most 256 KiB",
		"a,b,c,d,e\n" + strings.Repeat(large(250<<10)+",", 5): "row 2: the row has more than 1024 KiB",
		strings.Repeat("a,", 1_000) + "a":                     "more than 1,000 cells",
		"Ada,ada@example.com\n":                               "has no headings, but values such as \"ada@example.com\" in row 1",
	} {
		if _, err := readAll(t, text); err == nil || !strings.Contains(err.Error(), wrong) {
			t.Errorf("%.20q: got %v, want %q", text, err, wrong)
		}
	}
}

// Only the row is refused that is too large or has no end, and reading it takes no more memory than a row may have.
func TestRefusedRecords(t *testing.T) {
	t.Parallel()
	const mib = 1 << 20
	for what, c := range map[string]struct{ row, wrong string }{
		"cells":          {strings.Repeat("x,", 1_000) + "x", "more than 1,000 cells"},
		"one line":       {large(3 * mib), "more than 1024 KiB"},
		"quoted":         {`"` + strings.Repeat("x\n", mib) + `"`, "quotation mark at its beginning"},
		"doubled quotes": {`"` + strings.Repeat(`""`, mib), "more than 1024 KiB"},
		"no end":         {`"Ada,x`, "quotation mark at its beginning"},
		"one cell more":  {"Ada,x,y", "the row has 3 cells"},
	} {
		_, rows, err := read(t, "name,company\nfirst,1\n"+c.row+"\nlast,2\n", sheet.Choice{})
		if err != nil || len(rows) < 3 || !reflect.DeepEqual(rows[0].Cells, []string{"first", "1"}) || !reflect.DeepEqual(rows[len(rows)-1].Cells, []string{"last", "2"}) {
			t.Errorf("%s: %d rows (%v)", what, len(rows), err)
			continue
		}
		if rows[1].Number != 3 || !strings.Contains(rows[1].Refused, c.wrong) {
			t.Errorf("%s: row %d is refused with %q", what, rows[1].Number, rows[1].Refused)
		}
	}
}

// Rows are read as spreadsheet programs read them.
func TestRowsOfSpreadsheets(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][][]string{
		"name,company\nBob \"The Builder\" Stone,x":    {{`Bob "The Builder" Stone`, "x"}},
		"name,company\n\"Ann \"\"A\"\" Reed\",\"x\"\n": {{`Ann "A" Reed`, "x"}},
		"name,company\n\"Ann\" Reed,x\n":               {{"Ann Reed", "x"}},
		"name,company\rAda,1\rGrace,2\r":               {{"Ada", "1"}, {"Grace", "2"}},
		"name,company\r\nAda\r\n\r\nGrace,2,,\r\n":     {{"Ada", ""}, {"Grace", "2"}},
		"name,company\n\"two\r\nlines\",\"a,b\"\n,\n":  {{"two\nlines", "a,b"}},
		"name,company\n5\" pipe,x\n\"\",y\n":           {{`5" pipe`, "x"}, {"", "y"}},
	} {
		rows, err := readAll(t, text)
		if err != nil || !reflect.DeepEqual(rows[1:], want) {
			t.Errorf("%q: got %q (%v), want %q", text, rows, err, want)
		}
	}
}

// The headings are where people put them.
func TestHeadings(t *testing.T) {
	t.Parallel()
	for what, c := range map[string]struct {
		text     string
		choice   sheet.Choice
		headings int
		columns  []string
		above    []string
	}{
		"first row":           {"name,x\nAda,1\n", sheet.Choice{}, 1, []string{"name", "x"}, nil},
		"below a note":        {"Notes:\n\"a, b; c\"\n\nname;email;x\nAda;;\n", sheet.Choice{}, 4, []string{"name", "email", "x"}, []string{"Notes:", "a, b; c"}},
		"one known":           {"Contacts 2026\nname,x\nAda,1\n", sheet.Choice{}, 2, []string{"name", "x"}, []string{"Contacts 2026"}},
		"none known":          {"x,y\nAda,1\n", sheet.Choice{}, 1, []string{"x", "y"}, nil},
		"chosen":              {"name,email\nx,y\nAda,1\n", sheet.Choice{Headings: 2}, 2, []string{"x", "y"}, []string{"name email"}},
		"repeated":            {"name,email,email,\n,,,\nAda,1,2,\n", sheet.Choice{}, 1, []string{"name", "email", "email#2"}, nil},
		"in two lines":        {"\"name\",\"first\n line\"\nAda,1\n", sheet.Choice{}, 1, []string{"name", "first line"}, nil},
		"like a repeated one": {"name,email#2,email,email\nAda,1,2,3\n", sheet.Choice{}, 1, []string{"name", "email#2", "email", "email#3"}, nil},
		"one column":          {"name\n\"Ada\"\nFünf; Söhne\n", sheet.Choice{}, 1, []string{"name"}, nil},
		"a narrow note":       {"name\nx,y,z\nAda,1,2\nBob,1,2\n", sheet.Choice{}, 1, []string{"name"}, nil},
	} {
		reader, _, err := read(t, c.text, c.choice)
		if err != nil || reader.Headings != c.headings || !reflect.DeepEqual(reader.Columns, c.columns) || !reflect.DeepEqual(reader.Above, c.above) {
			t.Errorf("%s: got %+v (%v)", what, reader, err)
		}
	}
	if rows, err := readAll(t, "name\nFünf; Söhne\n"); err != nil || rows[1][0] != "Fünf; Söhne" {
		t.Errorf("one column: got %q (%v)", rows, err)
	}
	if _, _, err := read(t, "BEGIN:VCARD\nFN:Ada\nEND:VCARD\n", sheet.Choice{Headings: 1}); err == nil || !strings.Contains(err.Error(), "no row of headings") {
		t.Errorf("a row of headings of vCards: got %v", err)
	}
	for wrong, choice := range map[string]sheet.Choice{"its row 2 is blank": {Headings: 2}, "one of the first 1000 rows": {Headings: 1_001}} {
		if _, _, err := read(t, "name\n\nAda\n", choice); err == nil || !strings.Contains(err.Error(), wrong) {
			t.Errorf("%+v: got %v", choice, err)
		}
	}
}

// Cells below an empty heading are left out with a warning.
func TestBelowNoHeading(t *testing.T) {
	t.Parallel()
	_, rows, err := read(t, "name,email,,\nAda,1,note here,\nBob,2,,\n", sheet.Choice{})
	if err != nil || len(rows) != 2 || !strings.Contains(rows[0].Warning, `"note here"`) || rows[1].Warning != "" || rows[0].Refused != "" {
		t.Errorf("got %+v (%v)", rows, err)
	}
}

// A program that expects another separator splits no cell, and finds no formula in one.
func TestQuotes(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	writer, err := sheet.NewWriter(&out, sheet.CSV, []string{"a", "b"})
	if err != nil {
		t.Fatal(err)
	}
	for _, cells := range [][]string{{"x;=1+1;", "x\t=1"}, {"x|=1", "\n=1"}, {"＝1+1", "plain"}} {
		if err := writer.Write(cells); err != nil {
			t.Fatal(err)
		}
	}
	if err := writer.Close(); err != nil {
		t.Fatal(err)
	}
	if want := "\ufeffa,b\n\"x;=1+1;\",\"x\t=1\"\n\"x|=1\",\"'\n=1\"\n'＝1+1,plain\n"; out.String() != want {
		t.Errorf("got %q, want %q", out.String(), want)
	}
}

func large(bytes int) string { return strings.Repeat("a", bytes) }

// What would be a formula in a spreadsheet is none, and every text comes back as it was.
func TestEscapes(t *testing.T) {
	t.Parallel()
	text := testEscapes(t, sheet.CSV)
	foreign, err := csv.NewReader(strings.NewReader(strings.TrimPrefix(text, "\uFEFF"))).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range foreign {
		isPhone := strings.Trim(row[0], "+0123456789") == ""
		if !isPhone && strings.ContainsAny(row[0][:1], "=+-@\t\r") {
			t.Errorf("%q is a formula", row[0])
		}
	}
	testEscapes(t, sheet.Workbook)
}

func testEscapes(t *testing.T, format sheet.Format) string {
	t.Helper()
	var out strings.Builder
	writer, err := sheet.NewWriter(&out, format, []string{"text", "end"})
	if err != nil {
		t.Fatal(err)
	}
	cells := []string{
		"=1+1", "+49301234", "-1", "@sum", "\tx", "\rx", "it's", "'quoted", "'s-Hertogenbosch", "a=b", "", "'=1", "''=1", "'''", "'", "=", "'=",
		" = ", "\n", "\r\n", "\r\r\n", "a\r\nb\nc\r", "\r", ` "x" `, ",;\t|", "x;=1+1;", "\n=1", "＝1+1", "＋1", "'＝1", "\u2028 <&>\x00", "\ufeffx",
		"00045", "'00045", "''00045", "'1990-05-17", "'90s Music", `="00123"`, `'="00123"`, `="a ""b"""`, `="A"&"B"`,
	}
	for _, cell := range cells {
		if err := writer.Write([]string{cell, "x"}); err != nil {
			t.Fatal(err)
		}
	}
	if err := writer.Close(); err != nil {
		t.Fatal(err)
	}
	rows, err := readAll(t, out.String())
	if err != nil || len(rows) != len(cells)+1 {
		t.Fatalf("got %q (%v)", rows, err)
	}
	for i, cell := range cells {
		if rows[i+1][0] != cell {
			t.Errorf("%q comes back as %q", cell, rows[i+1][0])
		}
	}
	return out.String()
}

// What protects a cell from a spreadsheet is not a part of it: programs write ="00123" (JoshClose/CsvHelper#197), and
// people type an apostrophe before digits. Apostrophes of names stay.
func TestForeignProtection(t *testing.T) {
	t.Parallel()
	for cell, want := range map[string]string{
		"'=1": "=1", "'t Hoekje": "'t Hoekje", "''": "''", "'s-Gravenhage": "'s-Gravenhage", "O'Brien": "O'Brien", "'": "'",
		"'00045": "00045", "'+49 30 123": "+49 30 123", "'-5": "-5", "'@ann": "@ann", "'17.05.1990": "17.05.1990", "'12:30": "12:30",
		"'90s Music": "'90s Music", "'68er": "'68er", "'00045'": "'00045'", "'00A45": "'00A45",
		`"=""00123"""`: "00123", `"=""say """"hi"""" """`: `say "hi" `, `"=""A""&""B"""`: `="A"&"B"`, `"="""""`: "", "=00123": "=00123", `"="""`: `="`,
	} {
		rows, err := readAll(t, "a,b\n"+cell+",x\n")
		if err != nil || rows[1][0] != want {
			t.Errorf("%s is read as %q, not %q (%v)", cell, rows, want, err)
		}
	}
}

func utf16(text string) string {
	var b strings.Builder
	for _, c := range []byte(text) {
		b.Write([]byte{c, 0})
	}
	return b.String()
}

// What is cut ends with an ellipsis and has no more characters than allowed.
func TestCut(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{"": "", "äbc": "äbc", "äöüß": "äöüß", "äöüßx": "äöü…", "abcdef": "abc…"} {
		if got := sheet.Cut(text, 4); got != want {
			t.Errorf("%q is cut to %q, not %q", text, got, want)
		}
	}
}
