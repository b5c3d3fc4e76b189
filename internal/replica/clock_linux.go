package replica

import (
	"time"

	"golang.org/x/sys/unix"
)

// clock is a time that only passes, also while the machine sleeps, whatever is done to the time of day.
func clock() time.Duration {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &now); err != nil {
		return time.Since(started)
	}
	return time.Duration(now.Nano())
}
