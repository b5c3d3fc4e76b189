package member

import (
	"errors"
	"net/http"
	"strings"

	"contactbase/internal/order"

	"github.com/pocketbase/pocketbase/apis"
	"github.com/pocketbase/pocketbase/core"
	"github.com/pocketbase/pocketbase/tools/hook"
	"github.com/prometheus/client_golang/prometheus"
)

// The results of sign-ins, and the events of portal links, as labels.
const (
	resultSucceeded = "succeeded"
	resultFailed    = "failed"
	resultLimited   = "limited"

	linkCreated = "created"
	linkOpened  = "opened"
	linkRevoked = "revoked"
)

// signInRoute starts the pattern of the routes to sign in. The method follows: password, otp or oauth2.
const signInRoute = "POST /api/collections/{collection}/auth-with-"

// NewMetrics returns the metrics of sign-ins and of portal links. They count what happens in this process from now on.
func NewMetrics(app core.App) []prometheus.Collector {
	signIns := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "contactbase_member_sign_ins_total",
		Help: "Sign-ins of members, by method: password, otp or oauth2, and result: succeeded, failed or limited.",
	}, []string{"method", "result"})
	links := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "contactbase_portal_links_total",
		Help: "Portal links, by event: created, opened in the portal, or revoked before they expired.",
	}, []string{"event"})
	for _, event := range []string{linkCreated, linkOpened, linkRevoked} {
		links.WithLabelValues(event) // 0 before the first
	}
	for _, method := range []string{core.MFAMethodPassword, core.MFAMethodOTP, core.MFAMethodOAuth2} {
		for _, result := range []string{resultSucceeded, resultFailed, resultLimited} {
			signIns.WithLabelValues(method, result)
		}
	}
	app.OnServe().BindFunc(func(e *core.ServeEvent) error {
		e.Router.Bind(countSignIns(signIns))
		return e.Next()
	})
	bindLinkCounter(app, links)
	return []prometheus.Collector{signIns, links}
}

// SignInsID is the id of the middleware that counts sign-ins, for routes that unbind it.
const SignInsID = "contactbaseCountSignIns"

// countSignIns counts sign-ins, also those that PocketBase refuses before it calls a hook.
func countSignIns(signIns *prometheus.CounterVec) *hook.Handler[*core.RequestEvent] {
	return &hook.Handler[*core.RequestEvent]{
		Id:       SignInsID,
		Priority: order.SignInsCounted,
		Func: func(e *core.RequestEvent) error {
			method, isSignIn := strings.CutPrefix(e.Request.Pattern, signInRoute)
			if !isSignIn {
				return e.Next()
			}
			err := e.Next()
			collection, _ := e.App.FindCachedCollectionByNameOrId(e.Request.PathValue("collection"))
			// a second method has to follow
			if collection == nil || collection.Name != CollectionName || errors.Is(err, apis.ErrMFA) {
				return err
			}
			result := resultSucceeded
			if err != nil {
				result = resultFailed
			}
			if err != nil && apis.ToApiError(err).Status == http.StatusTooManyRequests {
				result = resultLimited
			}
			signIns.WithLabelValues(method, result).Inc()
			return err
		},
	}
}

func bindLinkCounter(app core.App, links *prometheus.CounterVec) {
	count := func(event string) func(e *core.RecordEvent) error {
		return func(e *core.RecordEvent) error {
			if IsLink(e.Record) {
				links.WithLabelValues(event).Inc()
			}
			return e.Next()
		}
	}
	app.OnRecordAfterCreateSuccess(CollectionName).BindFunc(count(linkCreated))
	app.OnRecordAfterDeleteSuccess(CollectionName).BindFunc(count(linkRevoked))
	app.OnRecordViewRequest(CollectionName).BindFunc(func(e *core.RecordRequestEvent) error {
		if Is(e.Auth) && e.Auth.Id == e.Record.Id && IsLink(e.Auth) { // the portal begins with this request
			links.WithLabelValues(linkOpened).Inc()
		}
		return e.Next()
	})
}
