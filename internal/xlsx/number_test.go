package xlsx

import (
	"math/big"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
)

// rounded returns what exact arithmetic returns.
func TestRounded(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	for range 20_000 {
		digits := strconv.FormatInt(1+random.Int64N(999_999_999_999_999), 10)
		if random.IntN(4) == 0 {
			digits = strings.Repeat("9", 1+random.IntN(15))
		}
		point, decimals := random.IntN(40)-20, random.IntN(maxDecimals+1)
		exact, _ := new(big.Rat).SetString("0." + digits + "e" + strconv.Itoa(point))
		want := exact.FloatString(decimals)
		whole, fraction := rounded(digits, point, decimals)
		got := whole
		if decimals > 0 {
			got += "." + fraction
		}
		if got != want {
			t.Fatalf("0.%se%d with %d decimals is %s, want %s", digits, point, decimals, got, want)
		}
	}
}
