//go:build !linux

package replica

import "time"

var started = time.Now()

// clock returns a monotonic time, which may stop while the machine sleeps. Changes of the system time do not affect it.
func clock() time.Duration { return time.Since(started) }
