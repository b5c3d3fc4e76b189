package written_test

import (
	"testing"

	"contactbase/internal/contact/written"
)

func TestNoValue(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"NULL", "null", `\N`, "N/A", "n/a", "#N/A", "nan", "NaN", "None", "none", "undefined", "(null)", "[object Object]",
		"-", "--", " NULL ", "{{anything at all}}", "{{first_name}} {{last_name}}", "{{{name}}}", "{name}", "{{ }}",
		"[your-name]", "%EMAIL%", "‹Company›", "{!Contact.FirstName}", "[Your Email]", "%FNAME% %LNAME%", "{record id}",
	} {
		if !written.IsNoValue(text) {
			t.Errorf("%q is a value", text)
		}
	}
	for _, text := range []string{
		"", "Null", "Nan", "NONE", "Undefined", "{N}CODE", "[solidcore]", "3M", "7-Eleven", "%", "100%", "---", "_", "na", "Na",
		"{}", "[]", "%%", "Dear {{name}}", "{{name}} Ltd", "{name} {N}", "{unknown}", "N / A", "\\n", "‹›", "{name",
	} {
		if written.IsNoValue(text) {
			t.Errorf("%q is no value", text)
		}
	}
}

func TestOrder(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"#1001": true, "# 1001": true, "#SO-1001": true, "#D12": true, "#1001-F1": true, " #9 ": true, "#INV/2026/12": true,
		"": false, "#": false, "1001": false, "SO-1001": false, "#1 Dad": false, "#ada": false, "Ada #1": false, "3M": false,
	} {
		if got := written.IsOrder(text); got != want {
			t.Errorf("%q is the number of an order: %v", text, got)
		}
	}
}

func TestUnescape(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"O&#039;Neil &amp; Söhne": "O'Neil & Söhne", "A &amp;amp; B": "A &amp; B", "&quot;X&quot;": `"X"`, "M&uuml;ller": "Müller",
		"&#x27;s": "'s", "A & B": "A & B", "AT&T": "AT&T", "R&D; Labs": "R&D; Labs", "A&parts": "A&parts", "A&notes; B": "A&notes; B",
		"a&semi;b": "a;b", "Caf&eacute": "Caf&eacute", "&lt;b&gt;": "<b>", "&amp": "&amp", "&;": "&;", "&nbsp;x": "\u00a0x",
	} {
		if got := written.Unescape(text); got != want {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
	}
}
