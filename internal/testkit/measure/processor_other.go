//go:build !unix

package measure

import "time"

// ProcessorTime returns 0: here only allocations are measured.
func ProcessorTime() time.Duration { return 0 }
