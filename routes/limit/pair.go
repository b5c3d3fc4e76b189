package limit

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/throttled/throttled/v2"
	"github.com/throttled/throttled/v2/store/memstore"
)

const (
	// maxTracked bounds a store's memory: beyond it, the least recently seen are forgotten.
	maxTracked = 1 << 16

	// maxAttempts is how often a count is tried again because another request came between. Each time, that
	// one has succeeded.
	maxAttempts = 1 << 16
)

func newStore(now func() time.Time) throttled.GCRAStoreCtx {
	store, err := memstore.New(maxTracked)
	if err != nil {
		panic(fmt.Errorf("routes: creating the store of a rate limiter: %w", err)) // only for a negative size
	}
	store.SetTimeNow(now)
	return throttled.WrapStoreWithContext(store)
}

// newLimiter returns a limiter, which is a few numbers: the counts are in the store.
func newLimiter(store throttled.GCRAStoreCtx, rate Rate) *throttled.GCRARateLimiterCtx {
	quota := throttled.RateQuota{MaxRate: throttled.PerMin(rate.PerMinute), MaxBurst: rate.Burst - 1}
	limiter, err := throttled.NewGCRARateLimiterCtx(store, quota)
	if err != nil {
		panic(fmt.Errorf("routes: creating a rate limiter: %w", err)) // only for a rate that is not positive
	}
	limiter.SetMaxCASAttemptsLimit(maxAttempts)
	return limiter
}

// pair limits each subject, and all subjects of a tenant together.
type pair struct{ own, tenants throttled.GCRAStoreCtx }

// subject is who is limited, and the tenant it belongs to.
type subject struct{ own, tenant string }

// verdict is the outcome of a count.
type verdict struct {
	left     int           // requests that the subject may still make at once
	reset    time.Duration // until it may make all of them again
	wait     time.Duration // until the requests would be allowed; 0 if they are
	byTenant bool          // the limit of the tenant is the one that was reached
}

func newPair(now func() time.Time) *pair { return &pair{newStore(now), newStore(now)} }

// count counts requests, unless it is a dry run. What is refused counts for nobody: a subject over its limit takes
// nothing from the others of its tenant.
func (p *pair) count(ctx context.Context, who subject, rate Rate, requests int, dryRun bool) (v verdict, err error) {
	together := Rate{rate.PerMinute * tenantShares, rate.Burst * tenantShares}
	own, tenants := newLimiter(p.own, rate), newLimiter(p.tenants, together)
	suffix := " " + strconv.Itoa(rate.PerMinute) // with a new rate, the count starts at zero
	ownKey, tenantKey := who.own+suffix, who.tenant+suffix

	_, all, err := tenants.RateLimitCtx(ctx, tenantKey, 0)
	if err != nil {
		return v, err
	}
	v.wait = waitFor(all, together, requests)
	v.byTenant = v.wait > 0
	spent := requests
	if v.byTenant || dryRun {
		spent = 0
	}
	limited, one, err := own.RateLimitCtx(ctx, ownKey, spent)
	if err != nil {
		return v, err
	}
	v.left, v.reset = one.Remaining, one.ResetAfter
	if limited || spent == 0 {
		v.wait = max(v.wait, waitFor(one, rate, requests))
		return v, nil
	}
	if limited, all, err = tenants.RateLimitCtx(ctx, tenantKey, spent); limited { // others came between
		v.wait, v.byTenant = all.RetryAfter, true
	}
	return v, err
}

// waitFor returns how long a subject has to wait for requests, given what is left of its limit.
func waitFor(left throttled.RateLimitResult, rate Rate, requests int) time.Duration {
	interval := time.Minute / time.Duration(rate.PerMinute)
	return max(0, left.ResetAfter-time.Duration(rate.Burst-requests)*interval)
}
