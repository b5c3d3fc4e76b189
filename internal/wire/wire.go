// Package wire encodes what leaves the program as JSON: as it is, because nobody reads it as HTML.
package wire

import (
	"bytes"
	"encoding/json"
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
