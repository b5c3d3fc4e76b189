//go:build !unix

package testkit

import "time"

// processorTime returns 0: here only allocations are measured.
func processorTime() time.Duration { return 0 }
