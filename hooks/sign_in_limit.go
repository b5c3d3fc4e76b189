package hooks

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/pocketbase/pocketbase/core"
	"github.com/pocketbase/pocketbase/tools/router"
	"github.com/throttled/throttled/v2"
	"github.com/throttled/throttled/v2/store/memstore"

	"contactbase/internal/member"
	"contactbase/internal/visitor"
)

// How often a wrong password may be tried for one account, whatever the client's address, and how many
// accounts are tracked.
const (
	failuresAtOnce    = 10
	failuresPerMinute = 1
	maxAccounts       = 1 << 16
)

// signInLimit limits failed sign-ins of an account, beside PocketBase's limit per address. Addresses from which the
// account has signed in lately have limits of their own, so that an attacker who guesses endlessly does not lock the
// owner out. A new password ends the limit.
type signInLimit struct {
	failed *throttled.GCRARateLimiterCtx
	warned atomic.Int64 // when the log last had a limited superuser, as a Unix time
}

func newSignInLimit() *signInLimit {
	counts, err := memstore.New(maxAccounts)
	if err != nil {
		panic(fmt.Errorf("hooks: creating the store of the limit of sign-ins: %w", err)) // only for a negative size
	}
	start := time.Now()
	// a clock that is set back would lengthen the limit
	counts.SetTimeNow(func() time.Time { return start.Add(time.Since(start)) })
	quota := throttled.RateQuota{MaxRate: throttled.PerMin(failuresPerMinute), MaxBurst: failuresAtOnce - 1}
	failed, err := throttled.NewGCRARateLimiterCtx(throttled.WrapStoreWithContext(counts), quota)
	if err != nil {
		panic(fmt.Errorf("hooks: creating the limit of sign-ins: %w", err)) // only for a negative rate
	}
	return &signInLimit{failed: failed}
}

func (l *signInLimit) bind(app core.App) {
	accounts := []string{member.CollectionName, core.CollectionNameSuperusers}
	app.OnRecordAuthWithPasswordRequest(accounts...).BindFunc(l.limit)
	app.OnRecordAuthRequest(accounts...).BindFunc(rememberAddress)
}

// limit refuses a sign-in whose limit is used up, and counts it if it fails.
func (l *signInLimit) limit(e *core.RecordAuthWithPasswordRequestEvent) error {
	subject := subjectOf(e)
	_, left, err := l.failed.RateLimitCtx(e.Request.Context(), subject, 0)
	if err != nil {
		return fmt.Errorf("reading the limit of sign-ins: %w", err)
	}
	if left.RetryAfter > 0 {
		l.warn(e)
		return e.TooManyRequestsError("", errors.New("too many failed sign-ins to this account"))
	}
	failure := e.Next()
	var refused *router.ApiError
	if errors.As(failure, &refused) && refused.Status == http.StatusBadRequest {
		_, _, err = l.failed.RateLimitCtx(e.Request.Context(), subject, 1)
	}
	return errors.Join(failure, err)
}

// subjectOf returns what a sign-in counts for: the account with its password, and an address that it knows. Unknown
// accounts have the same limit, so that it does not tell them from others.
func subjectOf(e *core.RecordAuthWithPasswordRequestEvent) string {
	if e.Record == nil {
		return e.Collection.Id + " " + strings.ToLower(e.Identity)
	}
	subject, network := e.Record.Id+" "+e.Record.TokenKey(), visitor.Of(e.RequestEvent)
	known, err := visitor.IsKnown(e.App, e.Record, network, time.Now())
	if err != nil { // as during an upgrade
		e.App.Logger().Error("cannot look for known addresses: those of a sign-in count as unknown", "error", err)
	}
	if known {
		subject += " " + network
	}
	return subject
}

// warn logs that a superuser is limited, once a minute.
func (l *signInLimit) warn(e *core.RecordAuthWithPasswordRequestEvent) {
	now, last := time.Now().Unix(), l.warned.Load()
	if e.Record == nil || !e.Record.IsSuperuser() ||
		now-last < int64(time.Minute/time.Second) || !l.warned.CompareAndSwap(last, now) {
		return
	}
	e.App.Logger().Warn("too many wrong passwords for a superuser: sign-ins are rejected for a while, except from "+
		"addresses of the last 30 days; the commands work meanwhile: contactbase superuser update EMAIL PASSWORD "+
		"sets another password and ends the limit, contactbase superuser upsert adds a superuser",
		"superuser", e.Record.Id, "address", visitor.Of(e.RequestEvent))
}

// rememberAddress remembers the address of a sign-in, however that was made. A refreshed token is none, and neither
// is the first of two factors.
func rememberAddress(e *core.RecordAuthRequestEvent) error {
	if err := e.Next(); err != nil || e.AuthMethod == "" {
		return err
	}
	if err := visitor.Remember(e.App, e.Record, visitor.Of(e.RequestEvent), time.Now()); err != nil {
		e.App.Logger().Error("cannot remember the address of a sign-in, which may count as unknown next time", "error", err)
	}
	return nil
}
