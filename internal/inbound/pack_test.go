package inbound_test

import (
	"bytes"
	"compress/gzip"
	"strings"
	"testing"

	"contactbase/internal/inbound"
	"contactbase/internal/inbound/payload"
)

// Reading a stored body stops at the limit, whatever it becomes, and reads what earlier versions have stored.
func TestBodyText(t *testing.T) {
	t.Parallel()
	var bomb bytes.Buffer
	w := gzip.NewWriter(&bomb)
	for range 64 {
		if _, err := w.Write(bytes.Repeat([]byte("é"), 1<<19)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		stored string
		want   string
		isBody bool
	}{
		"empty":          {"", "", true},
		"plain":          {`{"name":"Ada"}`, `{"name":"Ada"}`, true},
		"a large plain":  {strings.Repeat("é", 1<<19), strings.Repeat("é", 1<<19), true},
		"not kept":       {"\xff{}", "{}", false},
		"a bomb":         {bomb.String(), strings.Repeat("é", 500) + "…", false},
		"a cut bomb":     {bomb.String()[:1000], strings.Repeat("é", 500) + "…", false},
		"no stream":      {"\x1f\x8b", "", false},
		"a broken one":   {bomb.String()[:20] + strings.Repeat("\x00", 100), "", false},
		"another of one": {"\x1f", "\x1f", true},
	} {
		text, isBody := inbound.BodyText(tt.stored, 1001)
		if text != tt.want || isBody != tt.isBody {
			t.Errorf("%s: %d bytes, %t", name, len(text), isBody)
		}
	}
	if text, _ := inbound.BodyText(bomb.String(), payload.MaxBody); len(text) > payload.MaxBody+len("…") {
		t.Errorf("a bomb becomes %d bytes", len(text))
	}
}
