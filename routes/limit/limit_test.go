package limit

import (
	"errors"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/pocketbase/pocketbase/core"
	"github.com/pocketbase/pocketbase/tools/router"

	"contactbase/internal/credential"
	"contactbase/internal/fault"
	"contactbase/routes/envelope"
)

// The limiter's times follow the monotonic clock, whatever the system's clock shows.
func TestSteadyClock(t *testing.T) {
	t.Parallel()
	clock := SteadyClock(time.Now)
	began := time.Now()
	first := clock()
	second, passed := clock(), time.Since(began)
	if second.Before(first) || second.Sub(first) > passed+time.Second {
		t.Errorf("after at most %s the clock went from %s to %s", passed, first, second)
	}
	if second != second.Round(0) {
		t.Error("the limiter would compare a reading of the process, and store one of the wall")
	}
}

// Whatever a key has spent, a batch within its burst succeeds after the Retry-After of its first rejection, and not a
// second earlier. A larger batch is rejected for its size.
func TestRetryAfterOfBatches(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	for round := range 2_000 {
		now := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
		limits := New(func() time.Time { return now })
		caller := &credential.Identity{KeyID: "key", RateLimit: 1 + random.IntN(1_500)}
		burst := OfKey(caller.RateLimit).Burst
		try := func(items int) *fault.Error {
			e := &core.RequestEvent{Event: router.Event{Response: httptest.NewRecorder(), Request: httptest.NewRequest(http.MethodPost, "/", nil)}}
			err := limits.SpendBatch(e, caller, items)
			var refused *fault.Error
			if err != nil && !errors.As(err, &refused) {
				t.Fatal(err)
			}
			return refused
		}
		for range random.IntN(20) {
			_ = try(random.IntN(10*burst + 1))
			now = now.Add(time.Duration(random.Int64N(int64(3 * time.Second))))
		}
		items := random.IntN(15*burst) + 1
		refused := try(items)
		switch {
		case items > 10*burst:
			if refused == nil || refused.Code != fault.PayloadTooLarge {
				t.Errorf("round %d: %d items of a burst of %d get %v", round, items, burst, refused)
			}
		case refused != nil:
			if refused.Code != fault.RateLimited {
				t.Fatalf("round %d: %d items of a burst of %d get %v", round, items, burst, refused)
			}
			wait := time.Duration(envelope.WholeSeconds(refused.RetryAfter)) * time.Second
			if wait > time.Second {
				now = now.Add(wait - time.Second)
				if again := try(items); again == nil || envelope.WholeSeconds(again.RetryAfter) != 1 {
					t.Errorf("round %d: a second before Retry-After %d items of a burst of %d get %v", round, items, burst, again)
				}
				wait = time.Second
			}
			now = now.Add(wait)
			if again := try(items); again != nil {
				t.Errorf("round %d: after Retry-After %d items of a burst of %d get %v", round, items, burst, again)
			}
		}
	}
}
