package xlsx_test

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"contactbase/internal/testkit/measure"
	"contactbase/internal/xlsx"
)

// What cannot be read, or would take too much memory, is an error that says what to do.
func TestUnreadableWorkbooks(t *testing.T) {
	t.Parallel()
	large := func(n int) string { return strings.Repeat("a", n) }
	without := func(name string) parts { b := book(""); delete(b, name); return b }
	binary := book("")
	binary["_rels/.rels"] = strings.Replace(binary["_rels/.rels"], "workbook.xml", "workbook.bin", 1)
	open := book("")
	open["xl/worksheets/sheet1.xml"] = "<worksheet><sheetData><row><c><v>1</v></c>"
	for what, c := range map[string]struct {
		file []byte
		want string
	}{
		"no archive":      {[]byte("PK\x03\x04nothing"), "is damaged"},
		"no workbook":     {parts{"contacts.csv": "name"}.zip(t), "ZIP archive, not a workbook: unpack it"},
		"no sheet":        {without("xl/worksheets/sheet1.xml").zip(t), "a part is missing"},
		"no list":         {without("xl/workbook.xml").zip(t), "a part is missing"},
		"no relations":    {without("xl/_rels/workbook.xml.rels").zip(t), "a part is missing"},
		"binary":          {binary.zip(t), ".xlsb"},
		"no end":          {open.zip(t), "unexpected EOF"},
		"no XML":          {book("<row").zip(t), "is damaged"},
		"entities":        {book("<row><c><v>&lol;</v></c></row>").zip(t), "is damaged"},
		"no shared text":  {book(`<row><c t="s"><v>1</v></c></row>`).with("sharedStrings", "<sst><si><t>a</t></si></sst>").zip(t), `no shared text "1"`},
		"far column":      {book(`<row r="1"><c r="XFE1"><v>1</v></c></row>`).zip(t), "behind column XFD"},
		"large cell":      {book(`<row><c t="inlineStr"><is><t>` + large(1<<20+5000) + `</t></is></c></row>`).zip(t), "more than 1024 KiB"},
		"cell of runs":    {book(`<row><c t="inlineStr"><is>` + strings.Repeat(`<t>`+large(1<<19)+`</t>`, 3) + `</is></c></row>`).zip(t), "more than 1024 KiB"},
		"large row":       {book(`<row r="7">`+strings.Repeat(`<c t="s"><v>0</v></c>`, 10)+`</row>`).with("sharedStrings", `<sst><si><t>`+large(200<<10)+`</t></si></sst>`).zip(t), "row 7 has more than 1024 KiB"},
		"large attribute": {book(`<row r="` + large(2<<20) + `"/>`).zip(t), "more than 1024 KiB"},
		"large styles":    {book("").with("styles", "<styleSheet>"+strings.Repeat(strings.Repeat("<x/>", 1000), 5000)).zip(t), "when unpacked"},
		"cell formats":    {book("").with("styles", "<styleSheet><cellXfs>"+strings.Repeat("<xf/>", 65_492)).zip(t), "more than 65490 formats of cells"},
		"many files":      {manyFiles(t), "too many files"},
	} {
		_, err := readAll(t, c.file, "")
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", what, err, c.want)
		}
	}
	changed := book(`<row><c><v>1</v></c></row>`).zip(t)
	at := bytes.Index(changed, []byte("PK\x07\x08")) // a sum
	for at >= 0 && at < len(changed)-4 {
		changed[at+4]++
		next := bytes.Index(changed[at+4:], []byte("PK\x07\x08"))
		if next < 0 {
			break
		}
		at += 4 + next
	}
	for i := range changed { // the directory's, too, which counts
		if bytes.HasPrefix(changed[i:], []byte("PK\x01\x02")) {
			changed[i+16]++
		}
	}
	if _, err := readAll(t, changed, ""); err == nil || !strings.Contains(err.Error(), "checksum") {
		t.Errorf("a changed workbook: %v", err)
	}
}

func manyFiles(t *testing.T) []byte {
	t.Helper()
	b := book("")
	for i := range 50_000 {
		b[fmt.Sprintf("xl/%090d", i)] = ""
	}
	return b.zip(t)
}

