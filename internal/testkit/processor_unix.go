//go:build unix

package testkit

import (
	"syscall"
	"time"
)

// processorTime returns the processor time that this process has used.
func processorTime() time.Duration {
	var used syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &used) // fails only for wrong arguments
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
