package xlsx_test

import (
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/xuri/excelize/v2"

	"contactbase/internal/xlsx"
)

// parts are files of a workbook by their names.
type parts map[string]string

const (
	relationships = `<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">%s</Relationships>`
	relationship  = `<Relationship Id="%s" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/%s" Target="%s"/>`
)

// book returns the parts of a workbook with one sheet of these rows, without styles and shared texts.
func book(rows string) parts {
	return parts{
		"_rels/.rels":                fmt.Sprintf(relationships, fmt.Sprintf(relationship, "rId1", "officeDocument", "xl/workbook.xml")),
		"xl/_rels/workbook.xml.rels": fmt.Sprintf(relationships, fmt.Sprintf(relationship, "rId1", "worksheet", "worksheets/sheet1.xml")),
		"xl/workbook.xml":            `<workbook><sheets><sheet name="One" sheetId="1" r:id="rId1"/></sheets></workbook>`,
		"xl/worksheets/sheet1.xml":   `<worksheet><sheetData>` + rows + `</sheetData></worksheet>`,
	}
}

// with returns the parts with one more, which the workbook names.
func (p parts) with(kind, content string) parts {
	p["xl/_rels/workbook.xml.rels"] = strings.Replace(p["xl/_rels/workbook.xml.rels"], "</", fmt.Sprintf(relationship, "r"+kind, kind, "/xl/"+kind+".xml")+"</", 1)
	p["xl/"+kind+".xml"] = content
	return p
}

