package sheet_test

import (
	"archive/zip"
	"bytes"
	"encoding/csv"
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
func readAll(t *testing.T, text string) (rows [][]string, err error) {
	t.Helper()
	reader, err := sheet.NewReader(t.Context(), iotest.OneByteReader(strings.NewReader(text)), t.TempDir(), "")
	if err != nil {
		return nil, err
	}
	defer reader.Close()
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
		"both":             "\uFEFF" + encoded(semicolons, charmap.Windows1252.NewEncoder()),
		"UTF-16LE, tabs":   encoded("name\tcompany\r\nZoë\tFünf; Söhne\r\nAda\t\r\n", unicode.UTF16(unicode.LittleEndian, unicode.UseBOM).NewEncoder()),
		"UTF-16BE":         encoded(semicolons, unicode.UTF16(unicode.BigEndian, unicode.UseBOM).NewEncoder()),
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
		"name\nAda,Grace\n":         "row 2 has 2 cells",
		"name\n\"Ada":               "row 2, in line 2",
		"name\n" + large(256<<10+1): "row 2 has a cell of 256 KiB; a cell can have at most 256 KiB",
		"a,b,c,d,e\n" + strings.Repeat(large(250<<10)+",", 5): "the row in line 2 has more than 1024 KiB",
		strings.Repeat("a,", 300) + "a":                       "has 301 columns; a file can have at most 200",
		",,\nAda":                                             "first row is blank",
	} {
		if _, err := readAll(t, text); err == nil || !strings.Contains(err.Error(), wrong) {
			t.Errorf("%.20q: got %v, want %q", text, err, wrong)
		}
	}
}

// A CSV record that is too large is refused while it is read, and what is quoted or behind it does not count.
func TestLargeRecords(t *testing.T) {
	t.Parallel()
	const most = 1_000
	row := func(cells int) string { return strings.Repeat("x,", cells-1) + "x\n" }
	for _, c := range []struct{ begin, repeated, wrong string }{
		{"", ",", "the row in line 1 has more than 1000 cells"},
		{"a\n\n", ",", "the row in line 3 has more than 1000 cells"},
		{"a\n\"1\n2\"\nb\n", "x,", "the row in line 5 has more than 1000 cells"},
		{"a\nb\n", "x", "the row in line 3 has more than 1024 KiB"},
		{"a\n\"", "x\n", "the row in line 2 has more than 1024 KiB"},
		{"a\n\"", "\"\"", "the row in line 2 has more than 1024 KiB"},
	} {
		endless := &endless{rest: c.begin, repeated: c.repeated}
		reader, err := sheet.NewReader(t.Context(), endless, t.TempDir(), "")
		for err == nil {
			_, err = reader.Read()
		}
		if !strings.Contains(err.Error(), c.wrong) {
			t.Errorf("%q: got %v, want %q", c.begin+c.repeated, err, c.wrong)
		}
		if endless.read > 2<<20 {
			t.Errorf("%q: %d KiB were read", c.begin+c.repeated, endless.read>>10)
		}
	}
	rows, err := readAll(t, "a,b\n"+strings.Repeat("\"x,,,\ny\",z\n", most)+row(2))
	if err != nil || len(rows) != most+2 {
		t.Errorf("quoted separators: %d rows (%v)", len(rows), err)
	}
	if _, err := readAll(t, "a\n"+row(most)); err == nil || !strings.Contains(err.Error(), "row 2 has 1000 cells") {
		t.Errorf("a row of the most cells: %v", err)
	}
}

// endless is a text, and another one again and again.
type endless struct {
	rest, repeated string
	read           int
}

