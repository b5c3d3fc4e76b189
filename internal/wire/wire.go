// Package wire encodes and measures JSON, and reads query parameters. It does not escape HTML characters, because no
// response is HTML. It rejects unknown parameters.
package wire

import (
	"bytes"
	"encoding/json"
	"unicode/utf8"
)

// WithoutMark returns a body without the byte order mark with which some programs begin UTF-8.
func WithoutMark(body []byte) []byte { return bytes.TrimPrefix(body, []byte("\xef\xbb\xbf")) }

// AppendJSON appends the JSON of value to b, like json.Marshal but without escaping <, > and &.
func AppendJSON(b []byte, value any) ([]byte, error) {
	out := bytes.NewBuffer(b)
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(out.Bytes(), []byte("\n")), nil // Encode adds it
}

// AppendString appends s to b as a JSON string, like AppendJSON. It only copies the usual text that needs no escaping.
func AppendString(b []byte, s string) []byte {
	for i := range len(s) {
		if s[i] < 0x20 || s[i] == '"' || s[i] == '\\' || s[i] >= utf8.RuneSelf {
			encoded, err := AppendJSON(b, s)
			if err != nil {
				return append(b, `""`...) // unreachable: a string always encodes
			}
			return encoded
		}
	}
	b = append(b, '"')
	b = append(b, s...)
	return append(b, '"')
}

// Measure returns how deeply the objects and arrays of JSON are nested, and an upper bound of the number of its
// values. It counts brackets and commas outside strings, and does not validate the JSON.
func Measure(text []byte) (depth, values int) {
	level, inString := 0, false
	values = 1
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case inString:
			switch c {
			case '\\':
				i++
			case '"':
				inString = false
			}
		case c == '"':
			inString = true
		case c == ',':
			values++
		case c == '[' || c == '{':
			values++
			level++
			depth = max(depth, level)
		case c == ']' || c == '}':
			level--
		}
	}
	return depth, values
}
