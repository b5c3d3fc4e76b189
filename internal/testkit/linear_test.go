package testkit

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"testing"

	"contactbase/internal/testenv"
)

// Linear lets linear work and sorting pass, and finds quadratic work. If all tests run, other processes keep all
// processors busy meanwhile.
func TestLinear(t *testing.T) { // not beside other tests, because it measures the process
	if os.Getenv("CONTACTBASE_TEST_BUSY") != "" {
		for {
			runtime.Gosched()
		}
	}
	for range testenv.Count(0, 4) {
		busy := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestLinear$", "-test.timeout=1m")
		busy.Env = append(os.Environ(), "CONTACTBASE_TEST_BUSY=1", "GOMAXPROCS=1")
		if err := busy.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = busy.Wait() }) // the context has ended
	}
	shuffled := func(n int) []byte {
		text := make([]byte, n)
		for i := range text {
			text[i] = byte(i * i >> 3)
		}
		return text
	}
	for what, c := range map[string]struct {
		run  func([]byte)
		want string
	}{
		"linear":      {func(text []byte) { _ = bytes.ToUpper(text) }, ""},
		"many parts":  {func(text []byte) { _ = bytes.Split(text, nil) }, ""},
		"buffer":      {func(text []byte) { _, _ = bytes.NewReader(text).WriteTo(new(bytes.Buffer)) }, ""},
		"sorting":     {func(text []byte) { slices.Sort(wide(text)) }, ""},
		"comparisons": {pairs, "it is not linear"},
		"copies": {func(text []byte) {
			whole := ""
			for _, c := range text {
				whole += string(rune(c))
			}
		}, "it is not linear"}, // which the processor shows, or the bytes
	} {
		t.Run(what, func(t *testing.T) {
			r := &recorder{TB: t}
			Linear(r, shuffled, c.run)
			if failed := r.failure; (failed != "") != (c.want != "") || !strings.Contains(failed, c.want) {
				t.Errorf("got %q, want %q", failed, c.want)
			}
		})
	}
}

// recorder is a testing.TB that records a failure.
type recorder struct {
	testing.TB
	failure string
}

func (r *recorder) Errorf(format string, args ...any) { r.failure = fmt.Sprintf(format, args...) }

// wide returns numbers that are in no order.
func wide(text []byte) []uint32 {
	numbers, seed := make([]uint32, len(text)), uint32(1)
	for i, c := range text {
		seed = seed*1664525 + 1013904223 + uint32(c)
		numbers[i] = seed
	}
	return numbers
}

// pairs compares each byte with each other one.
func pairs(text []byte) {
	same := 0
	for _, a := range text {
		for _, b := range text {
			if a == b {
				same++
			}
		}
	}
	runtime.KeepAlive(same)
}
