//go:build unix

package measure

import (
	"runtime"
	"runtime/debug"
	"slices"
	"syscall"
	"testing"
	"time"
)

// enough is how many bytes of memory are used while nothing is collected.
const enough = 1 << 30

// Processor returns the processor time that do takes: the median of some runs, an odd number. It is that of the process, so the test must not be
// parallel. The collector does not run below one GiB, because its share varies. Compare the result with that of other work, never with a
// constant, and leave room: a busy machine makes the same work take up to twice as long.
func Processor(tb testing.TB, runs int, do func()) time.Duration {
	tb.Helper()
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(enough))
	took := make([]time.Duration, runs)
	for i := range took {
		runtime.GC()
		before := used(tb)
		do()
		took[i] = used(tb) - before
	}
	slices.Sort(took)
	return took[runs/2]
}

// used returns the processor time that this process has used.
func used(tb testing.TB) time.Duration {
	tb.Helper()
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		tb.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano()) // the system knows the sum precisely, and estimates the parts
}
