package replica

import (
	"time"

	"golang.org/x/sys/unix"
)

var started = time.Now()

// clock returns a monotonic time that also runs while the machine sleeps. Changes of the system time do not affect it.
func clock() time.Duration {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &now); err != nil {
		return time.Since(started)
	}
	return time.Duration(now.Nano())
}
