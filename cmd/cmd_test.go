package cmd

import (
	"bytes"
	"testing"
)

func TestJSONKeepsAddresses(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	if err := printJSON(&out, row{{"url", "https://example.com/?a=1&b=<2>"}, {"none", nil}}); err != nil {
		t.Fatal(err)
	}
	if want := "{\n  \"url\": \"https://example.com/?a=1&b=<2>\",\n  \"none\": null\n}\n"; out.String() != want {
		t.Errorf("%s, not %s", out.String(), want)
	}
}

func TestTextOfCounts(t *testing.T) {
	t.Parallel()
	for want, counts := range map[string]map[string]int{"-": {}, "contact.created=3,contact.updated=1": {"contact.updated": 1, "contact.created": 3}} {
		if got := text(counts); got != want {
			t.Errorf("%v is shown as %q, not %q", counts, got, want)
		}
	}
}
