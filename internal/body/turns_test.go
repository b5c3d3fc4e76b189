package body

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"contactbase/internal/fault"
)

// started takes turns in the background, and reports when they are granted.
type started struct {
	ends    chan func()
	refused chan error
}

func start(ctx context.Context, turns *turns, owner Owner, weight int64) started {
	s := started{make(chan func(), 1), make(chan error, 1)}
	go func() {
		end, err := turns.take(ctx, owner, weight)
		if err != nil {
			s.refused <- err
			return
		}
		s.ends <- end
	}()
	synctest.Wait()
	return s
}

func (s started) granted() bool { return len(s.ends) == 1 }

// A tenant has two files read at a time, all have four, and two tenants never have all of them.
func TestFilesTakeTurns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		files := NewLedger(DefaultLimits).files
		begin := func(tenant string, want bool) started {
			t.Helper()
			s := start(t.Context(), files, Tenant(tenant), 1)
			if s.granted() != want {
				t.Errorf("a file of %s is read: %t", tenant, s.granted())
			}
			return s
		}
		a1, a2 := begin("a", true), begin("a", true)
		a3 := begin("a", false)
		b1 := begin("b", true)
		b2 := begin("b", false) // a and b would have all
		c1 := begin("c", true)
		d1 := begin("d", false)
		(<-a1.ends)()
		synctest.Wait()
		if !d1.granted() || a3.granted() || b2.granted() {
			t.Error("the tenant that has none is not the next")
		}
		for _, s := range []started{a2, b1, c1, d1, a3, b2} {
			synctest.Wait()
			(<-s.ends)()
		}
		if files.all != 0 || len(files.used) != 0 || len(files.waiting) != 0 {
			t.Errorf("in the end %d files of %v are read", files.all, files.used)
		}
	})
}

// Two bodies of more than 1 MiB are decoded at a time, or more that are smaller.
func TestLargeBodiesTakeTurns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		decoding := NewLedger(DefaultLimits).decoding
		flood := []started{
			start(t.Context(), decoding, Tenant("a"), largeBody), start(t.Context(), decoding, Tenant("a"), largeBody),
		}
		third := start(t.Context(), decoding, Tenant("a"), largeBody)
		small := start(t.Context(), decoding, Tenant("a"), smallBody+1)
		stranger := start(t.Context(), decoding, Tenant("b"), largeBody)
		if !flood[0].granted() || !flood[1].granted() || third.granted() || small.granted() || stranger.granted() {
			t.Fatal("other than two are decoded")
		}
		(<-flood[0].ends)()
		synctest.Wait()
		if !stranger.granted() || third.granted() {
			t.Error("the tenant that has none is not the next")
		}
		(<-flood[1].ends)()
		(<-stranger.ends)()
		synctest.Wait()
		if !third.granted() || !small.granted() {
			t.Error("there is room for a large body and a smaller one")
		}
	})
}

// A stored body takes its turn among received ones, unless it is small.
func TestStoredBodiesTakeTurns(t *testing.T) {
	t.Parallel()
	l, own := NewLedger(DefaultLimits), Tenant("a")
	first, err := l.AwaitDecoding(t.Context(), own, 5*largeBody)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := l.AwaitDecoding(t.Context(), own, 5*largeBody); err != nil {
		t.Fatal(err)
	}
	gone, leave := context.WithCancel(t.Context())
	leave()
	if _, err := l.AwaitDecoding(gone, own, largeBody); !errors.Is(err, context.Canceled) {
		t.Errorf("a third one gets %v", err)
	}
	if _, err := l.AwaitDecoding(gone, own, smallBody); err != nil {
		t.Errorf("a small one gets %v", err)
	}
	first()
	if _, err := l.AwaitDecoding(t.Context(), own, largeBody); err != nil {
		t.Errorf("after the end of one, the next gets %v", err)
	}
}

// A body waits for its turn as long as its client, and 10 s.
func TestTurnsEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		files := NewLedger(DefaultLimits).files
		own := Tenant("a")
		running := []started{start(t.Context(), files, own, 1), start(t.Context(), files, own, 1)}
		ctx, leave := context.WithCancel(t.Context())
		gone, late := start(ctx, files, own, 1), start(t.Context(), files, own, 1)
		leave()
		if err := <-gone.refused; !errors.Is(err, context.Canceled) {
			t.Errorf("a client that has gone gets %v", err)
		}
		began := time.Now()
		var refused *fault.Error
		if err := <-late.refused; !errors.As(err, &refused) || refused.Code != fault.RateLimited || refused.RetryAfter <= 0 {
			t.Errorf("one that waits gets %v", err)
		}
		if waited := time.Since(began); waited != DefaultLimits.Turn {
			t.Errorf("it waits for %s", waited)
		}
		for _, s := range running {
			(<-s.ends)()
		}
	})
}
