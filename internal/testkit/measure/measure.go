// Package measure measures what a part of a test takes, so that the result depends neither on the settings of the
// collector (GOGC, GOMEMLIMIT, GOMAXPROCS) nor on what else the machine does. It imports nothing of the program.
package measure

import "runtime"

// Allocated returns how many bytes do allocates on the heap in all, garbage included. No other test may run
// meanwhile: the test must not be parallel.
func Allocated(do func()) uint64 {
	runtime.GC() // so that garbage does not pile up where GOGC is off
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	do()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}
