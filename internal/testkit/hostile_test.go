package testkit_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"contactbase/internal/contact/sheet"
	"contactbase/internal/testkit"
)

// generator returns an input with n parts.
type generator func(n int) []byte

// repeat returns a generator of a text with n equal parts.
func repeat(begin, part, end string) generator {
	return func(n int) []byte { return []byte(begin + strings.Repeat(part, n) + end) }
}

// number returns a generator of a text with n parts, each with its number instead of %d.
func number(begin, part, end string) generator {
	return func(n int) []byte {
		var text bytes.Buffer
		text.WriteString(begin)
		for i := range n {
			fmt.Fprintf(&text, part, i)
		}
		text.WriteString(end)
		return text.Bytes()
	}
}

// linear checks that a decoder is linear for each of its hostile inputs.
func linear(t *testing.T, inputs map[string]generator, run func(t *testing.T, input []byte)) {
	for what, generate := range inputs {
		t.Run(what, func(t *testing.T) {
			testkit.Linear(t, generate, func(input []byte) { run(t, input) })
		})
	}
}

// readSheet reads a file up to its end, or to its first error.
func readSheet(t *testing.T, file []byte) {
	reader, err := sheet.NewReader(t.Context(), bytes.NewReader(file), t.TempDir(), sheet.Choice{Known: known})
	if err != nil {
		return
	}
	defer reader.Close()
	if _, err := reader.Sample(); err != nil {
		return
	}
	for err == nil {
		_, err = reader.Read()
	}
}

func known(heading string) bool { return heading == "name" || heading == "email" }

// Reading an address book is linear.
func TestHostileCards(t *testing.T) {
	const begin, end = "BEGIN:VCARD\n", "END:VCARD\n"
	const quoted = "ENCODING=QUOTED-PRINTABLE"
	large := strings.Repeat("x", 64<<10)
	linear(t, map[string]generator{
		"continued lines":                repeat(begin+"FN:a", "\n b", "\n"+end),
		"continued lines with tabs":      repeat(begin+"FN:a", "\r\n\tb", "\n"+end),
		"continued lines without value":  repeat(begin+"FN", "\n ;", "\n"+end),
		"continued empty lines":          repeat(begin+"FN:a", "\n ", "\n"+end),
		"continued behind the maximum":   repeat(begin+"FN:"+large, "\n b", "\n"+end),
		"soft breaks":                    repeat(begin+"FN;"+quoted+":a", "=\nb", "\n"+end),
		"soft breaks before the value":   repeat(begin+"FN;"+quoted, "=\n;", ":\n"+end),
		"soft breaks of equal signs":     repeat(begin+"FN;"+quoted+":a", "==\n", "\n"+end),
		"soft breaks behind the maximum": repeat(begin+"FN;"+quoted+":"+large, "=\nb", "\n"+end),
		"ends with equal signs":          repeat(begin+"FN", ";a=\n ", ":\n"+end),
		"carriage returns":               repeat(begin+"FN:", "\r", "\n"+end),
		"carriage returns in lines":      repeat(begin+"FN:", "\r\r\r\n ", "\n"+end),
		"a long line":                    repeat(begin+"NOTE:", "x", "\n"+end),
		"a long name of a property":      repeat(begin, "x", "\n"+end),
		"short lines":                    repeat(begin, "a\n", end),
		"blank lines":                    repeat(begin, "\n", end),
		"properties of one kind":         repeat(begin, "TEL:1\n", end),
		"cards":                          repeat("", begin+"FN:a\n"+end, ""),
		"cards without an end":           repeat("", begin, ""),
		"ends":                           repeat(begin, end, ""),
		"large cards":                    repeat("", begin+strings.Repeat("EMAIL;WORK;CELL:1\n", 3000)+end, ""),
		"cards of numbers":               repeat("", begin+strings.Repeat("TEL;PREF=9;WORK;FAX;VOICE:1\n", 2000)+end, ""),
		"cards of types":                 repeat("", begin+"TEL"+strings.Repeat(";a", 30_000)+":1\n"+end, ""),
		"cards of quotation marks":       repeat("", begin+"TEL;"+strings.Repeat(`a="b;:",`, 7_000)+":1\n"+end, ""),
		"cards of open quotation marks":  repeat("", begin+"TEL;"+strings.Repeat(`"`, 60_001)+":1\n"+end, ""),
		"cards of components":            repeat("", begin+"N:"+strings.Repeat(`\;;`, 20_000)+"\n"+end, ""),
		"cards of character sets": repeat("", begin+strings.Repeat("FN;CHARSET=koi8-r;"+quoted+":=80\n", 1000)+
			end, ""),
		"labelled lines":            repeat("", begin+"FN;CHARSET=koi8-r:\x80\n"+end, ""),
		"a continued labelled line": repeat(begin+"FN;CHARSET=koi8-r:\x80", "\n b", "\n"+end),
		"continued labelled lines":  repeat("", begin+"FN;CHARSET=koi8-r:\x80"+strings.Repeat("\n b", 20_000)+"\n"+end, ""),
		"a long labelled line":      repeat(begin+"FN;CHARSET=koi8-r:", "\x80", "\n"+end),
		"labels":                    repeat(begin+"FN", ";CHARSET=koi8-r", ":\x80\n"+end),
		"cards of labels":           repeat("", begin+"FN"+strings.Repeat(";CHARSET=koi8-r", 4_000)+":\x80\n"+end, ""),
		"cards of quoted texts":     repeat("", begin+"FN;"+quoted+":"+strings.Repeat("=80", 1300)+"\n"+end, ""),
		"cards of spaces":           repeat("", begin+"FN;"+quoted+":"+strings.Repeat(" =\n", 20_000)+"\n"+end, ""),
		"groups":                    repeat("", begin+"KIND:group\n"+strings.Repeat("a.b.EMAIL: \n", 5000)+end, ""),
		"carets":                    repeat("", begin+`TEL;A="`+strings.Repeat("^^^n^'", 10_000)+`":1`+"\n"+end, ""),
	}, readSheet)
}

