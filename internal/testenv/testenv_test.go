package testenv_test

import (
	"testing"

	"contactbase/internal/testenv"
)

// Long tests run, and counts have their larger value, only if all tests run.
func TestSwitch(t *testing.T) {
	for value, all := range map[string]bool{"": false, "0": false, "1": true} {
		t.Setenv("CONTACTBASE_TEST_ALL", value)
		count := map[bool]int{false: 2, true: 9}[all]
		if testenv.All() != all || testenv.Count(2, 9) != count {
			t.Errorf("with %q all tests run: %v; something is repeated %d times", value, testenv.All(), testenv.Count(2, 9))
		}
		skipped := true
		t.Run("long", func(t *testing.T) {
			defer func() { skipped = t.Skipped() }()
			testenv.Long(t, "is one")
		})
		if skipped == all {
			t.Errorf("with %q a test that takes long is skipped: %v", value, skipped)
		}
	}
}
