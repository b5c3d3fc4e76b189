package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// The report lists exactly the changes that the tests leave unnoticed, and an earlier report can be tried again.
func TestRun(t *testing.T) {
	t.Parallel()
	shop, err := filepath.Abs("testdata/shop")
	if err != nil {
		t.Fatal(err)
	}
	o := options{more: "./counter", run: "Change", timeout: time.Minute, workers: 2}
	survivors, summary, err := run(t.Context(), shop, "./till", o)
	want := []string{
		"till.go:19:5: len(prices) >= most [survived]",
		"till.go:19:39: 9 + 1 [survived]",
		"till.go:25:2: (removed) t.Receipts++ [survived]",
		"till.go:33:34: price * 10 * 100 [reached by no test]",
		"till.go:33:34: price / 10 [reached by no test]",
		"till.go:33:42: 10 + 1 [reached by no test]",
		"till.go:33:47: 100 + 1 [reached by no test]",
	}
	if err != nil || !slices.Equal(survivors, want) || !strings.HasPrefix(summary, "./till: 15 mutants, 8 killed (0 by timeout), 3 survived, 4 reached by no test: 53% in ") {
		t.Errorf("%v\n%s\n%s", err, strings.Join(survivors, "\n"), summary)
	}
	o.only = filepath.Join(t.TempDir(), "report")
	if err := os.WriteFile(o.only, []byte(strings.Join(survivors, "\n")), 0o600); err != nil {
		t.Fatal(err)
	}
	again, summary, err := run(t.Context(), shop, "./till", o)
	if err != nil || !slices.Equal(again, want) || !strings.HasPrefix(summary, "./till: 7 mutants, 0 killed") {
		t.Errorf("%v\n%s\n%s", err, strings.Join(again, "\n"), summary)
	}
}
