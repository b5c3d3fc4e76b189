package custom

import (
	"encoding/json"
	"math"
	"strconv"
	"strings"

	"github.com/pocketbase/pocketbase/tools/types"

	"contactbase/internal/fault"
)

// The column of a JSON field has NUMERIC affinity. So SQLite stores a value that is just a number as a number, not as
// the text that was sent: 1.0 becomes 1, and a number beyond a double becomes an infinity, which JSON cannot express.
// Numbers inside objects and arrays are part of a text and keep their spelling.

var (
	errNumberTooLarge = &fault.Field{
		Code: fault.CodeInvalidType, Message: "must not contain a number outside ±1.7976931348623157e308",
	}
	errNumberInexact = &fault.Field{Code: fault.CodeInvalidType, Message: "must be a number " +
		"that can be stored without rounding, for example one with at most 15 significant digits"}
)

// storedNumber returns the JSON of a number as SQLite stores it: a 64-bit integer or a double. An infinity is the
// string "+Inf" or "-Inf", as PocketBase reads it.
func storedNumber(literal string) string {
	if !strings.ContainsAny(literal, ".eE") {
		if whole, err := strconv.ParseInt(literal, 10, 64); err == nil {
			return strconv.FormatInt(whole, 10)
		}
	}
	double, _ := strconv.ParseFloat(literal, 64) // infinite if it is out of range
	if math.IsInf(double, 0) {
		return strconv.Quote(infinity(double))
	}
	if double == math.Trunc(double) && math.Abs(double) < 1<<63 {
		return strconv.FormatInt(int64(double), 10)
	}
	return spellDouble(double)
}

func infinity(double float64) string { return strconv.FormatFloat(double, 'f', -1, 64) }

// spellDouble returns the JSON of a finite double.
func spellDouble(double float64) string {
	encoded, _ := json.Marshal(double) // fails only for infinities and NaN
	return string(encoded)
}

// exactJSON returns a number for a JSON field as it will be stored, or the errors in it.
func exactJSON(number json.Number) (types.JSONRaw, *fault.Field) {
	if hasInfinite(number) {
		return nil, errNumberTooLarge
	}
	sent := decimalOf(string(number))
	stored, isWhole := sent.whole() // even if it is spelled like 1.0 or 1e2: as a double it could lose digits
	if !isWhole {
		stored = storedNumber(string(number))
	}
	if decimalOf(stored) != sent {
		return nil, errNumberInexact
	}
	return types.JSONRaw(stored), nil
}

// exactDouble returns a number for a number field, or the errors in it.
func exactDouble(number json.Number) (float64, *fault.Field) {
	if hasInfinite(number) {
		return 0, errNumberTooLarge
	}
	double, _ := number.Float64()
	if decimalOf(spellDouble(double)) != decimalOf(string(number)) {
		return 0, errNumberInexact
	}
	return withoutNegativeZero(double), nil
}

// withoutNegativeZero returns 0 for -0, which SQLite stores as 0.
func withoutNegativeZero(double float64) float64 {
	if double == 0 {
		return 0
	}
	return double
}

// hasInfinite reports whether decoded JSON contains a number beyond a double, at any depth.
func hasInfinite(value any) bool {
	switch v := value.(type) {
	case json.Number:
		_, err := v.Float64()
		return err != nil
	case []any:
		for _, item := range v {
			if hasInfinite(item) {
				return true
			}
		}
	case map[string]any:
		for _, item := range v {
			if hasInfinite(item) {
				return true
			}
		}
	}
	return false
}

// decimal is the value of a JSON number: digits × 10^exponent. digits neither begins nor ends with 0, so that equal
// numbers have equal decimals, however they are spelled. Zero is the zero decimal.
type decimal struct {
	negative bool
	digits   string
	exponent int
}

// decimalOf returns the value of a JSON number. It takes time in proportion to the length of the number,
// not to its exponent.
func decimalOf(literal string) decimal {
	unsigned := strings.TrimPrefix(literal, "-")
	mantissa, power, _ := strings.Cut(strings.ToLower(unsigned), "e")
	whole, fraction, _ := strings.Cut(mantissa, ".")
	significant := strings.TrimRight(whole+fraction, "0")
	exponent, _ := strconv.Atoi(power) // "" is 0; one that is out of range is clamped
	d := decimal{
		negative: unsigned != literal,
		digits:   strings.TrimLeft(significant, "0"),
		exponent: exponent + len(whole) - len(significant),
	}
	if d.digits == "" {
		return decimal{}
	}
	return d
}

// whole returns the decimal as a 64-bit integer, and whether it is one.
func (d decimal) whole() (string, bool) {
	const most = 19 // digits of such an integer
	if d.exponent < 0 || d.exponent > most {
		return "", false
	}
	text := d.digits + strings.Repeat("0", d.exponent)
	switch {
	case d.digits == "":
		text = "0"
	case d.negative:
		text = "-" + text
	}
	_, err := strconv.ParseInt(text, 10, 64)
	return text, err == nil
}
