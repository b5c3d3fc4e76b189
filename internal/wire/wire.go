// Package wire has what all requests and answers have in common: JSON that leaves as it is, because nobody reads it as HTML,
// and is measured before it is read; and query parameters, of which none is passed over.
package wire

import (
	"bytes"
	"encoding/json"
	"unicode/utf8"
)

// AppendJSON appends the JSON of value to b: that of json.Marshal, but with <, > and & as they are.
func AppendJSON(b []byte, value any) ([]byte, error) {
	out := bytes.NewBuffer(b)
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(out.Bytes(), []byte("\n")), nil // which Encode adds
}

// AppendString appends s as a JSON string to b, as AppendJSON does. Nearly every text needs no escaping and is copied.
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

// Measure returns how many levels deep the objects and arrays of JSON are nested, and about how many values it has, never
// fewer than that. It counts brackets and commas outside of strings and does not judge the JSON otherwise.
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
