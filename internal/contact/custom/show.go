package custom

import (
	"math"
	"reflect"
	"strings"

	"github.com/pocketbase/pocketbase/tools/types"

	"contactbase/internal/stamp"
)

// Readable returns a stored value as PocketBase reads it. PocketBase reads an infinity as a text,
// because JSON has none.
func Readable(stored any) any {
	if double, ok := stored.(float64); ok && math.IsInf(double, 0) {
		return infinity(double)
	}
	return stored
}

// Shown returns the value of an admin's field, stored or about to be stored, as the API shows it: "no value" as nil,
// a date in RFC 3339, and a number as it is stored.
func Shown(value any) any {
	switch v := value.(type) {
	case string:
		if v == "" {
			return nil
		}
		return v
	case float64:
		if math.IsInf(v, 0) { // only SQL can write it
			return nil
		}
		return withoutNegativeZero(v)
	case types.DateTime:
		if v.IsZero() {
			return nil
		}
		return stamp.Show(v.String())
	case types.JSONRaw:
		switch {
		case len(v) == 0 || string(v) == "null" || string(v) == `""`:
			return nil
		case v[0] == '-' || '0' <= v[0] && v[0] <= '9':
			return types.JSONRaw(storedNumber(strings.TrimSpace(string(v))))
		}
		return v
	default:
		// a list of choices, relations or files has one of several types
		if list := reflect.ValueOf(value); list.Kind() == reflect.Slice && list.Len() == 0 {
			return nil
		}
		return v
	}
}
