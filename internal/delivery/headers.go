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
	// maxHeadersKept is how much is stored of the headers of a request or an answer, in bytes of JSON.
	maxHeadersKept = 4 << 10

	// maxValueKept is how much is stored of a header's value, in bytes: a single one leaves room for others.
	maxValueKept = 1 << 10

	// cutName is the entry that tells how many headers are not stored. No header can have that name.
	cutName = "…"

	// cutNoteRoom is for that entry, as no request and no answer has a million headers.
	cutNoteRoom = len(`"` + cutName + `":"999999 more, not stored",`)

	redacted = "[redacted]"
)

// headersJSON returns the headers as a JSON object of at most maxHeadersKept bytes, several values of one joined with a
// comma, those that are secret redacted. A long value ends in an ellipsis where it was cut. In the order of their names,
// headers that no longer fit are left out, and counted under cutName.
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
