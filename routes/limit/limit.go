// Package limit limits the requests of keys, of inbound webhooks, of members and of addresses without a
// valid credential.
package limit

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/pocketbase/pocketbase/core"
	"github.com/throttled/throttled/v2"

	"contactbase/internal/credential"
	"contactbase/internal/fault"
	"contactbase/internal/inbound"
	"contactbase/internal/member"
	"contactbase/internal/tenant"
	"contactbase/internal/visitor"
	"contactbase/routes/envelope"
)

// Requests per minute.
const (
	defaultRate = tenant.DefaultRateLimit
	refusedRate = 30  // refused authentications per client address
	memberRate  = 300 // requests per member or portal link
	tryRate     = 20  // costly requests of one kind, such as pings, per member or portal link
	inviteRate  = 20  // invitations per tenant, whoever sends them

	memberBurst  = 100
	inboundShare = 2  // an inbound webhook's burst is half of its rate: shops send all of a bulk edit at once
	burstShare   = 6  // a key's burst is a sixth of its rate
	tenantShares = 10 // all keys of a tenant together may do ten times what one may, and so may all its members

	itemsPerRequest = 10 // of a batch
)

// Limits limits requests with the generic cell rate algorithm (GCRA).
type Limits struct {
	refused              *throttled.GCRARateLimiterCtx
	invitations          *throttled.GCRARateLimiterCtx
	inbound              throttled.GCRAStoreCtx
	keys, members, tries *pair
}

// New returns limits whose clock never goes back.
func New(now func() time.Time) *Limits {
	return &Limits{
		refused:     newLimiter(newStore(now), Refused),
		invitations: newLimiter(newStore(now), Rate{inviteRate, inviteRate}),
		inbound:     newStore(now),
		keys:        newPair(now), members: newPair(now), tries: newPair(now),
	}
}

// SteadyClock returns a monotonic clock that starts with now. If the system's clock were set back by an hour, the
// limiter would refuse a key for an hour.
func SteadyClock(now func() time.Time) func() time.Time {
	start := now()
	return func() time.Time { return start.Add(now().Sub(start)).Round(0) }
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
	return l.count(e, caller, requests, false)
}

// Check returns the error of Spend for one more request, without counting it.
func (l *Limits) Check(e *core.RequestEvent, caller *credential.Identity) error {
	return l.count(e, caller, 1, true)
}

func (l *Limits) count(e *core.RequestEvent, caller *credential.Identity, requests int, dryRun bool) error {
	rate := OfKey(caller.RateLimit)
	v, err := l.keys.count(e.Request.Context(), subject{caller.KeyID, caller.TenantID}, rate, requests, dryRun)
	if err != nil {
		return fmt.Errorf("counting a request: %w", err)
	}
	header := e.Response.Header()
	header.Set("RateLimit-Policy", `"key";q=`+strconv.Itoa(rate.PerMinute)+`;w=60`)
	header.Set("RateLimit", `"key";r=`+strconv.Itoa(v.left)+`;t=`+strconv.Itoa(envelope.WholeSeconds(v.reset)))
	switch {
	case v.wait <= 0:
		return nil
	case v.byTenant:
		return rateLimited("The keys of this tenant have together made too many requests.", v.wait)
	case requests > 1:
		return rateLimited(fmt.Sprintf("This batch counts as %d requests, "+
			"and the key has %d left. Wait, or send fewer items.", requests, v.left), v.wait)
	default:
		return rateLimited("This key has made too many requests.", v.wait)
	}
}

// SpendBatch counts a batch as one request per 10 items, at least one. A batch that costs more than the key's burst
// could never succeed. It is rejected for its size, whatever is left of the limit, and counts as one request.
func (l *Limits) SpendBatch(e *core.RequestEvent, caller *credential.Identity, items int) error {
	requests, burst := max(1, (items+itemsPerRequest-1)/itemsPerRequest), OfKey(caller.RateLimit).Burst
	if requests <= burst {
		return l.Spend(e, caller, requests)
	}
	var refused *fault.Error
	if err := l.Spend(e, caller, 1); err != nil && !errors.As(err, &refused) {
		return err
	}
	return fault.New(fault.PayloadTooLarge, fmt.Sprintf("The batch is too large for this key. "+
		"Send at most %d items per batch; every %d items cost one request.",
		burst*itemsPerRequest, itemsPerRequest))
}

