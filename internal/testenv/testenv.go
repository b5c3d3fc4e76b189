// Package testenv says which tests run. It imports nothing of the program, so that the tests of the executable can use it, too.
package testenv

import (
	"os"
	"testing"
)

// allEnv has all tests run, in full. Continuous integration sets it.
const allEnv = "CONTACTBASE_TEST_ALL"

// All reports whether all tests run, in full.
func All() bool { return os.Getenv(allEnv) == "1" }

// Long skips a test that takes long, unless all tests run.
func Long(tb testing.TB) {
	tb.Helper()
	if !All() {
		tb.Skip("it takes long, and runs with " + allEnv + "=1")
	}
}

// Count returns how often a test repeats what it does, or with how many things: few times, and more often where all tests run.
func Count(few, all int) int {
	if All() {
		return all
	}
	return few
}
