package sqlite

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func TestTurnsKeepTheOrder(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var turns turns
		far := time.Now().Add(time.Hour)
		never := func() { t.Error("a turn was given up") }
		if err := turns.wait(t.Context(), far, nil, never); err != nil {
			t.Fatalf("the first turn: %v", err)
		}
		var order []int
		var all sync.WaitGroup
		for i := range 5 {
			all.Go(func() {
				if err := turns.wait(t.Context(), far, nil, never); err != nil {
					t.Errorf("waiting: %v", err)
				}
				order = append(order, i)
				turns.end()
			})
			synctest.Wait()
		}
		turns.end()
		all.Wait()
		if !slices.Equal(order, []int{0, 1, 2, 3, 4}) {
			t.Errorf("the order is %v", order)
		}
	})
}

// The time that writers wait is measured: of who gets a turn, at once or later, and of who gives up.
func TestWaitsAreMeasured(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var turns turns
		far := time.Now().Add(time.Hour)
		if err := turns.wait(t.Context(), far, nil, nil); err != nil {
			t.Fatal(err)
		}
		var all sync.WaitGroup
		for _, waiting := range []func(){ // in this order
			func() { _ = turns.wait(t.Context(), time.Now().Add(time.Second), nil, nil) },
			func() { _ = turns.wait(t.Context(), far, nil, nil) },
			func() { _ = turns.wait(t.Context(), far, &plan{}, nil) },
		} {
			all.Go(waiting)
			synctest.Wait()
		}
		time.Sleep(2 * time.Second)
		turns.pass()
		time.Sleep(3 * time.Second)
		turns.nextPlan().turn <- errServed
		all.Wait()
		if count, sum, _ := turns.waits.histogram(); count != 4 || sum != 0+1+2+5 {
			t.Errorf("%d waits of %g s together were measured", count, sum)
		}
	})
}

func TestTurnThatComesWhenTheContextEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var turns turns
		far := time.Now().Add(time.Hour)
		if err := turns.wait(t.Context(), far, nil, nil); err != nil {
			t.Fatalf("the first turn: %v", err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		over := 0
		var all sync.WaitGroup
		all.Go(func() {
			if err := turns.wait(ctx, far, nil, func() { over++ }); !errors.Is(err, context.Canceled) {
				t.Errorf("waiting: %v", err)
			}
		})
		synctest.Wait()
		turns.mu.Lock()
		cancel() // wakes the waiting one, which then needs mu
		if !turns.next() {
			t.Error("nobody waits")
		}
		turns.mu.Unlock()
		all.Wait()
		if over != 1 {
			t.Errorf("the turn was passed on %d times", over)
		}
	})
}