// endless repeats a text.
type endless struct {
	text     string
	at, left int
}

func (e *endless) Read(p []byte) (n int, err error) {
	for n < len(p) && (e.left > 0 || e.at > 0) {
		taken := copy(p[n:], e.text[e.at:])
		n, e.left, e.at = n+taken, e.left-taken, (e.at+taken)%len(e.text)
	}
	if n == 0 {
		return 0, io.EOF
	}
	return n, nil
}

// most is how many MiB of memory a workbook may take.
const most = 32

// Hundreds of megabytes of unpacked rows and shared texts take little memory, and more than the limit is refused.
func TestBombs(t *testing.T) {
	t.Parallel()
	for what, c := range map[string]struct {
		part, text string
		size       int
		want       string
	}{
		"rows":          {"xl/worksheets/sheet1.xml", "<row><c><v>123456</v></c></row>", 16 << 20, ""},
		"blank cells":   {"xl/worksheets/sheet1.xml", strings.Repeat("<c/>", 1000), 16 << 20, "behind column XFD"},
		"blank rows":    {"xl/worksheets/sheet1.xml", strings.Repeat("<row/>", 1000), 16 << 20, "more than 1048576 rows, blank ones included"},
		"depth":         {"xl/worksheets/sheet1.xml", strings.Repeat("<a>", 1000), 16 << 20, "unexpected EOF"},
		"shared texts":  {"xl/sharedStrings.xml", "<si><t>" + strings.Repeat("x", 1000) + "</t></si>", 32 << 20, ""},
		"many texts":    {"xl/sharedStrings.xml", strings.Repeat("<si/>", 1000), 32 << 20, "more than 5000000 different texts"},
		"large comment": {"xl/sharedStrings.xml", "<!-- " + strings.Repeat("x", 2<<20), 8 << 20, "more than 1024 KiB"},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			begin, end := "<sst>", ""
			if c.part != "xl/sharedStrings.xml" {
				begin, end = "<worksheet><sheetData>", "</sheetData></worksheet>"
			}
			if what == "blank cells" {
				begin += "<row>"
			}
			if c.want != "" {
				end = ""
			}
			file := bomb(t, c.part,
				io.MultiReader(strings.NewReader(begin), &endless{text: c.text, left: c.size}, strings.NewReader(end)))
			peak := measure.Peak(t, func() {
				reader, err := xlsx.Open(t.Context(), bytes.NewReader(file), t.TempDir(), "")
				if err == nil {
					for err == nil {
						_, _, err = reader.Read()
					}
					_ = reader.Close()
				}
				if c.want == "" && !errors.Is(err, io.EOF) ||
					c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
					t.Errorf("got %v, want %q", err, c.want)
				}
			})
			t.Logf("%d MiB", peak)
			if peak > most {
				t.Errorf("it takes %d MiB", peak)
			}
		})
	}
}

