package sqlite

import (
	"encoding/json"

	"github.com/pocketbase/pocketbase/core"
)

// List encodes values for json_each, so that one statement takes any number of them: strings, numbers, or lists of these.
func List[T any](values []T) string {
	if len(values) == 0 {
		return "[]" // json_each reads null as one value
	}
	encoded, err := json.Marshal(values)
	if err != nil {
		panic("sqlite: " + err.Error()) // unreachable with such values
	}
	return string(encoded)
}

// Execute runs statements as one transaction, and returns how many rows each of them changed.
func Execute(app core.App, statements ...Statement) ([]int64, error) {
	return Write(app, func(Reader) ([]Statement, error) { return statements, nil })
}
