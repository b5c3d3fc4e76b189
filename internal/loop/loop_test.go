package loop_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"contactbase/internal/loop"
)

func TestLoop(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		calls := 0
		l := loop.New(time.Minute, func(context.Context) { calls++ })
		if l.Stop() {
			t.Error("a loop that was not started is stopped")
		}
		expect := func(when string, want int) {
			t.Helper()
			synctest.Wait()
			if calls != want {
				t.Errorf("%s there are %d calls, not %d", when, calls, want)
			}
		}
		l.Start()
		expect("at the start", 1)
		l.Wake()
		expect("woken", 2)
		time.Sleep(time.Minute)
		expect("after the interval", 3)
		if !l.Stop() {
			t.Error("a loop that runs is not stopped")
		}
		l.Wake()
		l.Wake()
		time.Sleep(time.Hour)
		expect("stopped", 3)
	})
}

// What wakes a loop while it works makes it work once more.
func TestWakeDuringWork(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		calls, proceed := 0, make(chan struct{})
		l := loop.New(time.Hour, func(context.Context) {
			calls++
			<-proceed
		})
		l.Start()
		synctest.Wait()
		l.Wake()
		l.Wake()
		close(proceed)
		synctest.Wait()
		if calls != 2 {
			t.Errorf("there are %d calls", calls)
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
			t.Error("Stop returns while the work goes on")
		}
	})
}
