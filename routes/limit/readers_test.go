package limit

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"contactbase/internal/fault"
)

// acquire starts requests of a tenant, and returns how many of them read at once, and the functions that end those.
func acquire(t *testing.T, r *Readers, tenant string, requests int) (reading int, releases chan func()) {
	releases = make(chan func(), requests)
	for range requests {
		go func() {
			release, err := r.Acquire(t.Context(), tenant)
			if err != nil {
				t.Error(err)
				return
			}
			releases <- release
		}()
	}
	synctest.Wait()
	return len(releases), releases
}

// A tenant that is alone reads as much as the machine can. Once another one comes, that one reads at once, and the
// first one has its share.
func TestReaders(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := NewReaders(time.Now)
		_, first := acquire(t, r, "flood", 1)
		(<-first)()
		time.Sleep(recentRead)
		alone, flood := acquire(t, r, "flood", r.most+10)
		if alone != r.most {
			t.Errorf("alone, %d requests read, want %d", alone, r.most)
		}
		atOnce, stranger := acquire(t, r, "stranger", 1)
		if atOnce != 1 {
			t.Fatal("the stranger waits")
		}
		(<-stranger)()
		for range r.most - r.share {
			release := <-flood
			release()
			release() // counts once
			synctest.Wait()
		}
		if len(flood) != r.share {
			t.Errorf("beside a stranger, %d requests read, want %d", len(flood), r.share)
		}
		for left := 10; left > 0; left-- {
			(<-flood)()
			synctest.Wait()
		}
		for len(flood) > 0 {
			(<-flood)()
		}
		if len(r.reading) != 0 || len(r.waiting) != 0 {
			t.Errorf("in the end %v read and %d wait", r.reading, len(r.waiting))
		}
	})
}

// A request that waits for its turn ends with its client, and with a clear error after a while.
func TestReadersEndWaiting(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := NewReaders(time.Now)
		_, other := acquire(t, r, "other", 1)
		_, held := acquire(t, r, "flood", r.share)
		gone, leave := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, leave)
		if _, err := r.Acquire(gone, "flood"); !errors.Is(err, context.Canceled) {
			t.Errorf("a client that left gets %v", err)
		}
		var refused *fault.Error
		if _, err := r.Acquire(t.Context(), "flood"); !errors.As(err, &refused) || refused.Code != fault.Unavailable || refused.RetryAfter == 0 {
			t.Errorf("after a long wait: %v", err)
		}
		(<-other)()
		for len(held) > 0 {
			(<-held)()
		}
		if len(r.reading) != 0 || len(r.waiting) != 0 {
			t.Errorf("in the end %v read and %d wait", r.reading, len(r.waiting))
		}
	})
}
