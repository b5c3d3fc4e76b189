package audit

import (
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/pocketbase/pocketbase/core"
	"github.com/pocketbase/pocketbase/tools/types"

	"contactbase/internal/member"
	"contactbase/internal/stamp"
)

// Change is the old and the new value of a field, nil for none. Values are of JSON.
type Change struct {
	Old any `json:"old"`
	New any `json:"new"`
}

// shownFields are the fields whose values an entry has. They hold neither secrets nor personal data.
var shownFields = []string{
	"name", "events", "filter", "role", "notify", "rateLimit", "maxPerSecond", "country", "apiEnabled", "disabled",
	"permissions", "expires", "access", "url",
}

// maxShown is the maximum length of a value in characters. A longer one is cut, and has an ellipsis at its end.
const maxShown = 200

// Changes returns the old and new values of those of the fields that an entry may show. before is nil for a new
// record.
func Changes(before, after *core.Record, fields []string) map[string]Change {
	isPerson := member.Is(after) || after.IsSuperuser()
	changes := map[string]Change{}
	for _, field := range fields {
		if !slices.Contains(shownFields, field) || field == "name" && isPerson {
			continue
		}
		change := Change{New: shown(field, after.Get(field))}
		if before != nil {
			change.Old = shown(field, before.Get(field))
		}
		changes[field] = change
	}
	return changes
}

// Removed returns the change by which a deleted record loses its name, or a webhook without one its URL.
func Removed(record *core.Record) map[string]Change {
	changes := map[string]Change{}
	if member.Is(record) || record.IsSuperuser() {
		return changes
	}
	for _, field := range []string{"name", "url"} {
		if value := record.GetString(field); value != "" && len(changes) == 0 {
			changes[field] = Change{Old: shown(field, value)}
		}
	}
	return changes
}

// shown returns a value as an entry has it.
func shown(field string, value any) any {
	switch v := value.(type) {
	case types.DateTime:
		if v.IsZero() {
			return nil
		}
		return stamp.Show(v.String())
	case string:
		if field == "url" {
			return ShortURL(v)
		}
		return cut(v)
	case []string:
		return cutList(v)
	}
	encoded, err := json.Marshal(value)
	if err != nil || utf8.RuneCount(encoded) > maxShown {
		return cut(fmt.Sprint(value))
	}
	return json.RawMessage(encoded)
}

// cutList returns a list, or as much of it as fits into a text.
func cutList(list []string) any {
	if text := strings.Join(list, ", "); utf8.RuneCountInString(text)+2*len(list) > maxShown {
		return cut(text)
	}
	return append([]string{}, list...)
}

func cut(text string) string {
	if utf8.RuneCountInString(text) <= maxShown {
		return text
	}
	return string([]rune(text)[:maxShown-1]) + "…"
}

// shownPath is how much of the path of a URL is shown, in characters with the slash: the rest may be a secret.
const shownPath = 4

// ShortURL returns the scheme and host of a URL with the beginning of its path, and an ellipsis for what is left out.
func ShortURL(text string) string {
	if text == "" {
		return ""
	}
	parsed, err := url.Parse(text)
	if err != nil {
		return "…"
	}
	begin, path := parsed.Scheme+"://"+parsed.Host, parsed.EscapedPath()
	if parsed.Opaque != "" {
		begin, path = parsed.Scheme+":", parsed.Opaque
	}
	rest := parsed.RawQuery != "" || parsed.ForceQuery || parsed.Fragment != "" || parsed.User != nil
	if runes := []rune(path); len(runes) > shownPath {
		path, rest = string(runes[:shownPath]), true
	}
	if rest {
		path += "…"
	}
	return cut(begin + path)
}