func (p parts) zip(t *testing.T) []byte {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for name, content := range p {
		part, err := w.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(part, content); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// readAll returns the rows of a sheet by their numbers.
func readAll(t *testing.T, file []byte, name string) (rows map[int][]string, err error) {
	t.Helper()
	folder := t.TempDir()
	reader, err := xlsx.Open(t.Context(), bytes.NewReader(file), folder, name)
	if err == nil {
		rows = map[int][]string{}
		for {
			cells, row, wrong := reader.Read()
			cells = slices.Clone(cells) // the next row takes their memory
			if wrong != nil {
				if !errors.Is(wrong, io.EOF) {
					err = wrong
				}
				break
			}
			rows[row] = cells
		}
		if err := reader.Close(); err != nil {
			t.Error(err)
		}
	}
	if left, _ := os.ReadDir(folder); len(left) != 0 {
		t.Errorf("%v is left", left)
	}
	return rows, err
}

// A workbook need not have styles or shared texts, names of cells or numbers of rows.
func TestPlainWorkbooks(t *testing.T) {
	t.Parallel()
	const shared = `<sst><si><t>shared</t></si><si><r><t>ri</t></r><r><t>ch</t></r><rPh sb="0" eb="1"><t>phonetic</t></rPh></si></sst>`
	for what, c := range map[string]struct {
		parts parts
		want  map[int][]string
	}{
		"inline":      {book(`<row r="1"><c r="A1" t="inlineStr"><is><t> a_x0041_ &amp;&#10;b</t></is></c><c r="C1" t="str"><f>x</f><v>c</v></c></row>`), map[int][]string{1: {" aA &\nb", "", "c"}}},
		"no names":    {book(`<row><c><v>1</v></c><c><v>2</v></c></row><row/><row><c/><c t="b"><v>1</v></c></row>`), map[int][]string{1: {"1", "2"}, 3: {"", "TRUE"}}},
		"blank rows":  {book(`<row r="2"><c r="A2"/></row><row r="5"><c r="AB5"><v>1</v></c></row>`), map[int][]string{5: append(make([]string, 27), "1")}},
		"wrong rows":  {book(`<row r="9"><c><v>1</v></c></row><row r="3"><c><v>2</v></c></row><row r="9999999999"><c><v>3</v></c></row>`), map[int][]string{9: {"1"}, 10: {"2"}, 11: {"3"}}},
		"shared":      {book(`<row><c t="s"><v>1</v></c><c t="s"><v>0</v></c></row>`).with("sharedStrings", shared), map[int][]string{1: {"rich", "shared"}}},
		"no rows":     {book(""), map[int][]string{}},
		"empty texts": {book(`<row><c t="str"><f>""</f><v></v></c><c t="inlineStr"><is><t/></is></c></row>`), map[int][]string{}},
		"ISO date":    {book(`<row><c t="d"><v>2026-01-31</v></c></row>`), map[int][]string{1: {"2026-01-31"}}},
	} {
		got, err := readAll(t, c.parts.zip(t), "")
		if err != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: got %#v (%v)", what, got, err)
		}
	}
	upper := parts{}
	for name, content := range book(`<row><c><v>1</v></c></row>`) {
		upper[strings.ReplaceAll(strings.Replace(name, "sheet1", "Sheet1", 1), "/", `\`)] = content
	}
	if got, err := readAll(t, upper.zip(t), ""); err != nil || len(got) != 1 {
		t.Errorf("other names: got %#v (%v)", got, err)
	}
}

// Numbers are as people see them, and identifiers keep their digits.
func TestNumbers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ format, cell, want string }{
		{"0", "491701234567", "491701234567"}, // numbers are the built-in formats
		{"0", "4.91701234567E11", "491701234567"}, {"0", "12345678901234567890", "12345678901234567890"},
		{"0", "0.30000000000000004", "0.3"}, {"0", "-1.50", "-1.5"}, {"0", "1E-3", "0.001"}, {"0", "1e300", "1e+300"}, {"0", "x", "x"}, {"0", "NaN", "NaN"},
		{"1", "2.5", "3"}, {"1", "-0.4", "0"}, {"2", "1.005", "1.01"}, {"3", "1234567.8", "1234568"}, {"4", "-1234.5", "-1234.50"}, {"44", "12.5", "12.50"},
		{"9", "0.125", "13%"}, {"10", "0.125", "12.50%"}, {"11", "491701234567", "491701234567"}, {"12", "0.5", "0.5"}, {"49", "0042", "0042"},
		{"14", "46053", "2026-01-31"}, {"14", "46053.99", "2026-01-31"}, {"22", "46053.604166666664", "2026-01-31 14:30:00"}, {"20", "0.6041666667", "14:30"}, {"21", "0.6041666667", "14:30:00"},
		{"46", "1.5", "36:00:00"}, {"14", "1", "1900-01-01"}, {"14", "59", "1900-02-28"}, {"14", "61", "1900-03-01"}, {"14", "-1", "-1"}, {"14", "99999999", "99999999"}, {"31", "46053", "2026-01-31"},
		{"00000", "123", "00123"}, {"00000", "1234567", "1234567"}, {"0.0##", "3.14159", "3.142"}, {"0.0##", "3", "3.0"}, {"#.##", "3", "3"}, {"0.0%", "0.1234", "12.3%"},
		{`"KD-"0000`, "42", "KD-0042"}, {`0" pcs."`, "42", "42 pcs."}, {`0#" "##" "##" "##" "##`, "123456789", "01 23 45 67 89"}, {"000-00-0000", "123456789", "123-45-6789"},
		{`_-* #,##0.00\ "€"_-;\-* #,##0.00\ "€"_-`, "-1234.5", "-1234.50"}, {"[$€-407] #,##0.00", "1234.5", "1234.50"}, {`$#,##0`, "1234", "1234"},
		{"[Red]0.0;[Blue]0", "1.25", "1.3"}, {"[<=9999999]###-####;(###) ###-####", "5551234", "5551234"}, {"# ?/?", "0.5", "0.5"}, {"0.00E+00", "491701234567", "491701234567"},
		{"General", "491701234567", "491701234567"}, {";;;", "5", "5"}, {"@", "5", "5"}, {`"`, "5", "5"}, {`0\`, "5", "5"}, {"[", "5", "5"}, {"", "5", "5"},
		{"dd.mm.yyyy", "46053", "2026-01-31"}, {`[$-F800]dddd\,\ mmmm\ dd\,\ yyyy`, "46053", "2026-01-31"}, {"mmm-yy", "46053", "2026-01-31"}, {"mmmm", "46053", "2026-01-31"},
		{"dd/mm/yyyy hh:mm", "46053.604166666664", "2026-01-31 14:30:00"}, {"h:mm AM/PM", "0.6041666667", "14:30"}, {"mm:ss.0", "0.0104166667", "00:15:00"}, {"[h]:mm", "1.5", "36:00:00"}, {"yyyy-mm-dd", "46053.999999", "2026-02-01"},
	} {
		id, code := c.format, ""
		if strings.Trim(id, "0123456789") != "" || id == "" || len(id) > 2 {
			code, id = fmt.Sprintf(`<numFmt numFmtId="164" formatCode="%s"/>`, strings.NewReplacer(`"`, "&quot;", "<", "&lt;").Replace(c.format)), "164"
		}
		styles := `<styleSheet><numFmts>` + code + `</numFmts><cellStyleXfs><xf numFmtId="9"/></cellStyleXfs><cellXfs><xf numFmtId="0"/><xf numFmtId="` + id + `"/></cellXfs></styleSheet>`
		got, err := readAll(t, book(`<row><c s="1"><v>`+c.cell+`</v></c><c s="7"><v>1</v></c></row>`).with("styles", styles).zip(t), "")
		if err != nil || len(got[1]) != 2 || got[1][0] != c.want {
			t.Errorf("%s as %q: got %#v (%v), want %q", c.cell, c.format, got, err, c.want)
		}
	}
	from1904 := book(`<row><c s="0"><v>44591</v></c></row>`).with("styles", `<styleSheet><cellXfs><xf numFmtId="14"/></cellXfs></styleSheet>`)
	from1904["xl/workbook.xml"] = strings.Replace(from1904["xl/workbook.xml"], "<sheets>", `<workbookPr date1904="1"/><sheets>`, 1)
	if got, err := readAll(t, from1904.zip(t), ""); err != nil || got[1][0] != "2026-01-31" {
		t.Errorf("from 1904: got %#v (%v)", got, err)
	}
}

// The sheet is the first one that people see, or the one with the name.
func TestSheets(t *testing.T) {
	t.Parallel()
	b := book(`<row><c><v>1</v></c></row>`).with("chartsheet", "")
	b["xl/_rels/workbook.xml.rels"] = strings.Replace(b["xl/_rels/workbook.xml.rels"], "</", fmt.Sprintf(relationship, "rId2", "worksheet", "two.xml")+"</", 1)
	b["xl/two.xml"] = strings.Replace(b["xl/worksheets/sheet1.xml"], "1", "2", 1)
	b["xl/workbook.xml"] = `<workbook><sheets><sheet name="Chart" r:id="rchartsheet"/><sheet name="Lists" state="hidden" r:id="rId2"/><sheet name="One" r:id="rId1"/></sheets></workbook>`
	for name, want := range map[string]string{"": "1", "one": "1", "LISTS": "2"} {
		if got, err := readAll(t, b.zip(t), name); err != nil || got[1][0] != want {
			t.Errorf("%q: got %#v (%v)", name, got, err)
		}
	}
	if _, err := readAll(t, b.zip(t), "Two"); err == nil || !strings.Contains(err.Error(), `no sheet named "Two"; choose one of "Lists", "One"`) {
		t.Errorf("got %v", err)
	}
}

// An independent library reads what a Writer writes, and a Reader reads it back.
func TestWriter(t *testing.T) {
	t.Parallel()
	rows := [][]string{
		{"name", "phone", "text"},
		{"=1+1", "+49301234", "0042"},
		{" space ", "", "_x000D_ _x0041_x0042_ _x"},
		{"a\nb\tc", `"<&>'`, "🙂 \u2028"},
		{"", "", strings.Repeat("ü", 32_767)},
	}
	file := written(t, rows)
	got, err := readAll(t, file, "contacts")
	if err != nil || len(got) != len(rows) {
		t.Fatalf("got %d rows (%v)", len(got), err)
	}
	other, err := excelize.OpenReader(bytes.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	for i, want := range rows {
		if !reflect.DeepEqual(got[i+1], want) {
			t.Errorf("row %d is read back as %.100q", i+1, got[i+1])
		}
		for column, text := range want {
			name, err := excelize.CoordinatesToCellName(column+1, i+1)
			if err != nil {
				t.Fatal(err)
			}
			if formula, err := other.GetCellFormula("Contacts", name); formula != "" || err != nil {
				t.Errorf("%s is the formula %q (%v)", name, formula, err)
			}
			if shown, err := other.GetCellValue("Contacts", name); shown != text || err != nil {
				t.Errorf("%s is %.100q for excelize (%v)", name, shown, err)
			}
		}
	}
	for _, text := range []string{"\r", "\r\n", "\x00\x1f", "\ufffe\uffff", "_x005F_"} { // which excelize reads otherwise
		if got, err := readAll(t, written(t, [][]string{{text}}), ""); err != nil || got[1][0] != text {
			t.Errorf("%q is read back as %#v (%v)", text, got, err)
		}
	}
}

func written(t *testing.T, rows [][]string) []byte {
	t.Helper()
	var b bytes.Buffer
	writer, err := xlsx.NewWriter(&b)
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range rows {
		if err := writer.Write(row); err != nil {
			t.Fatal(err)
		}
	}
	if err := writer.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// What Excel cannot open is not written.
func TestWriterLimits(t *testing.T) {
	t.Parallel()
	writer, err := xlsx.NewWriter(io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	if err := writer.Write([]string{"a", strings.Repeat("🙂", 16_384)}); !errors.Is(err, xlsx.ErrFull) || !strings.Contains(err.Error(), "column B") {
		t.Errorf("a long cell: %v", err)
	}
	for range 1<<20 - 1 {
		if err := writer.Write(nil); err != nil {
			t.Fatal(err)
		}
	}
	if err := writer.Write(nil); !errors.Is(err, xlsx.ErrFull) {
		t.Errorf("a row too many: %v", err)
	}
}

// A workbook of another library is read as it shows it.
func TestExcelize(t *testing.T) {
	t.Parallel()
	file := excelize.NewFile()
	defer file.Close()
	set := func(cell string, value any, format string) {
		t.Helper()
		if err := file.SetCellValue("Sheet1", cell, value); err != nil {
			t.Fatal(err)
		}
		if format == "" {
			return
		}
		style, err := file.NewStyle(&excelize.Style{CustomNumFmt: &format})
		if err == nil {
			err = file.SetCellStyle("Sheet1", cell, cell, style)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	set("A1", "name", "")
	set("A2", "Zoë & <b>", "")
	set("B2", 491701234567, "")
	set("C2", 0.125, "0.0%")
	set("D2", 46053.604166666664, "dd.mm.yyyy hh:mm")
	set("E2", true, "")
	set("F2", "two\nlines\r", "")
	var b bytes.Buffer
	if err := file.Write(&b); err != nil {
		t.Fatal(err)
	}
	got, err := readAll(t, b.Bytes(), "")
	want := map[int][]string{1: {"name"}, 2: {"Zoë & <b>", "491701234567", "12.5%", "2026-01-31 14:30:00", "TRUE", "two\nlines\r"}}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %#v (%v)", got, err)
	}
	var locked bytes.Buffer
	if err := file.Write(&locked, excelize.Options{Password: "secret"}); err != nil {
		t.Fatal(err)
	}
	if !bytes.HasPrefix(locked.Bytes(), []byte("\xd0\xcf\x11\xe0")) {
		t.Errorf("a workbook with a password begins with %q", locked.Bytes()[:8])
	}
}
