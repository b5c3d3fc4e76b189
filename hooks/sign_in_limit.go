package hooks

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/pocketbase/pocketbase/core"
	"github.com/pocketbase/pocketbase/tools/router"
	"github.com/pocketbase/pocketbase/tools/store"
	"github.com/throttled/throttled/v2"
	"github.com/throttled/throttled/v2/store/memstore"

	"contactbase/internal/member"
)

// How often a wrong password may be tried for one account, whatever the client's address, and how many accounts are tracked.
const (
	failuresAtOnce    = 10
	failuresPerMinute = 1
	maxAccounts       = 1 << 16
)

// signInLimit limits failed sign-ins of an account, beside PocketBase's limit per address. Addresses from which the account has signed
// in have limits of their own, so that an attacker who guesses endlessly does not lock the owner out.
type signInLimit struct {
	failed *throttled.GCRARateLimiterCtx
	known  *store.Store[string, bool] // accounts with addresses
}

func newSignInLimit() *signInLimit {
	counts, err := memstore.New(maxAccounts)
	if err != nil {
		panic(fmt.Errorf("hooks: creating the store of the limit of sign-ins: %w", err)) // only for a negative size
	}
	start := time.Now()
	counts.SetTimeNow(func() time.Time { return start.Add(time.Since(start)) }) // a clock that is set back would lengthen the limit
	quota := throttled.RateQuota{MaxRate: throttled.PerMin(failuresPerMinute), MaxBurst: failuresAtOnce - 1}
	failed, err := throttled.NewGCRARateLimiterCtx(throttled.WrapStoreWithContext(counts), quota)
	if err != nil {
		panic(fmt.Errorf("hooks: creating the limit of sign-ins: %w", err)) // only for a negative rate
	}
	return &signInLimit{failed: failed, known: store.New[string, bool](nil)}
}

func (l *signInLimit) bind(app core.App) {
	app.OnRecordAuthWithPasswordRequest(member.CollectionName).BindFunc(func(e *core.RecordAuthWithPasswordRequestEvent) error {
		account := strings.ToLower(e.Identity) // unknown accounts have the same limit, so that it does not tell them from others
		if e.Record != nil {
			account = e.Record.Id
		}
		visitor := account + " " + e.RealIP()
		if l.known.Has(visitor) {
			account = visitor
		}
		_, left, err := l.failed.RateLimitCtx(e.Request.Context(), account, 0)
		if err != nil {
			return fmt.Errorf("reading the limit of sign-ins: %w", err)
		}
		if left.RetryAfter > 0 {
			return e.TooManyRequestsError("", errors.New("too many failed sign-ins to this account"))
		}
		failure := e.Next()
		if failure == nil {
			l.known.SetIfLessThanLimit(visitor, true, maxAccounts)
			return nil
		}
		var refused *router.ApiError
		if errors.As(failure, &refused) && refused.Status == http.StatusBadRequest {
			_, _, err = l.failed.RateLimitCtx(e.Request.Context(), account, 1)
		}
		return errors.Join(failure, err)
	})
}