// bomb returns a workbook of which one part has this content.
func bomb(t *testing.T, name string, content io.Reader) []byte {
	t.Helper()
	var file bytes.Buffer
	w := zip.NewWriter(&file)
	b := book("").with("sharedStrings", "")
	delete(b, name)
	for other, text := range b {
		part, err := w.Create(other)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.WriteString(part, text)
	}
	part, err := w.Create(name)
	if err == nil {
		_, err = io.Copy(part, content)
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return file.Bytes()
}

// lines returns what line returns for each number, up to a size in bytes.
func lines(size int, line func(n int) string) string {
	var b strings.Builder
	for n := 0; b.Len() < size; n++ {
		b.WriteString(line(n))
	}
	return b.String()
}

// The small parts of a workbook take little memory, too, each at its largest. So do the longest formats of cells.
func TestBombsInSmallParts(t *testing.T) {
	t.Parallel()
	const whole, links = 15 << 20, 1<<20 - 2_000
	formats := "<styleSheet>" + lines(whole-1<<20, func(n int) string {
		return fmt.Sprintf(`<numFmt numFmtId="%d" formatCode="%s"/>`, 200+n, strings.Repeat("0x", 127))
	}) + "<cellXfs>" + lines(1<<20, func(n int) string { return fmt.Sprintf(`<xf numFmtId="%d"/>`, 200+n) }) + "</cellXfs></styleSheet>"
	relations := func(text string) string { return fmt.Sprintf(relationships, text) }
	for what, c := range map[string]struct{ part, content string }{
		"formats": {"xl/styles.xml", formats},
		"sheets": {"xl/workbook.xml", "<workbook>" + lines(whole, func(n int) string {
			return fmt.Sprintf(`<sheet name="%d" id="rId1"/>`, n)
		}) + "</workbook>"},
		"relations": {"xl/_rels/workbook.xml.rels", relations(fmt.Sprintf(relationship, "rId1", "worksheet", "worksheets/sheet1.xml") + lines(links, func(n int) string {
			return fmt.Sprintf(`<Relationship Id="%d" Type="worksheet" Target="%d"/>`, n, n)
		}))},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			b := book(`<row><c s="5"><v>1</v></c></row>`).with("styles", "")
			b[c.part] = c.content
			file := b.zip(t)
			peak := measure.Peak(t, func() {
				if _, err := readAll(t, file, ""); err != nil && what != "sheets" {
					t.Error(err)
				}
			})
			t.Logf("%d MiB", peak)
			if peak > most {
				t.Errorf("it takes %d MiB", peak)
			}
		})
	}
}

// The longest formats, with the longest results, cost several times the work of a plain workbook of the same size,
// and not hundreds of times.
func TestWorkOfFormats(t *testing.T) { // not beside other tests, because it measures the processor
	const size, bound = 256 << 10, 40
	cells := func(cell string) string {
		return lines(size, func(int) string { return "<row>" + strings.Repeat(cell, 100) + "</row>" })
	}
	work := func(runs int, code, value string) time.Duration {
		styles := `<styleSheet><numFmt numFmtId="200" formatCode="` + code + `"/><cellXfs><xf numFmtId="200"/></cellXfs></styleSheet>`
		file := book(cells(`<c s="0"><v>`+value+`</v></c>`)).with("styles", styles).zip(t)
		return measure.Processor(runs, func() {
			if _, err := readAll(t, file, ""); err != nil {
				t.Fatal(err)
			}
		})
	}
	plain := work(3, "General", "12345")
	for _, code := range []string{
		strings.Repeat("#", 255), strings.Repeat("0", 255), "0." + strings.Repeat("0", 253), strings.Repeat("x", 254) + "0", strings.Repeat("[", 255),
		strings.Repeat("&quot;", 255), "0." + strings.Repeat("0", 30) + "%", strings.Repeat("[", 1<<19), strings.Repeat("#", 1<<19),
	} {
		for _, value := range []string{"12345", "1e300", "1e-300"} {
			took := work(1, code, value)
			if took > bound*plain {
				took = work(3, code, value)
			}
			t.Logf("%.20s %s %.1f", code, value, float64(took)/float64(plain))
			if took > bound*plain {
				t.Errorf("the format %.20s… of %d characters takes %s for %s, and a plain workbook %s", code, len(code), took, value, plain)
			}
		}
	}
}

// A reader ends with its context.
func TestCancelled(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	file := book(lines(1<<20, func(int) string { return "<row><c><v>1</v></c></row>" })).zip(t)
	reader, err := xlsx.Open(ctx, bytes.NewReader(file), t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	cancel()
	for err == nil {
		_, _, err = reader.Read()
	}
	if !errors.Is(err, context.Canceled) {
		t.Errorf("reading ends with %v", err)
	}
}

// A formula without a value is shown as what it is, and the reader continues.
func TestFormulasWithoutValues(t *testing.T) {
	t.Parallel()
	rows, err := readAll(t, book(`<row><c><v>1</v></c><c t="e"><f>x</f><v>#N/A</v></c></row><row r="3"><c r="C3"><f>1+1</f><v></v></c></row>`).zip(t), "")
	if err != nil || len(rows) != 2 || rows[1][1] != "#N/A" || rows[3][2] != xlsx.NoResult {
		t.Errorf("got %v (%v)", rows, err)
	}
}
