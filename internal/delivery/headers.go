package delivery

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"
)

const (
	// maxHeadersKept is how much is stored of the headers of a request or an answer, in bytes of JSON.
	maxHeadersKept = 4 << 10

	// maxValueKept is how much is stored of a header's value, in bytes: a single one leaves room for others.
	maxValueKept = 1 << 10

	// cutName is the entry that tells how many headers are not stored. No header can have that name.
	cutName = "…"

	redacted = "[redacted]"
)

// headersJSON returns the headers as a JSON object of at most maxHeadersKept bytes, several values of one joined with a
// comma, those that are secret redacted. A long value ends in an ellipsis where it was cut. In the order of their names,
// headers that no longer fit are left out, and counted under cutName.
func headersJSON(header http.Header, secret func(name string) bool) string {
	room := maxHeadersKept - len("{}") - entrySize(cutName, cutNote(len(header)))
	kept := make(map[string]string, len(header))
	left := 0
	for _, name := range slices.Sorted(maps.Keys(header)) {
		value := redacted
		if !secret(name) {
			value = shorten(strings.Join(header[name], ", "))
		}
		size := entrySize(name, value)
		if size > room {
			left++
			continue
		}
		room -= size
		kept[name] = value
	}
	if left > 0 {
		kept[cutName] = cutNote(left)
	}
	encoded, err := json.Marshal(kept)
	if err != nil {
		return "{}" // strings always encode
	}
	return string(encoded)
}

func cutNote(headers int) string { return fmt.Sprintf("%d more, not stored", headers) }

// entrySize returns how many bytes an entry of a JSON object takes, with its comma.
func entrySize(name, value string) int {
	encoded, _ := json.Marshal([]string{name, value}) // strings always encode
	return len(encoded) - len("[]") + len(",")
}

// shorten makes a value valid UTF-8, and a long one end in an ellipsis.
func shorten(value string) string {
	if len(value) <= maxValueKept {
		return strings.ToValidUTF8(value, "\uFFFD")
	}
	return strings.ToValidUTF8(cut(value, maxValueKept-len("…")), "\uFFFD") + "…"
}

// cut returns the start of a text, at most limit bytes, up to the end of a character.
func cut(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	for limit > 0 && !utf8.RuneStart(text[limit]) {
		limit--
	}
	return text[:limit]
}
