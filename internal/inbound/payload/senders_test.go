package payload

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"contactbase/internal/contact"
	"contactbase/internal/fault"
)

var update = flag.Bool("update", false, "write what Decode gives into testdata/*/*.golden")

// view is a payload as the golden files show it.
type view struct {
	Ping  bool       `json:"ping,omitempty"`
	Batch bool       `json:"batch"`
	Items []viewItem `json:"items"`
}

type viewItem struct {
	Action   contact.Action `json:"action"`
	Match    []string       `json:"match,omitempty"`
	Fields   map[string]any `json:"fields,omitempty"`
	Extra    map[string]any `json:"extra,omitempty"`
	Changed  []string       `json:"changed,omitempty"`
	Ignored  bool           `json:"ignored,omitempty"`
	Warnings []string       `json:"warnings,omitempty"`
	Err      *fault.Error   `json:"error,omitempty"`
}

func render(t *testing.T, p Payload) []byte {
	t.Helper()
	v := view{Ping: len(p.Items) == 0 && !p.Batch, Batch: p.Batch, Items: []viewItem{}}
	for _, it := range p.Items {
		var match []string
		for _, key := range it.Match {
			match = append(match, key.Field+"="+key.Value)
		}
		v.Items = append(v.Items, viewItem{it.Action, match, it.Fields, it.Extra, it.Changed, it.Ignored, it.Warnings, it.Err})
	}
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(v); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

// contentTypeOf derives a recorded payload's Content-Type from its file name; a multipart body begins
// with its boundary.
func contentTypeOf(t *testing.T, file string, body []byte) string {
	t.Helper()
	switch filepath.Ext(file) {
	case ".json":
		return "application/json; charset=utf-8"
	case ".form":
		return "application/x-www-form-urlencoded"
	case ".multipart":
		line, _, _ := strings.Cut(string(body), "\r\n")
		return "multipart/form-data; boundary=" + strings.TrimPrefix(line, "--")
	}
	t.Fatalf("%s: unknown extension", file)
	return ""
}

// recordedPayloads returns the recorded payloads: the samples of presets, and others. Only the samples are part of the
// program.
func recordedPayloads(tb testing.TB) []string {
	tb.Helper()
	files, err := filepath.Glob("*/*/*.*")
	if err != nil {
		tb.Fatal(err)
	}
	return slices.DeleteFunc(files, func(file string) bool { return strings.HasSuffix(file, ".golden") })
}

// The program has the presets and a sample of each, and nothing that only tests read.
func TestEmbeddedPayloads(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("presets/*/*")
	if err != nil || len(files) != len(Presets()) {
		t.Errorf("%d presets have the samples %q (%v)", len(Presets()), files, err)
	}
	sources, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, source := range sources {
		if text, err := os.ReadFile(source); err != nil || bytes.Contains(text, []byte("//go:embed "+"testdata")) {
			t.Errorf("%s embeds testdata (%v)", source, err)
		}
	}
}

// TestSenders compares the recorded payloads (see testdata/README.md) with their expected items. The directory's name
// is the preset's; one without a preset is read by common names.
func TestSenders(t *testing.T) {
	t.Parallel()
	covered := map[string]bool{}
	for _, file := range recordedPayloads(t) {
		sender := filepath.Base(filepath.Dir(file))
		if sender == "fuzz" {
			continue
		}
		covered[sender] = true
		t.Run(sender+"/"+filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			body, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var m *Mapping
			if _, ok := presets()[sender]; ok {
				m = mustMapping(t, fmt.Sprintf(`{"preset": %q}`, sender))
			}
			p, err := Decode(contentTypeOf(t, file, body), body, m)
			if err != nil {
				t.Fatal(err)
			}
			golden, got := filepath.Join("testdata", sender, filepath.Base(file)+".golden"), render(t, p)
			if *update {
				if err := os.WriteFile(golden, got, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(got, want) {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
		})
	}
	for _, name := range presetNames() {
		if !covered[name] {
			t.Errorf("preset %s has no recorded payload", name)
		}
	}
}

func mustMapping(t testing.TB, raw string) *Mapping {
	t.Helper()
	m, err := ParseMapping([]byte(raw))
	if err != nil {
		t.Fatalf("%s: %v", raw, err)
	}
	return m
}
