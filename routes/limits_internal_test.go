package routes

import (
	"testing"
	"time"
)

// The times that the limiter stores follow the clock that cannot be set, whatever the one on the wall says.
func TestSteadyClock(t *testing.T) {
	t.Parallel()
	clock := steadyClock(time.Now)
	first, began := clock(), time.Now()
	second, passed := clock(), time.Since(began)
	if second.Before(first) || second.Sub(first) > passed+time.Second {
		t.Errorf("after at most %s the clock went from %s to %s", passed, first, second)
	}
	if second != second.Round(0) {
		t.Error("the limiter would compare a reading of the process, and store one of the wall")
	}
}
