package measure

import (
	"runtime"
	"runtime/debug"
	"slices"
	"time"
)

// maxHeap is the size in bytes from which the collector runs even while processor time is measured.
const maxHeap = 1 << 30

// Processor returns the processor time that do takes: the median of some runs, an odd number. It is that of the
// process, so the test must not be parallel. The collector does not run below one GiB, because its share varies.
// Compare the result with that of other work, never with a constant, and leave room: on a busy machine the same work
// may take twice as long.
func Processor(runs int, do func()) time.Duration {
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(maxHeap))
	took := make([]time.Duration, runs)
	for i := range took {
		runtime.GC()
		before := ProcessorTime()
		do()
		took[i] = ProcessorTime() - before
	}
	slices.Sort(took)
	return took[runs/2]
}