// Refuse counts a failed authentication, and returns an error if the client's address has had too many.
func (l *Limits) Refuse(e *core.RequestEvent) error {
	limited, result, err := l.refused.RateLimitCtx(e.Request.Context(), visitor.Of(e), 1)
	if err != nil {
		return fmt.Errorf("counting a failed authentication: %w", err)
	}
	if limited {
		return rateLimited("Too many requests without a valid credential.", result.RetryAfter)
	}
	return nil
}

// MayTry returns an error if the client's address has had too many failed authentications, before one more is tried
// that takes a while.
func (l *Limits) MayTry(e *core.RequestEvent) error {
	_, left, err := l.refused.RateLimitCtx(e.Request.Context(), visitor.Of(e), 0)
	if err != nil {
		return fmt.Errorf("looking up failed authentications: %w", err)
	}
	if wait := waitFor(left, Refused, 1); wait > 0 {
		return rateLimited("Too many requests without a valid credential.", wait)
	}
	return nil
}

// Receive counts a request to an inbound webhook with this rateLimit, 0 or less for the default.
func (l *Limits) Receive(e *core.RequestEvent, webhookID string, rateLimit int) error {
	if rateLimit <= 0 {
		rateLimit = inbound.DefaultRateLimit
	}
	limiter := newLimiter(l.inbound, Rate{rateLimit, max(min(2, rateLimit), rateLimit/inboundShare)})
	key := webhookID + " " + strconv.Itoa(rateLimit) // with a new rate, the count starts at zero
	limited, result, err := limiter.RateLimitCtx(e.Request.Context(), key, 1)
	if err != nil {
		return fmt.Errorf("counting a request to an inbound webhook: %w", err)
	}
	if limited {
		return rateLimited("This inbound webhook has received too many requests.", result.RetryAfter)
	}
	return nil
}

// Invite counts an invitation of a tenant's member.
func (l *Limits) Invite(ctx context.Context, tenantID string) error {
	limited, result, err := l.invitations.RateLimitCtx(ctx, tenantID, 1)
	if err != nil {
		return fmt.Errorf("counting an invitation: %w", err)
	}
	if limited {
		return rateLimited("This tenant has sent too many invitations.", result.RetryAfter)
	}
	return nil
}

// Visit counts requests of a member or a portal link.
func (l *Limits) Visit(ctx context.Context, visitor *core.Record, requests int) error {
	return countMember(ctx, l.members, subject{visitor.Id, member.TenantOf(visitor)},
		Rate{memberRate, memberBurst}, requests)
}

// Try counts a costly request of a member or a portal link. Each kind has a limit of its own.
func (l *Limits) Try(ctx context.Context, visitor *core.Record, kind string) error {
	return countMember(ctx, l.tries, subject{visitor.Id + " " + kind, member.TenantOf(visitor) + " " + kind},
		Rate{tryRate, tryRate}, 1)
}

func countMember(ctx context.Context, limits *pair, who subject, rate Rate, requests int) error {
	v, err := limits.count(ctx, who, rate, requests, false)
	switch {
	case err != nil:
		return fmt.Errorf("counting a request of a member: %w", err)
	case v.wait <= 0:
		return nil
	case v.byTenant:
		return rateLimited("The members of this tenant have together made too many requests.", v.wait)
	default:
		return rateLimited("You have made too many requests.", v.wait)
	}
}

func rateLimited(message string, retryAfter time.Duration) *fault.Error {
	retryAfter = max(time.Second, retryAfter)
	return &fault.Error{
		Code: fault.RateLimited, RetryAfter: retryAfter,
		Message: message + " Try again in " + strconv.Itoa(envelope.WholeSeconds(retryAfter)) + " s.",
	}
}
