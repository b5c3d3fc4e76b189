package delivery

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestStoredHeadersAreBounded(t *testing.T) {
	t.Parallel()
	many := http.Header{}
	for i := range 1000 {
		many.Set(fmt.Sprintf("X-%03d", i), "value")
	}
	longName := "X-" + strings.Repeat("a", 30<<10)
	for _, c := range []struct {
		what   string
		header http.Header
		want   map[string]string // what has to be among them
	}{
		{"none", http.Header{}, nil},
		{"a few", http.Header{"A": {"1", "2"}, "B": {"3"}}, map[string]string{"A": "1, 2", "B": "3"}},
		{"a secret", http.Header{"Secret": {strings.Repeat("s", 30<<10)}}, map[string]string{"Secret": "[redacted]"}},
		{"a value as long as is kept", http.Header{"A": {strings.Repeat("é", 512)}}, map[string]string{"A": strings.Repeat("é", 512)}},
		{"a long value", http.Header{"A": {strings.Repeat("é", 15<<10)}, "B": {"3"}},
			map[string]string{"A": strings.Repeat("é", 510) + "…", "B": "3"}},
		{"no text", http.Header{"A": {strings.Repeat("\xff", 30<<10)}}, map[string]string{"A": "\uFFFD…"}},
		{"many", many, map[string]string{"X-000": "value", "X-001": "value", "…": "747 more, not stored"}},
		{"a long name", http.Header{longName: {"1"}, "Y": {"2"}}, map[string]string{"Y": "2", "…": "1 more, not stored"}},
		{"what grows when it is encoded", http.Header{"A": {strings.Repeat("\x01", 30<<10)}, "B": {"3"}},
			map[string]string{"B": "3", "…": "1 more, not stored"}},
	} {
		t.Run(c.what, func(t *testing.T) {
			t.Parallel()
			encoded := headersJSON(c.header, func(name string) bool { return name == "Secret" })
			if len(encoded) > 4<<10 || !utf8.ValidString(encoded) {
				t.Errorf("%d bytes are stored", len(encoded))
			}
			stored := map[string]string{}
			if err := json.Unmarshal([]byte(encoded), &stored); err != nil {
				t.Fatal(err)
			}
			for name, value := range c.want {
				if stored[name] != value {
					t.Errorf("%s is %q, want %q", name, stored[name], value)
				}
			}
			if again := headersJSON(c.header, func(name string) bool { return name == "Secret" }); again != encoded {
				t.Errorf("another time it is %s", again)
			}
		})
	}
}
