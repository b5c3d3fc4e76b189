package sqlite

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

func TestWriterLockIsFair(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		lock := writerLock{waits: newTimes().wait}
		far := time.Now().Add(time.Hour)
		never := func() { t.Error("the lock was abandoned") }
		if err := lock.acquire(t.Context(), far, "", nil, never); err != nil {
			t.Fatalf("the first acquire: %v", err)
		}
		var order []int
		var all sync.WaitGroup
		for i := range 5 {
			all.Go(func() {
				if err := lock.acquire(t.Context(), far, "", nil, never); err != nil {
					t.Errorf("waiting: %v", err)
				}
				order = append(order, i)
				lock.release()
			})
			synctest.Wait()
		}
		lock.release()
		all.Wait()
		if !slices.Equal(order, []int{0, 1, 2, 3, 4}) {
			t.Errorf("the order is %v", order)
		}
	})
}

// observed returns the number and the sum of a histogram's observations.
func observed(t *testing.T, h prometheus.Histogram) (count uint64, sum float64) {
	t.Helper()
	registry := prometheus.NewRegistry()
	registry.MustRegister(h)
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	found := families[0].GetMetric()[0].GetHistogram()
	return found.GetSampleCount(), found.GetSampleSum()
}

// The lock measures how long writers wait, whether they get it at once, later, or not at all.
func TestWaitTimes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		lock := writerLock{waits: newTimes().wait}
		far := time.Now().Add(time.Hour)
		if err := lock.acquire(t.Context(), far, "", nil, nil); err != nil {
			t.Fatal(err)
		}
		var all sync.WaitGroup
		for _, waiting := range []func(){ // in this order
			func() { _ = lock.acquire(t.Context(), time.Now().Add(time.Second), "", nil, nil) },
			func() { _ = lock.acquire(t.Context(), far, "", nil, nil) },
			func() { _ = lock.acquire(t.Context(), far, "", &functionWrite{}, nil) },
		} {
			all.Go(waiting)
			synctest.Wait()
		}
		time.Sleep(2 * time.Second)
		lock.handOver(nil)
		time.Sleep(3 * time.Second)
		lock.takeWrite(nil).granted <- errRunByHolder
		all.Wait()
		if count, sum := observed(t, lock.waits); count != 4 || sum != 0+1+2+5 {
			t.Errorf("measured %d waits of %g s in total", count, sum)
		}
	})
}

func TestLockGrantedAsTheContextEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		lock := writerLock{waits: newTimes().wait}
		far := time.Now().Add(time.Hour)
		if err := lock.acquire(t.Context(), far, "", nil, nil); err != nil {
			t.Fatalf("the first acquire: %v", err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		released := 0
		var all sync.WaitGroup
		all.Go(func() {
			if err := lock.acquire(ctx, far, "", nil, func() { released++ }); !errors.Is(err, context.Canceled) {
				t.Errorf("waiting: %v", err)
			}
		})
		synctest.Wait()
		lock.mu.Lock()
		cancel() // wakes the waiting one, which then needs mu
		if !lock.grant(nil) {
			t.Error("there is no waiter")
		}
		lock.mu.Unlock()
		all.Wait()
		if released != 1 {
			t.Errorf("the lock was released %d times", released)
		}
	})
}
