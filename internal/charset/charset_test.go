package charset_test

import (
	"bytes"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"contactbase/internal/charset"
)

// encoded returns a text in the named encoding. ok is false if the encoding lacks a character of it.
func encoded(t *testing.T, name, text string) (raw string, ok bool) {
	t.Helper()
	encoding, _, isKnown := charset.Named(name)
	if !isKnown {
		t.Fatalf("no encoding %q", name)
	}
	raw, err := encoding.NewEncoder().String(text)
	return raw, err == nil
}

// read returns what an import makes of a text without a byte order mark.
func read(t *testing.T, raw, country string) (charset.Result, charset.Survey, string) {
	t.Helper()
	var survey charset.Survey
	if err := survey.Read(strings.NewReader(raw)); err != nil {
		t.Fatal(err)
	}
	found := survey.Result(country, false)
	text, err := io.ReadAll(found.NewReader(strings.NewReader(raw)))
	if err != nil {
		t.Fatal(err)
	}
	return found, survey, string(text)
}

// Forty people show their encoding, with and without their country, in a tenant of another one, and in capitals. A
// few may leave it undecided, but never wrong without the wrong country.
func TestPeople(t *testing.T) {
	t.Parallel()
	byCountry := "Arabic Thai"
	for _, p := range peoples {
		for name := range strings.FieldsSeq(p.encodings) {
			for _, country := range []string{p.country, "", "NL"} {
				for _, number := range []int{1, 3, 10, 40} {
					for _, text := range []string{p.file(number), strings.ToUpper(p.file(number))} {
						raw, ok := encoded(t, name, text)
						if !ok || country != p.country && strings.Contains(byCountry, p.language) {
							continue
						}
						found, _, got := read(t, raw, country)
						switch {
						case got == text && found.Undecided == nil:
						case number == 40:
							t.Errorf("%s of %d in %s, country %q: %s %v", p.language, number, name, country, found.Encoding, found.Undecided)
						case found.Undecided == nil && country == "":
							t.Errorf("%s of %d in %s is read as %s: %q", p.language, number, name, found.Encoding, got)
						}
					}
				}
			}
		}
	}
}

// The name of an encoding is that of the WHATWG.
func TestNames(t *testing.T) {
	t.Parallel()
	for label, want := range map[string]string{
		"windows-1250": "windows-1250", "CP1250": "windows-1250", "latin1": "windows-1252", "Shift_JIS": "shift_jis",
		"macintosh": "macintosh", "ISO_8859-2": "iso-8859-2", "gb2312": "gbk", "UTF8": "utf-8", "": "", "ebcdic": "",
		"replacement": "", "x-user-defined": "", "hz-gb-2312": "",
	} {
		if _, name, ok := charset.Named(label); name != want && ok || ok != (want != "") {
			t.Errorf("%q: got %q, %v, want %q", label, name, ok, want)
		}
	}
}

// A text of which few lines are not UTF-8 is UTF-8. These lines are read by themselves.
func TestBrokenLines(t *testing.T) {
	t.Parallel()
	lines := strings.Repeat("Łukasz,Müller\n", 19)
	for _, c := range []struct {
		text, want string
		broken     int
		encoding   string
	}{
		{lines, lines, 0, "utf-8"},
		{lines + "J\xf6rg,Stra\xdfe", lines + "Jörg,Straße", 1, "utf-8"},
		{lines + "J\xf6rg,Łukasz\r", lines + "Jörg,Łukasz\r", 1, "utf-8"},
		{lines + "Müller Stra\xc3,Ada", lines + "Müller Stra,Ada", 1, "utf-8"}, // cut off within a character
		{lines + "Müller Jos\xe9,Ada", lines + "Müller José,Ada", 1, "utf-8"},
		{strings.Repeat("Ada\n", 18) + "J\xf6rg M\xfcller", strings.Repeat("Ada\n", 18) + "Jörg Müller", 1, "windows-1252"},
	} {
		found, survey, got := read(t, c.text, "DE")
		if got != c.want || survey.Broken != c.broken || found.Encoding != c.encoding {
			t.Errorf("%q: got %q (%s, %d broken)", c.text, got, found.Encoding, survey.Broken)
		}
	}
}

// Undecided encodings have samples that they read differently.
func TestUndecided(t *testing.T) {
	t.Parallel()
	found, _, _ := read(t, "name\nKu\xe8era\nAda\nL\xe8ne\n", "")
	if len(found.Undecided) < 2 || len(found.Undecided) > 3 {
		t.Fatalf("got %v", found)
	}
	seen := map[string]bool{}
	for _, c := range found.Undecided {
		samples := strings.Join(c.Samples, " ")
		if len(c.Samples) != 2 || seen[samples] || c.Encoding == "" {
			t.Errorf("got %v", found.Undecided)
		}
		seen[samples] = true
	}
}

// UTF-16 without a byte order mark is recognized in any script, and other files are not.
func TestUTF16(t *testing.T) {
	t.Parallel()
	for _, p := range peoples {
		for _, name := range []string{charset.UTF16LE, charset.UTF16BE} {
			raw, _ := encoded(t, name, p.file(40))
			if got := charset.UTF16([]byte(raw)); got != name {
				t.Errorf("%s: got %q, want %q", p.language, got, name)
			}
		}
	}
	if got := charset.UTF16([]byte("\x00\x01\x02\x03binary\x00\xff\xfe\xd8\x00\x00\x00\x00")); got != "" {
		t.Errorf("got %q", got)
	}
}

// A text is read the same in parts of any size.
func TestParts(t *testing.T) {
	t.Parallel()
	for _, line := range []string{"J\xf6rg,Łukasz\n", strings.Repeat("Ł", 100_000), "a\xc5", strings.Repeat("x\xf6Ł", 2_000)} {
		text := strings.Repeat("Łukasz;Ż\r", 100) + line
		var whole, parts charset.Survey
		if err := whole.Read(strings.NewReader(text)); err != nil {
			t.Fatal(err)
		}
		if err := parts.Read(iotest.DataErrReader(iotest.HalfReader(strings.NewReader(text)))); err != nil {
			t.Fatal(err)
		}
		if whole.Broken != parts.Broken || whole.Lines != parts.Lines {
			t.Errorf("got %d of %d, and %d of %d", whole.Broken, whole.Lines, parts.Broken, parts.Lines)
		}
		var out [2]bytes.Buffer
		for i, in := range []io.Reader{strings.NewReader(text), iotest.OneByteReader(strings.NewReader(text))} {
			if _, err := io.Copy(&out[i], whole.Result("", true).NewReader(in)); err != nil {
				t.Fatal(err)
			}
		}
		if out[0].String() != out[1].String() {
			t.Errorf("%q is read differently in parts", line[:10])
		}
	}
}
