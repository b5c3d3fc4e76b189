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
	inputs := map[int][]byte{}
	linear(t, 0, func(n int) (func(), int) {
		if inputs[n] == nil {
			inputs[n] = generate(n)
		}
		return func() { run(inputs[n]) }, len(inputs[n])
	})
}

// LinearJob is Linear for work that uses up its rows, n of them or more. prepare makes the rows, which is not measured,
// and returns the work.
func LinearJob(t testing.TB, n int, prepare func(n int) (run func())) {
	t.Helper()
	linear(t, n, func(n int) (func(), int) { return prepare(n), 0 })
}

// preparation returns work with n parts, and the size of its input in bytes.
type preparation func(n int) (run func(), size int)

// linear is Linear from n parts on, 0 for as many as take some milliseconds.
func linear(t testing.TB, n int, prepare preparation) {
	t.Helper()
	t.Setenv("CONTACTBASE_TEST_LINEAR", "1") // for its panic in a parallel test, or in one that has a parallel parent
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(maxHeap))
	if n == 0 {
		n = enough(prepare)
	}
	wrong := ""
	for range maxSizes {
		if wrong = growth(n, prepare); wrong == "" {
			return
		}
		n *= 2
	}
	t.Errorf("it is not linear: %s", wrong)
}

// growth returns what costs too much at n, 2n or 4n parts, "" for nothing.
func growth(n int, prepare preparation) (wrong string) {
	least, sizes, minRounds := [3]work{}, [3]int{}, testenv.Count(2, 3)
	for round := range maxRounds {
		runtime.GC()
		wrong = ""
		for i := 0; i < len(least) && wrong == ""; i++ {
			run, size := prepare(n << i)
			sizes[i], least[i] = size, least[i].least(workOf(run))
			if i > 0 {
				wrong = excess(least[i-1], least[i], beside(sizes[0]))
			}
		}
		if wrong == "" && round+1 >= minRounds {
			return ""
		}
	}
	return fmt.Sprintf("with %d, %d and %d parts, which are %d, %d and %d bytes, twice as many take %s",
		n, 2*n, 4*n, sizes[0], sizes[1], sizes[2], wrong)
}

// beside returns what an input of twice the size may cost beside its share.
func beside(size int) work {
	free := free
	if size >= maxMeasured {
		free[0] = freeOfLarge
	}
	return free
}

// enough returns a number of parts that take some milliseconds.
func enough(prepare preparation) (n int) {
	seconds := float64(testenv.Count(4, 8)) / 1000
	for n = 16; n < maxMeasured; n *= 2 {
		run, size := prepare(n)
		if size >= maxMeasured {
			break
		}
		if first, again := workOf(run), workOf(run); min(first[0], again[0]) >= seconds {
			break
		}
	}
	return n
}

// workOf returns what run costs.
func workOf(run func()) work {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	begin := measure.ProcessorTime()
	run()
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