func (e *endless) Read(p []byte) (n int, err error) {
	for n < len(p) {
		if e.rest == "" {
			e.rest = e.repeated
		}
		taken := copy(p[n:], e.rest)
		n, e.rest = n+taken, e.rest[taken:]
	}
	e.read += n
	return n, nil
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
		if row[0] != "" && strings.ContainsAny(row[0][:1], "=+-@\t\r") {
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

// A sheet that another program wrote keeps its apostrophes, but for those that it has in front of formulas.
func TestForeignApostrophes(t *testing.T) {
	t.Parallel()
	rows, err := readAll(t, "a,b,c\n'=1,'t Hoekje,''\n")
	if err != nil || !reflect.DeepEqual(rows[1], []string{"=1", "'t Hoekje", "''"}) {
		t.Errorf("got %q, %v", rows, err)
	}
}

func utf16(text string) string {
	var b strings.Builder
	for _, c := range []byte(text) {
		b.Write([]byte{c, 0})
	}
	return b.String()
}

// A workbook is recognized by its content, and is read like CSV.
func TestWorkbook(t *testing.T) {
	t.Parallel()
	write := func(rows ...[]string) string {
		var b strings.Builder
		writer, err := sheet.NewWriter(&b, sheet.Workbook, rows[0])
		for _, row := range rows[1:] {
			err = errors.Join(err, writer.Write(row))
		}
		if err := errors.Join(err, writer.Close()); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	rows, err := readAll(t, write([]string{" name ", "company", ""}, []string{"Zoë"}, []string{"", ""}, []string{"Ada", "x", " "}))
	if want := [][]string{{"name", "company"}, {"Zoë", ""}, {"Ada", "x"}}; err != nil || !reflect.DeepEqual(rows, want) {
		t.Errorf("got %q (%v)", rows, err)
	}
	for wrong, file := range map[string]string{
		"is empty":          write(nil),
		"row 2 has 2 cells": write([]string{"a"}, []string{"b", "c"}),
		"has 201 columns; a file can have at most 200": write(strings.Split(strings.Repeat("a,", 201), ",")[:201]),
		"first row is blank":                           write([]string{" "}),
	} {
		if _, err := readAll(t, file); err == nil || !strings.Contains(err.Error(), wrong) {
			t.Errorf("got %v, want %q", err, wrong)
		}
	}
	if _, err := sheet.NewReader(t.Context(), strings.NewReader("name\nAda\n"), t.TempDir(), "Sheet1"); err == nil || !strings.Contains(err.Error(), "it is a CSV file") {
		t.Errorf("a sheet of CSV: %v", err)
	}
}

// A file of another format is called by its name, with what to do.
func TestOtherFormats(t *testing.T) {
	t.Parallel()
	archive := func(names ...string) string {
		var b bytes.Buffer
		w := zip.NewWriter(&b)
		for _, name := range names {
			if _, err := w.Create(name); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	const saveAs = `save the sheet without a password as "Excel Workbook (.xlsx)" or "CSV UTF-8"`
	for what, c := range map[string]struct {
		file string
		want []string
	}{
		"encrypted": {"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + utf16("EncryptedPackage"), []string{"a workbook with a password", saveAs}},
		"docx":      {archive("[Content_Types].xml", "word/document.xml"), []string{"Word document", saveAs}},
		"ods":       {"PK\x03\x04" + strings.Repeat("\x00", 26) + "mimetypeapplication/vnd.oasis.opendocument.spreadsheet", []string{"OpenDocument", saveAs}},
		"zip":       {archive("contacts.csv"), []string{"ZIP archive", "unpack it"}},
		"empty zip": {archive(), []string{"ZIP archive"}},
		"xls":       {"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + strings.Repeat("\x00", 500), []string{"(.xls)", saveAs}},
		"gzip":      {"\x1f\x8b\x08\x00", []string{"gzip file", "unpack it"}},
		"pdf":       {"%PDF-1.7\n", []string{"PDF document"}},
		"UTF-16":    {"n\x00a\x00m\x00e\x00\n\x00A\x00d\x00a\x00", []string{"UTF-16 without a byte order mark", saveAs}},
		"binary":    {"\x00\x00\x01\x02name", []string{"not a text file", saveAs}},
	} {
		_, err := readAll(t, c.file)
		for _, want := range c.want {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: got %v, want %q", what, err, want)
			}
		}
	}
}