// Reading CSV is linear.
func TestHostileCSV(t *testing.T) {
	row := strings.Repeat("a,", 999) + "a\n"
	linear(t, map[string]generator{
		"other encodings":             number("name,email\n", "M\xfcller %d,\n", ""),
		"broken lines":                repeat("name,email\n", strings.Repeat("Łukasz,\n", 30)+"M\xfcller\n", ""),
		"a broken line":               repeat("name,email\n"+strings.Repeat("Łukasz,\n", 30), "M\xfcller", ""),
		"bytes of any kind":           repeat("name,email\n", "\x81\xc3\xe9 \xff", ""),
		"no mark":                     repeat("n\x00a\x00m\x00e\x00\n\x00", "a\x00b\x00\n\x00", ""),
		"a long line":                 repeat("name,email\n", "x", "\n"),
		"long lines":                  repeat("name,email\n", strings.Repeat("x", 300<<10)+"\n", ""),
		"short lines":                 repeat("name,email\n", "x\n", ""),
		"blank lines":                 repeat("name,email\n", "\n", "x\n"),
		"lines of spaces":             repeat("name,email\n", " ,\t\n", ""),
		"carriage returns":            repeat("name,email\n", "x\r", ""),
		"separators":                  repeat("name,email\n", ",", "\n"),
		"rows of cells":               repeat("name,email\n", row, ""),
		"rows of too many cells":      repeat("name,email\n", "a,"+row, ""),
		"quotation marks":             repeat("name,email\n", `"`, "\n"),
		"quoted cells":                repeat("name,email\n", `"a""b","c"`+"\n", ""),
		"an open quotation mark":      repeat("name,email\n\"", "x\n", ""),
		"open quotation marks":        repeat("name,email\n", "\"x\n\"\"\n", ""),
		"doubled quotation marks":     repeat("name,email\n\"", `""`, "\n"),
		"text behind quotation marks": repeat("name,email\n", `"a"b"c",`+"\n", ""),
		"quoted line breaks":          repeat("name,email\n", "\"a\r\n\r\n\"\r\n", ""),
		"a heading":                   repeat("", "name", "\nx\n"),
		"equal headings":              repeat("", "name,", "\nx\n"),
		"headings of many separators": repeat("", "a;b|c\td,", "\nx\n"),
		"lines without headings":      repeat("", "xyz\n", ""),
		"a first line with sep=":      repeat("sep=;\nname;email\n", "a;b\n", ""),
		"letters of others":           repeat("name,email\n", "\xe9\xff\n", ""),
		"UTF-16":                      repeat("\xff\xfen\x00a\x00m\x00e\x00\n\x00", "\xe9\x00\n\x00", ""),
		"formulas":                    repeat("name,email\n", "'''=1,\"'=\"\n", ""),
		"marks":                       repeat("name,email\n", "a\u0301\u0301\u0301", "\n"),
	}, readSheet)
}
