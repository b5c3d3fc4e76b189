package loop

import (
	"context"
	"time"
)

// Pause waits, and reports whether ctx has not ended meanwhile.
func Pause(ctx context.Context, wait time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(wait):
		return true
	}
}
