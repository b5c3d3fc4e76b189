package testkit

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"testing"

	"contactbase/internal/testenv"
	"contactbase/internal/testkit/measure"
)

const (
	// maxGrowth is how many times the work may at most cost if its input is twice as large. Quadratic work costs four
	// times.
	maxGrowth = 2.5

	// maxMeasured is the size in bytes from which an input is large enough to be measured, however little work it is.
	maxMeasured = 1 << 20

	// freeOfLarge is how many seconds the largest inputs may cost beside their share: quick work on megabytes depends
	// on the caches of the processor and on new pages of memory.
	freeOfLarge = 0.1

	maxRounds = 6

	// maxSizes is how many n have to fail, each twice as large as the one before.
	maxSizes = 3

	// maxHeap is the size in bytes from which the garbage collector runs even while work is measured.
	maxHeap = 1 << 30
)

// work is what something costs: processor time of the process in seconds, allocated bytes, allocations.
type work [3]float64

var (
	kinds = [...]string{"seconds of the processor", "allocated bytes", "allocations"}

	// free is what an input of twice the size may cost beside its share: a table, a buffer, a tick of a clock.
	free = work{0.002, 64 << 10, 500}
)

// Linear fails the test if run is not linear: if, for an input that generate makes of 2n or 4n parts, it takes more
// than 2.5 times the processor time, the allocated bytes or the allocations that it takes for half as many parts. It
// chooses the n for which run takes some milliseconds. generate must make inputs whose sizes, once they are unpacked,
// are proportional to n, and run must be repeatable.
//
// Other processes do not matter: nothing is measured by the clock, and the least of several runs counts. Neither does a
// step, such as a buffer that grows, or inputs that leave a cache of the processor: what grows faster than its input
// does so for larger inputs, too, so that the test only fails if each of some n fails. What this process does beside
// run matters, so the test must not be parallel.
func Linear(t testing.TB, generate func(n int) []byte, run func([]byte)) {
	t.Helper()
	t.Setenv("CONTACTBASE_TEST_LINEAR", "1") // for its panic in a parallel test, or in one that has a parallel parent
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(maxHeap))
	wrong, n := "", enough(generate, run)
	for range maxSizes {
		if wrong = growth(n, generate, run); wrong == "" {
			return
		}
		n *= 2
	}
	t.Errorf("it is not linear: %s", wrong)
}

// growth returns what costs too much at n, 2n or 4n parts, "" for nothing.
func growth(n int, generate func(n int) []byte, run func([]byte)) (wrong string) {
	inputs := [...][]byte{generate(n), generate(2 * n), generate(4 * n)}
	beside := free
	if len(inputs[0]) >= maxMeasured {
		beside[0] = freeOfLarge
	}
	least, minRounds := [len(inputs)]work{}, testenv.Count(2, 3)
	for round := range maxRounds {
		runtime.GC()
		wrong = ""
		for i := 0; i < len(inputs) && wrong == ""; i++ {
			least[i] = least[i].least(workOf(run, inputs[i]))
			if i > 0 {
				wrong = excess(least[i-1], least[i], beside)
			}
		}
		if wrong == "" && round+1 >= minRounds {
			return ""
		}
	}
	return fmt.Sprintf("with %d, %d and %d parts, which are %d, %d and %d bytes, twice as many take %s",
		n, 2*n, 4*n, len(inputs[0]), len(inputs[1]), len(inputs[2]), wrong)
}

// enough returns a number of parts for which run takes some milliseconds.
func enough(generate func(n int) []byte, run func([]byte)) (n int) {
	seconds := float64(testenv.Count(4, 8)) / 1000
	for n = 16; n < maxMeasured; n *= 2 {
		input := generate(n)
		if len(input) >= maxMeasured {
			break
		}
		if first, again := workOf(run, input), workOf(run, input); min(first[0], again[0]) >= seconds {
			break
		}
	}
	return n
}

// workOf returns what run costs.
func workOf(run func([]byte), input []byte) work {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	begin := measure.ProcessorTime()
	run(input)
	used := measure.ProcessorTime() - begin
	runtime.ReadMemStats(&after)
	return work{used.Seconds(), float64(after.TotalAlloc - before.TotalAlloc), float64(after.Mallocs - before.Mallocs)}
}

// least returns the smaller of each cost, without those that are not measured yet. What disturbs a measurement only
// adds to it.
func (w work) least(other work) work {
	if w == (work{}) {
		return other
	}
	for i := range w {
		w[i] = min(w[i], other[i])
	}
	return w
}

// excess returns what costs too much for twice the parts, "" for nothing. beside is what they may cost beside that.
func excess(cost, twice, beside work) string {
	for kind := range kinds {
		if twice[kind] > maxGrowth*cost[kind]+beside[kind] {
			return fmt.Sprintf("%.4g instead of %.4g %s", twice[kind], cost[kind], kinds[kind])
		}
	}
	return ""
}
