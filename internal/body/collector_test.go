package body

import (
	"runtime/debug"
	"strings"
	"testing"
)

// While large bodies are in memory, the memory limit of the process is lower. It has its usual value again afterwards.
func TestCollectorHurries(t *testing.T) {
	usual := debug.SetMemoryLimit(-1)
	ledger := NewLedger(DefaultLimits)
	first, second := newBody(ledger, Tenant("a"), strings.NewReader(strings.Repeat("a", 10<<20)), -1),
		newBody(ledger, Tenant("b"), strings.NewReader("a"), -1)
	for _, b := range []*Body{first, second} {
		if err := receive(b, 1); err != nil {
			t.Fatal(err)
		}
	}
	if now := debug.SetMemoryLimit(-1); now != usual {
		t.Errorf("with small bodies the limit is %d, it was %d", now, usual)
	}
	if err := receive(first, 9<<20); err != nil {
		t.Fatal(err)
	}
	if now := debug.SetMemoryLimit(-1); now >= usual {
		t.Errorf("with a large body the limit is %d, it was %d", now, usual)
	}
	first.end()
	if now := debug.SetMemoryLimit(-1); now != usual {
		t.Errorf("in the end the limit is %d, it was %d", now, usual)
	}
	second.end()
}
