package delivery

import (
	"bytes"
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strconv"
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
	room := maxHeadersKept - len("{}") - len(entry(cutName, cutNote(len(header))))
	object := append(make([]byte, 0, maxValueKept), '{')
	left := 0
	for _, name := range slices.Sorted(maps.Keys(header)) {
		value := redacted
		if !secret(name) {
			value = shorten(strings.Join(header[name], ", "))
		}
		e := entry(name, value)
		if len(e) > room {
			left++
			continue
		}
		room -= len(e)
		object = append(object, e...)
	}
	if left > 0 {
		object = append(object, entry(cutName, cutNote(left))...)
	}
	return string(bytes.TrimSuffix(object, []byte(","))) + "}"
}

func cutNote(headers int) string { return strconv.Itoa(headers) + " more, not stored" }

// entry returns an entry of a JSON object, with the comma after it.
func entry(name, value string) []byte {
	encodedName, _ := json.Marshal(name) // strings always encode
	encodedValue, _ := json.Marshal(value)
	return slices.Concat(encodedName, []byte(":"), encodedValue, []byte(","))
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
