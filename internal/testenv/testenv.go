// Package testenv determines which tests run. It imports nothing of the program, so that the tests of the
// executable can use it.
package testenv

import (
	"os"
	"testing"
)

// allEnv is the environment variable that makes all tests run in full. Continuous integration sets it.
const allEnv = "CONTACTBASE_TEST_ALL"

// All reports whether all tests run in full.
func All() bool { return os.Getenv(allEnv) == "1" }

// Long skips a long test, unless all tests run. The reason, a constant, says what takes long, and which quick test
// guards the same if its name does not tell. TestLongTests lists the reasons.
func Long(tb testing.TB, reason string) {
	tb.Helper()
	if !All() {
		tb.Skip("a long test, which runs with " + allEnv + "=1: it " + reason)
	}
}

// Count returns the number of repetitions or items in a test: few, or all if all tests run.
func Count(few, all int) int {
	if All() {
		return all
	}
	return few
}
