package integrations

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/member"
	"contactbase/internal/sqlite"
)

// credentialInterval is how often a request that works for long looks whether its credential is still valid.
const credentialInterval = time.Second / 4

// whileSignedIn returns a context that ends with the request, and soon after the caller's token ends or the member
// may no longer do what only admins may. The cause is then the error of a request without a valid token. The
// caller calls stop.
func whileSignedIn(e *core.RequestEvent) (ctx context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(e.Request.Context())
	app, token := e.App, tokenOf(e.Request) // the request is replaced when its handler returns
	if err := confirmToken(app, token); err != nil {
		cancel(err)
		return ctx, func() {}
	}
	go func() {
		ticker := time.NewTicker(credentialInterval)
		defer ticker.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
				if err := confirmToken(app, token); err != nil {
					cancel(err)
				}
			}
		}
	}()
	return ctx, func() { cancel(nil) }
}

// tokenOf returns the token of an account, with or without the scheme Bearer in front.
func tokenOf(r *http.Request) string {
	token := r.Header.Get("Authorization")
	if scheme, rest, ok := strings.Cut(token, " "); ok && strings.EqualFold(scheme, "Bearer") {
		return rest
	}
	return token
}

// confirmToken repeats the checks of an admin's token: PocketBase's, which look at its end and at the record, and
// that of the role.
func confirmToken(app core.App, token string) error {
	present, err := app.FindAuthRecordByToken(token, core.TokenTypeAuth)
	switch {
	case err == nil && member.HasEnded(present, time.Now()):
		return errNotSignedIn
	case err == nil && member.Is(present) && !member.IsAdmin(present):
		return errNotAdmin
	case err == nil:
		return nil
	case sqlite.IsUnavailable(err):
		return fmt.Errorf("reading a member: %w", err)
	default:
		return errNotSignedIn
	}
}
