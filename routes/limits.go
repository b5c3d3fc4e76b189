package routes

import (
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/pocketbase/pocketbase/core"
	"github.com/throttled/throttled/v2"
	"github.com/throttled/throttled/v2/store/memstore"

	"contactbase/internal/credential"
	"contactbase/internal/fault"
)

// Requests a minute.
const (
	defaultRate = 600 // per key
	refusedRate = 30  // refused authentications per client address
	inboundRate = 120 // calls per inbound webhook

	inboundBurst = 20
	burstShare   = 6 // a key's burst is a sixth of its rate
)

// maxTracked bounds the memory of a limiter: the least recently seen are forgotten beyond it.
const maxTracked = 1 << 16

// limits counts requests with the generic cell rate algorithm.
type limits struct {
	now     func() time.Time
	refused *throttled.GCRARateLimiterCtx
	inbound *throttled.GCRARateLimiterCtx

	mu   sync.RWMutex
	keys map[int]*throttled.GCRARateLimiterCtx // by rate
}

// newLimits returns limits by a clock that never goes back.
func newLimits(now func() time.Time) *limits {
	return &limits{
		now:     now,
		refused: newLimiter(now, refusedRate, refusedRate),
		inbound: newLimiter(now, inboundRate, inboundBurst),
		keys:    map[int]*throttled.GCRARateLimiterCtx{},
	}
}

func newLimiter(now func() time.Time, perMinute, burst int) *throttled.GCRARateLimiterCtx {
	store, err := memstore.New(maxTracked)
	if err != nil {
		panic(fmt.Errorf("routes: making the store of a rate limiter: %w", err)) // for a negative size only
	}
	store.SetTimeNow(now)
	limiter, err := throttled.NewGCRARateLimiterCtx(throttled.WrapStoreWithContext(store), throttled.RateQuota{MaxRate: throttled.PerMin(perMinute), MaxBurst: burst - 1})
	if err != nil {
		panic(fmt.Errorf("routes: making a rate limiter: %w", err)) // for a negative rate only
	}
	return limiter
}

// steadyClock returns a clock that starts with now and goes on by the time that has passed. The limiter would refuse a
// key for an hour were the system's clock set back by one.
func steadyClock(now func() time.Time) func() time.Time {
	start := now()
	return func() time.Time { return start.Add(now().Sub(start)).Round(0) }
}

// forRate returns the limiter of all keys with that rate.
func (l *limits) forRate(perMinute int) *throttled.GCRARateLimiterCtx {
	l.mu.RLock()
	limiter := l.keys[perMinute]
	l.mu.RUnlock()
	if limiter != nil {
		return limiter
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.keys[perMinute] == nil {
		l.keys[perMinute] = newLimiter(l.now, perMinute, burstOf(perMinute))
	}
	return l.keys[perMinute]
}

// rateOf returns how many requests a minute the key may make, and burstOf how many of them at once.
func rateOf(caller *credential.Identity) int {
	if caller.RateLimit <= 0 {
		return defaultRate
	}
	return caller.RateLimit
}

func burstOf(perMinute int) int { return max(1, perMinute/burstShare) }

// spend counts so many requests of the key, no more than its burst, and says in the answer's headers what is left.
func (l *limits) spend(e *core.RequestEvent, caller *credential.Identity, requests int) error {
	rate := rateOf(caller)
	limited, result, err := l.forRate(rate).RateLimitCtx(e.Request.Context(), caller.KeyID, requests)
	if err != nil {
		return fmt.Errorf("counting a request: %w", err)
	}
	header := e.Response.Header()
	header.Set("RateLimit-Policy", `"key";q=`+strconv.Itoa(rate)+`;w=60`)
	header.Set("RateLimit", `"key";r=`+strconv.Itoa(result.Remaining)+`;t=`+strconv.Itoa(wholeSeconds(result.ResetAfter)))
	if limited {
		return rateLimited("This key makes too many requests", result.RetryAfter)
	}
	return nil
}

// spendBatch counts a batch as one request for every 10 items, and one at least. A batch that costs more than the key's burst never
// succeeds: it is refused for its size, regardless of what the key has left, and counts as one request.
func (l *limits) spendBatch(e *core.RequestEvent, caller *credential.Identity, items int) error {
	requests, burst := max(1, (items+itemsPerRequest-1)/itemsPerRequest), burstOf(rateOf(caller))
	if requests <= burst {
		return l.spend(e, caller, requests)
	}
	var refused *fault.Error
	if err := l.spend(e, caller, 1); err != nil && !errors.As(err, &refused) {
		return err
	}
	return fault.New(fault.PayloadTooLarge, fmt.Sprintf("The batch is too large for this key: send at most %d items per batch. Every %d items count as one request.",
		burst*itemsPerRequest, itemsPerRequest))
}

// refuse counts a refused authentication and returns an error where the client address has had too many.
func (l *limits) refuse(e *core.RequestEvent) error {
	limited, result, err := l.refused.RateLimitCtx(e.Request.Context(), e.RealIP(), 1)
	if err != nil {
		return fmt.Errorf("counting a refused authentication: %w", err)
	}
	if limited {
		return rateLimited("Too many requests without a valid credential", result.RetryAfter)
	}
	return nil
}

// receive counts a call of an inbound webhook.
func (l *limits) receive(e *core.RequestEvent, webhookID string) error {
	limited, result, err := l.inbound.RateLimitCtx(e.Request.Context(), webhookID, 1)
	if err != nil {
		return fmt.Errorf("counting a call of an inbound webhook: %w", err)
	}
	if limited {
		return rateLimited("This webhook gets too many calls", result.RetryAfter)
	}
	return nil
}

func rateLimited(message string, retryAfter time.Duration) *fault.Error {
	retryAfter = max(time.Second, retryAfter)
	return &fault.Error{
		Code: fault.RateLimited, RetryAfter: retryAfter,
		Message: message + "; try again in " + strconv.Itoa(wholeSeconds(retryAfter)) + " s.",
	}
}
