package routes

import (
	"cmp"
	"errors"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/pocketbase/pocketbase/core"
	"github.com/pocketbase/pocketbase/tools/hook"
	"github.com/pocketbase/pocketbase/tools/router"
	"github.com/pocketbase/pocketbase/tools/security"

	"contactbase/internal/credential"
	"contactbase/internal/fault"
	"contactbase/internal/order"
	"contactbase/internal/requests"
	"contactbase/routes/envelope"
)

type group struct {
	*router.RouterGroup[*core.RequestEvent]
}

// saneRequestID matches request ids that clients may choose, unless they hold a credential: they are written to logs,
// tables and headers.
var (
	saneRequestID   = regexp.MustCompile(`^[A-Za-z0-9._~:/+=@-]{1,128}$`)
	holdsCredential = regexp.MustCompile(
		credential.KeyPrefix + "|" + credential.TokenPrefix + "|" + credential.InvitationPrefix)
)

// request is the begin and the end of each request. It gives every response below our prefixes a request id and every
// error the envelope, and keeps credentials out of the request log. Elsewhere, errors look like PocketBase's. It runs
// outside PocketBase's panic recovery and inside its request log, and therefore still returns the error that it has
// answered.
func (s *server) request() *hook.Handler[*core.RequestEvent] {
	return &hook.Handler[*core.RequestEvent]{
		Id:       "contactbaseRequest",
		Priority: order.RequestsBegun,
		Func: func(e *core.RequestEvent) error {
			if !ours(e.Request.URL.Path) {
				sent := sentBody(e)
				err := s.serve(e)
				if sent != nil && err != nil { // PocketBase reports it as an invalid request
					err = cmp.Or(sent.Err(), err)
				}
				return foreign(e, err)
			}
			id := e.Request.Header.Get(requests.IDHeader)
			if !saneRequestID.MatchString(id) || holdsCredential.MatchString(id) {
				id = security.PseudorandomString(20)
			}
			e.Response.Header().Set(requests.IDHeader, id)
			forbidCaching(e)
			err := s.serve(e)
			if err != nil && !e.Written() {
				err = s.answerError(e, err)
			}
			redact(e)
			return err
		},
	}
}

// serve runs the rest of a request, unless the program stops or is upgraded.
func (s *server) serve(e *core.RequestEvent) error {
	if !s.drain.begin() {
		e.Response.Header().Set("Connection", "close")
		return envelope.Unavailable("The service is shutting down. Try again shortly.", nil)
	}
	if strings.HasPrefix(e.Request.URL.Path, "/api/realtime") { // open as long as its page
		s.drain.end()
	} else {
		defer s.drain.end()
	}
	if s.ReadOnly() {
		return s.readOnly(e)
	}
	return s.next(e)
}

// next runs the rest of a request. With a replica, the response waits for it.
func (s *server) next(e *core.RequestEvent) error {
	if s.Replica != nil {
		return s.acknowledge(e)
	}
	return e.Next()
}

// forbidCaching prevents caches from storing responses: they hold personal data and depend on the caller.
func forbidCaching(e *core.RequestEvent) {
	header := e.Response.Header()
	header.Set("Cache-Control", "no-store")
	if below(externalPrefix, e.Request.URL.Path) {
		header.Set("Vary", "Authorization, X-API-Key")
	}
}

func ours(path string) bool { return prefixOf(path) != "" }

// prefixOf returns our prefix of a path, "" if none.
func prefixOf(path string) string {
	for _, prefix := range []string{externalPrefix, inboundPrefix, adminPrefix, mcpPrefix} {
		if below(prefix, path) {
			return prefix
		}
	}
	return ""
}

func below(prefix, path string) bool { return path == prefix || strings.HasPrefix(path, prefix+"/") }

// answerError writes the envelope, and returns the error as the request log should show it.
func (s *server) answerError(e *core.RequestEvent, err error) error {
	// a method that no group of routes has reaches PocketBase's last route, which allows any origin
	for name := range e.Response.Header() {
		if strings.HasPrefix(name, "Access-Control-") {
			e.Response.Header().Del(name)
		}
	}
	f := envelope.FaultOf(err)
	var routed *router.ApiError
	if errors.As(err, &routed) && routed.Status == http.StatusNotFound {
		f = s.unrouted(e)
	}
	requests.SetCode(e, string(f.Code))
	if f.Code == fault.InvalidParameter {
		requests.SetParameters(e, slices.Collect(maps.Keys(f.Fields)))
	}
	if writeErr := envelope.WriteFault(e, f); writeErr != nil {
		return errors.Join(err, writeErr)
	}
	return router.NewApiError(envelope.StatusOf(f),
		string(f.Code)+": "+f.Error(), map[string]any{"requestId": requests.ID(e)})
}

// unknown answers a request below our prefixes that matches no route.
func (s *server) unknown(e *core.RequestEvent) error { return s.unrouted(e) }

// unrouted tells an unknown path from an unsupported method: PocketBase's router only knows the path.
func (s *server) unrouted(e *core.RequestEvent) *fault.Error {
	notFound := fault.New(fault.NotFound, "This path does not exist.")
	verdict, pattern := s.known.Handler(e.Request)
	if pattern != "" {
		return notFound
	}
	answer := httptest.NewRecorder()
	verdict.ServeHTTP(answer, e.Request)
	if answer.Code != http.StatusMethodNotAllowed {
		return notFound
	}
	allow := answer.Header().Get("Allow")
	e.Response.Header().Set("Allow", allow)
	return fault.New(fault.MethodNotAllowed, "This path supports "+allow+".")
}

// redact replaces the request before it is logged: a token in the path is a credential, and a search query
// holds personal data.
func redact(e *core.RequestEvent) {
	path := e.Request.URL.Path
	if rest, ok := strings.CutPrefix(path, inboundPrefix+"/"); ok && rest != "" {
		path = inboundPrefix + "/[redacted]"
	}
	request := e.Request.WithContext(e.Request.Context()) // a shallow copy
	request.URL = &url.URL{Path: path}
	request.RequestURI = path
	if request.Header.Get("Referer") != "" {
		request.Header = request.Header.Clone()
		request.Header.Del("Referer")
	}
	e.Request = request
}

// foreign translates an error outside our prefixes. PocketBase would report errors of the storage and of this package
// as the client's mistakes. Its own limits get our Retry-After; other errors stay unchanged.
func foreign(e *core.RequestEvent, err error) error {
	if err == nil || e.Written() {
		return err
	}
	var routed *router.ApiError
	if errors.As(err, &routed) && routed.Status == http.StatusTooManyRequests {
		e.Response.Header().Set("Retry-After", strconv.FormatInt(longestWindow(e.App.Settings().RateLimits.Rules), 10))
		return err
	}
	var known *fault.Error
	if !errors.As(err, &known) {
		if known = envelope.TemporaryFault(err); known == nil {
			return err
		}
	}
	if known.Code == fault.RateLimited {
		return answerLimited(e, known)
	}
	envelope.WriteHeader(e, known)
	return router.NewApiError(envelope.StatusOf(known), known.Message, known.Cause)
}

// longestWindow returns the longest window of PocketBase's limits, in seconds. It does not say which limit was reached.
func longestWindow(rules []core.RateLimitRule) int64 {
	longest := int64(1)
	for _, rule := range rules {
		longest = max(longest, rule.Duration)
	}
	return longest
}
