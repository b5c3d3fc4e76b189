package delivery

import (
	"bytes"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"contactbase/internal/wire"
)

const (
	// maxHeadersKept is the limit of the stored headers of a request or a response, in bytes of JSON.
	maxHeadersKept = 4 << 10

	// maxValueKept is the limit of a stored header value, in bytes, so that one header leaves room for others.
	maxValueKept = 1 << 10

	// cutName is the entry with the number of headers that are not stored. No header can have that name.
	cutName = "…"

	// cutNoteRoom is the space for that entry: no message has a million headers.
	cutNoteRoom = len(`"` + cutName + `":"999999 more, not stored",`)

	redacted = "[redacted]"
)

// headersJSON returns the headers as a JSON object of at most maxHeadersKept bytes, in the order of their names.
// Several values are joined with a comma, secret ones redacted, and long ones cut with an ellipsis. Headers that do
// not fit are counted under cutName.
func headersJSON(header http.Header, secret func(name string) bool) string {
	object := append(make([]byte, 0, maxValueKept), '{')
	room := maxHeadersKept - len("{}") - cutNoteRoom
	left := 0
	for _, name := range slices.Sorted(maps.Keys(header)) {
		value := redacted
		if !secret(name) {
			value = shorten(strings.Join(header[name], ", "))
		}
		longer := appendEntry(object, name, value)
		if len(longer)-len(object) > room {
			left++
			continue
		}
		room -= len(longer) - len(object)
		object = longer
	}
	if left > 0 {
		object = appendEntry(object, cutName, strconv.Itoa(left)+" more, not stored")
	}
	return string(append(bytes.TrimSuffix(object, []byte(",")), '}'))
}

// appendEntry appends an entry of a JSON object, with the comma after it.
func appendEntry(object []byte, name, value string) []byte {
	object = append(wire.AppendString(object, name), ':')
	return append(wire.AppendString(object, value), ',')
}

// shorten makes a value valid UTF-8, and cuts a long one with an ellipsis.
func shorten(value string) string {
	if len(value) <= maxValueKept {
		return strings.ToValidUTF8(value, "\uFFFD")
	}
	return strings.ToValidUTF8(cut(value, maxValueKept-len("…")), "\uFFFD") + "…"
}

// cut returns at most limit bytes from the start of a text, without splitting a character.
func cut(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	for limit > 0 && !utf8.RuneStart(text[limit]) {
		limit--
	}
	return text[:limit]
}
