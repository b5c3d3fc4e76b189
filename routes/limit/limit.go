// Package limit limits the requests of keys, of inbound webhooks, of members and of addresses without a valid credential.
package limit

import (
	"context"
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
	"contactbase/internal/tenant"
	"contactbase/routes/envelope"
)

// Requests per minute.
const (
	defaultRate = tenant.DefaultRateLimit
	refusedRate = 30  // refused authentications per client address
	inboundRate = 120 // calls per inbound webhook
	tryRate     = 10  // pings, and previews, by the members of a tenant

	inboundBurst = 20
	burstShare   = 6 // a key's burst is a sixth of its rate

	itemsPerRequest = 10 // of a batch
)

// maxTracked bounds a limiter's memory: beyond it, the least recently seen are forgotten.
const maxTracked = 1 << 16

// Limits limits requests with the generic cell rate algorithm (GCRA).
type Limits struct {
	now     func() time.Time
	refused *throttled.GCRARateLimiterCtx
	inbound *throttled.GCRARateLimiterCtx
	tries   *throttled.GCRARateLimiterCtx

	mu   sync.RWMutex
	keys map[int]*throttled.GCRARateLimiterCtx // by rate
}

// New returns limits whose clock never goes back.
func New(now func() time.Time) *Limits {
	return &Limits{
		now:     now,
		refused: newLimiter(now, refusedRate, refusedRate),
		inbound: newLimiter(now, inboundRate, inboundBurst),
		tries:   newLimiter(now, tryRate, tryRate),
		keys:    map[int]*throttled.GCRARateLimiterCtx{},
	}
}

func newLimiter(now func() time.Time, perMinute, burst int) *throttled.GCRARateLimiterCtx {
	store, err := memstore.New(maxTracked)
	if err != nil {
		panic(fmt.Errorf("routes: creating the store of a rate limiter: %w", err)) // only for a negative size
	}
	store.SetTimeNow(now)
	limiter, err := throttled.NewGCRARateLimiterCtx(throttled.WrapStoreWithContext(store), throttled.RateQuota{MaxRate: throttled.PerMin(perMinute), MaxBurst: burst - 1})
	if err != nil {
		panic(fmt.Errorf("routes: creating a rate limiter: %w", err)) // only for a negative rate
	}
	return limiter
}

// SteadyClock returns a monotonic clock that starts with now. If the system's clock were set back by an hour, the limiter would
// refuse a key for an hour.
func SteadyClock(now func() time.Time) func() time.Time {
	start := now()
	return func() time.Time { return start.Add(now().Sub(start)).Round(0) }
}

// forRate returns the limiter of all keys with this rate.
func (l *Limits) forRate(perMinute int) *throttled.GCRARateLimiterCtx {
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

// Rate is how many requests a minute are allowed, and how many at once.
type Rate struct {
	PerMinute int `json:"perMinute"`
	Burst     int `json:"burst"`
}

// Refused is the limit of refused authentications of a client address.
var Refused = Rate{refusedRate, refusedRate}

// OfKey returns the limit of a key whose tenant has this rateLimit, 0 or less for the default.
func OfKey(rateLimit int) Rate {
	if rateLimit <= 0 {
		rateLimit = defaultRate
	}
	return Rate{rateLimit, burstOf(rateLimit)}
}

func burstOf(perMinute int) int { return max(1, perMinute/burstShare) }

// Spend counts requests, at most the key's burst, and sets the RateLimit headers.
func (l *Limits) Spend(e *core.RequestEvent, caller *credential.Identity, requests int) error {
	rate := OfKey(caller.RateLimit).PerMinute
	limited, result, err := l.forRate(rate).RateLimitCtx(e.Request.Context(), caller.KeyID, requests)
	if err != nil {
		return fmt.Errorf("counting a request: %w", err)
	}
	header := e.Response.Header()
	header.Set("RateLimit-Policy", `"key";q=`+strconv.Itoa(rate)+`;w=60`)
	header.Set("RateLimit", `"key";r=`+strconv.Itoa(result.Remaining)+`;t=`+strconv.Itoa(envelope.WholeSeconds(result.ResetAfter)))
	if limited && requests > 1 {
		return rateLimited(fmt.Sprintf("This batch counts as %d requests, and the key has %d left. Wait, or send fewer items.", requests, result.Remaining), result.RetryAfter)
	}
	if limited {
		return rateLimited("This key has made too many requests.", result.RetryAfter)
	}
	return nil
}

// SpendBatch counts a batch as one request per 10 items, at least one. A batch that costs more than the key's burst could never
// succeed. It is rejected for its size, whatever is left of the limit, and counts as one request.
func (l *Limits) SpendBatch(e *core.RequestEvent, caller *credential.Identity, items int) error {
	requests, burst := max(1, (items+itemsPerRequest-1)/itemsPerRequest), OfKey(caller.RateLimit).Burst
	if requests <= burst {
		return l.Spend(e, caller, requests)
	}
	var refused *fault.Error
	if err := l.Spend(e, caller, 1); err != nil && !errors.As(err, &refused) {
		return err
	}
	return fault.New(fault.PayloadTooLarge, fmt.Sprintf("The batch is too large for this key. Send at most %d items per batch; every %d items cost one request.",
		burst*itemsPerRequest, itemsPerRequest))
}

// Refuse counts a failed authentication, and returns an error if the client's address has had too many.
func (l *Limits) Refuse(e *core.RequestEvent) error {
	limited, result, err := l.refused.RateLimitCtx(e.Request.Context(), e.RealIP(), 1)
	if err != nil {
		return fmt.Errorf("counting a failed authentication: %w", err)
	}
	if limited {
		return rateLimited("Too many requests without a valid credential.", result.RetryAfter)
	}
	return nil
}

// Receive counts a request to an inbound webhook.
func (l *Limits) Receive(e *core.RequestEvent, webhookID string) error {
	limited, result, err := l.inbound.RateLimitCtx(e.Request.Context(), webhookID, 1)
	if err != nil {
		return fmt.Errorf("counting a request to an inbound webhook: %w", err)
	}
	if limited {
		return rateLimited("This inbound webhook has received too many requests.", result.RetryAfter)
	}
	return nil
}

// Merge counts a merge of contacts by the members of a tenant, which holds the writer lock, as Try does.
func (l *Limits) Merge(ctx context.Context, tenant string) error {
	return countTry(ctx, l.forRate(defaultRate), tenant, "merge")
}

// Try counts a ping or a preview by the members of a tenant: a ping calls an address of their choice, and a preview holds the writer
// lock. Superusers, whose tenant is "", may do so anyway.
func (l *Limits) Try(ctx context.Context, tenant, what string) error {
	return countTry(ctx, l.tries, tenant, what)
}

func countTry(ctx context.Context, limiter *throttled.GCRARateLimiterCtx, tenant, what string) error {
	if tenant == "" {
		return nil
	}
	limited, result, err := limiter.RateLimitCtx(ctx, tenant+" "+what, 1)
	if err != nil {
		return fmt.Errorf("counting a %s: %w", what, err)
	}
	if limited {
		return rateLimited("The members of this tenant have tried this too often.", result.RetryAfter)
	}
	return nil
}

func rateLimited(message string, retryAfter time.Duration) *fault.Error {
	retryAfter = max(time.Second, retryAfter)
	return &fault.Error{
		Code: fault.RateLimited, RetryAfter: retryAfter,
		Message: message + " Try again in " + strconv.Itoa(envelope.WholeSeconds(retryAfter)) + " s.",
	}
}
