package custom

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"strconv"
	"testing"

	"contactbase/internal/fault"
)

// Every double and every 64-bit integer can be kept in a JSON field, however it is spelled, and every double
// in a number field.
func TestExactNumbers(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	for range 50_000 {
		double := math.Float64frombits(random.Uint64())
		if math.IsNaN(double) || math.IsInf(double, 0) {
			continue
		}
		whole := random.Int64() >> random.IntN(63)
		for _, literal := range []string{
			spellDouble(double), strconv.FormatFloat(double, 'e', -1, 64), strconv.FormatFloat(double, 'f', -1, 64),
			strconv.FormatInt(whole, 10), strconv.FormatInt(whole, 10) + ".00", strconv.FormatInt(whole, 10) + "0e-1",
		} {
			stored, wrong := exactJSON(json.Number(literal))
			if wrong != nil || decimalOf(string(stored)) != decimalOf(literal) {
				t.Fatalf("%s is stored as %s (%v)", literal, stored, wrong)
			}
			if again := storedNumber(string(stored)); again != string(stored) {
				t.Fatalf("%s is stored as %s, and that as %s", literal, stored, again)
			}
		}
		if kept, wrong := exactDouble(json.Number(strconv.FormatFloat(double, 'g', -1, 64))); wrong != nil || kept != double {
			t.Fatalf("%g is kept as %g (%v)", double, kept, wrong)
		}
	}
}

func TestInexactNumbers(t *testing.T) {
	t.Parallel()
	for literal, want := range map[string]*fault.Field{
		"1e309": errNumberTooLarge, "-1e99999999999999999999": errNumberTooLarge,
		"1e-400": errNumberInexact, "-1e-99999999999999999999": errNumberInexact,
		"12345678901234567890": errNumberInexact, "0.1000000000000000055511151231257827": errNumberInexact,
		"0e99999999999999999999": nil, "-0.000": nil, "1e308": nil, "5e-324": nil,
	} {
		if _, wrong := exactJSON(json.Number(literal)); wrong != want {
			t.Errorf("%s in a JSON field gives %v", literal, wrong)
		}
		if _, wrong := exactDouble(json.Number(literal)); wrong != want {
			t.Errorf("%s in a number field gives %v", literal, wrong)
		}
	}
}
