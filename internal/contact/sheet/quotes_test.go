package sheet_test

import (
	"bytes"
	"os"
	"slices"
	"strings"
	"testing"

	"contactbase/internal/contact/sheet"
)

// A quotation mark behind a backslash is a part of a quoted cell where the cell would end too early otherwise, in a
// file without doubled ones.
func TestBackslashQuotes(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]string{
		`"Bob \"The Builder\" Stone",x`: {`Bob "The Builder" Stone`, "x"},
		`"say \"hi\", she said",x`:      {`say "hi", she said`, "x"},
		`"\"Bob\", Inc., Berlin",x`:     {`"Bob", Inc., Berlin`, "x"},
		`"5\", steel",x`:                {`5", steel`, "x"},
		`"Bob \"B\"","next"`:            {`Bob "B"`, "next"},
		`"C:\","next"`:                  {`C:\`, "next"},
		`x,"C:\"`:                       {"x", `C:\`},
		`"C:\",""`:                      {`C:\`},
		`"a ""b"" \","c"`:               {`a "b" \`, "c"},
		`"表","a \"b\" c"`:               {"表", `a "b" c`},
		"\"a \\\"b\nc\\\" d\",x":        {"a \"b\nc\" d", "x"},
		`"",  "a, b"`:                   {"", "a, b"},
		`a, "b, c"`:                     {"a", "b, c"},
		`Bob, "The Builder" Stone`:      {"Bob", ` "The Builder" Stone`},
		`Bob, "The`:                     {"Bob", ` "The`},
	} {
		rows, err := readAll(t, "name,company\n"+text+"\nlast,row\n")
		if err != nil || len(rows) != 3 || !slices.Equal(sheet.Trim(rows[1]), want) || rows[2][0] != "last" {
			t.Errorf("%s: got %q (%v), want %q", text, rows, err, want)
		}
	}
	reader, err := sheet.NewReader(t.Context(), strings.NewReader("name,company\n\"a \\\"b\\\" c\",x\n"), t.TempDir(), sheet.Choice{Known: func(string) bool { return true }})
	if err != nil || len(reader.FileWarnings) != 1 {
		t.Errorf("without a warning: %v", err)
	}
}

// A spreadsheet runs no formula of an export, and a plus sign and digits are never changed. A program gets all cells
// as they are. Both read back equal.
func TestPurposes(t *testing.T) {
	t.Parallel()
	cells := []string{"+4930123456", "=1+1", "'=1", "'+49", "''", "-1", "+49 30", "a\r\nb", " x ", "+", "@a", "\t\"", "'a"}
	columns := append([]string{"id", "name"}, make([]string, len(cells)-2)...)
	for i := 2; i < len(cells); i++ {
		columns[i] = "c" + string(rune('a'+i))
	}
	for format, want := range map[sheet.Format]string{
		sheet.CSV:  "+4930123456,'=1+1,''=1,''+49,'',\"'-1\"",
		sheet.Data: "+4930123456,=1+1,'=1,'+49,'',-1,+49 30,",
	} {
		var file bytes.Buffer
		writer, err := sheet.NewWriter(&file, format, columns)
		if err != nil {
			t.Fatal(err)
		}
		if err := writer.Write(cells); err != nil {
			t.Fatal(err)
		}
		if err := writer.Close(); err != nil {
			t.Fatal(err)
		}
		want = strings.ReplaceAll(want, `"'-1"`, "'-1")
		if !strings.Contains(file.String(), "\n"+want) || strings.HasPrefix(file.String(), "\uFEFF") != (format == sheet.CSV) {
			t.Errorf("%q is not in %q", want, file.String())
		}
		rows, err := readAll(t, file.String())
		if err != nil || len(rows) != 2 || !slices.Equal(rows[1], cells) {
			t.Errorf("%c: got %q, %v, want %q", format, rows, err, cells)
		}
	}
	if format, ok := sheet.Workbook.For("data"); format != sheet.Workbook || !ok {
		t.Error("a workbook cannot be for data")
	}
	if _, ok := sheet.CSV.For("excel"); ok {
		t.Error("an unknown purpose is accepted")
	}
}

// Cards of several files are read as one file, whatever their encodings are.
func TestJoinedCards(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	var names []string
	for name, text := range map[string]string{
		"/a.vcf": "\uFEFFBEGIN:VCARD\nVERSION:3.0\nFN:Zoë\nEND:VCARD", "/b.vcf": card("FN:Ada"), "/c.csv": "name\nBob\n",
	} {
		names = append(names, folder+name)
		if err := os.WriteFile(folder+name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	slices.Sort(names)
	joined, err := sheet.JoinCards(t.Context(), names[:2], folder, "", "")
	if err != nil {
		t.Fatal(err)
	}
	defer joined.Close()
	reader, err := sheet.NewReader(t.Context(), joined, folder, sheet.Choice{Known: func(string) bool { return true }})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"Zoë", "Ada"} {
		if row, err := reader.Read(); err != nil || !slices.Contains(row.Cells, want) {
			t.Errorf("got %v, %v, want %s", row, err, want)
		}
	}
	if _, err := sheet.JoinCards(t.Context(), names, folder, "", ""); err == nil || !strings.Contains(err.Error(), "c.csv: it has no vCards") {
		t.Errorf("got %v", err)
	}
}
