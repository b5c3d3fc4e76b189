//go:build !linux

package replica

import "time"

// clock is a time that only passes, whatever is done to the time of day. While the machine sleeps it may stand still.
func clock() time.Duration { return time.Since(started) }
