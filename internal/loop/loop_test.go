package loop_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"contactbase/internal/loop"
)

func TestLoop(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var calls atomic.Int64
		l := loop.New(time.Minute, func(context.Context) { calls.Add(1) })
		if l.Stop() {
			t.Error("Stop returned true for a loop that was not started")
		}
		expect := func(when string, want int) {
			t.Helper()
			synctest.Wait()
			if got := int(calls.Load()); got != want {
				t.Errorf("%s: %d calls, want %d", when, got, want)
			}
		}
		l.Start()
		expect("at the start", 1)
		l.Wake()
		expect("woken", 2)
		time.Sleep(time.Minute)
		expect("after the interval", 3)
		if !l.Stop() {
			t.Error("Stop returned false for a running loop")
		}
		l.Wake()
		l.Wake()
		time.Sleep(time.Hour)
		expect("stopped", 3)
	})
}

// Wake during a call causes one more call.
func TestWakeDuringWork(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var calls atomic.Int64
		proceed := make(chan struct{})
		l := loop.New(time.Hour, func(context.Context) {
			calls.Add(1)
			<-proceed
		})
		l.Start()
		synctest.Wait()
		l.Wake()
		l.Wake()
		close(proceed)
		synctest.Wait()
		if got := calls.Load(); got != 2 {
			t.Errorf("%d calls", got)
		}
		l.Stop()
	})
}

// Stop ends the context of the work and waits for it.
func TestStopWaits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ended := false
		l := loop.New(time.Hour, func(ctx context.Context) {
			<-ctx.Done()
			time.Sleep(time.Second)
			ended = true
		})
		l.Start()
		synctest.Wait()
		l.Stop()
		if !ended {
			t.Error("Stop returned during a call")
		}
	})
}
