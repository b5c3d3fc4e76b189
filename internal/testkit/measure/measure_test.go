package measure_test

import (
	"crypto/sha256"
	"runtime/debug"
	"testing"

	"contactbase/internal/testkit/measure"
)

// sink keeps what is allocated on the heap.
var sink []byte

// garbage allocates a number of MiB, of which one KiB is live at a time.
func garbage(mib int) {
	for range mib << 10 {
		sink = make([]byte, 1<<10)
	}
}

// The peak is what is live, beyond what was before, however much else is allocated.
func TestPeak(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ before, held, garbage int }{
		"only garbage":    {0, 0, 512},
		"little":          {0, 4, 100},
		"much":            {0, 64, 256},
		"beside others":   {32, 16, 64},
		"without garbage": {0, 32, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			others := make([]byte, 1<<10+c.before<<20)
			got := measure.Peak(t, func() {
				var held [][]byte
				for range c.held {
					held = append(held, make([]byte, 1<<20))
					garbage(c.garbage / c.held)
				}
				if c.held == 0 {
					garbage(c.garbage)
				}
				for i := range held {
					held[i][0]++
				}
				others[0]++
			})
			if off := 3 + (c.held+c.before)/5; got < c.held-off || got > c.held+1 {
				t.Errorf("%d MiB take %d MiB", c.held, got)
			}
		})
	}
}

// All that is allocated counts, live or not.
func TestAllocated(t *testing.T) {
	if got := measure.Allocated(func() { garbage(64) }); got < 64<<20 || got > 65<<20 {
		t.Errorf("64 MiB are %d KiB", got>>10)
	}
}

// Ten times the work takes several times the processor, and the collector is set as before afterwards.
func TestProcessor(t *testing.T) {
	sum := func(mib int) func() {
		return func() {
			hash := sha256.New()
			for range mib {
				_, _ = hash.Write(make([]byte, 1<<20))
			}
		}
	}
	for _, percent := range []int{-1, 20, 400} {
		before := debug.SetGCPercent(percent)
		once, tenfold := measure.Processor(3, sum(8)), measure.Processor(3, sum(80))
		if tenfold < 2*once {
			t.Errorf("at %d %% once takes %s, and ten times %s", percent, once, tenfold)
		}
		if now := debug.SetGCPercent(before); now != percent {
			t.Errorf("it is %d %% afterwards, not %d %%", now, percent)
		}
	}
}
