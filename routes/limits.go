package routes

import (
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
	refused *throttled.GCRARateLimiterCtx
	inbound *throttled.GCRARateLimiterCtx

	mu   sync.RWMutex
	keys map[int]*throttled.GCRARateLimiterCtx // by rate
}

func newLimits() *limits {
	return &limits{
		refused: newLimiter(refusedRate, refusedRate),
		inbound: newLimiter(inboundRate, inboundBurst),
		keys:    map[int]*throttled.GCRARateLimiterCtx{},
	}
}

func newLimiter(perMinute, burst int) *throttled.GCRARateLimiterCtx {
	store, err := memstore.New(maxTracked)
	if err != nil {
		panic(fmt.Errorf("routes: making the store of a rate limiter: %w", err)) // for a negative size only
	}
	store.SetTimeNow(steadyClock(time.Now))
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
		l.keys[perMinute] = newLimiter(perMinute, max(1, perMinute/burstShare))
	}
	return l.keys[perMinute]
}

// spend counts so many requests of the key and says in the answer's headers what is left.
func (l *limits) spend(e *core.RequestEvent, g *credential.Grant, requests int) error {
	rate := g.RateLimit
	if rate <= 0 {
		rate = defaultRate
	}
	limited, result, err := l.forRate(rate).RateLimitCtx(e.Request.Context(), g.KeyID, requests)
	if err != nil {
		return fmt.Errorf("counting a request: %w", err)
	}
	header := e.Response.Header()
	header.Set("RateLimit-Policy", `"key";q=`+strconv.Itoa(rate)+`;w=60`)
	header.Set("RateLimit", `"key";r=`+strconv.Itoa(result.Remaining)+`;t=`+strconv.Itoa(wholeSeconds(result.ResetAfter)))
	if limited && result.RetryAfter < 0 { // more than there can ever be at once
		return &fault.Error{Code: fault.RateLimited, Message: fmt.Sprintf(
			"This request costs as much as %d, and this key may make %d at once; send smaller batches.", requests, result.Limit), RetryAfter: time.Second}
	}
	if limited {
		return rateLimited("This key makes too many requests", result.RetryAfter)
	}
	return nil
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
