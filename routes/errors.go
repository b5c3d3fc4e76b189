package routes

import (
	"context"
	"errors"
	"math"
	"net/http"
	"strconv"
	"time"

	"github.com/pocketbase/pocketbase/core"
	"github.com/pocketbase/pocketbase/tools/router"

	"contactbase/internal/fault"
	"contactbase/internal/sqlite"
	"contactbase/internal/tenant"
	"contactbase/internal/wire"
)

// statuses has the HTTP status of every code.
var statuses = map[fault.Code]int{
	fault.InvalidJSON:          http.StatusBadRequest,
	fault.InvalidParameter:     http.StatusBadRequest,
	fault.ValidationFailed:     http.StatusBadRequest,
	fault.InvalidAction:        http.StatusBadRequest,
	fault.MappingTooCostly:     http.StatusBadRequest,
	fault.BatchFailed:          http.StatusBadRequest,
	fault.MissingKey:           http.StatusUnauthorized,
	fault.InvalidKey:           http.StatusUnauthorized,
	fault.InvalidToken:         http.StatusUnauthorized,
	fault.InvalidSignature:     http.StatusUnauthorized,
	fault.Unauthorized:         http.StatusUnauthorized,
	fault.Forbidden:            http.StatusForbidden,
	fault.FeatureNotEnabled:    http.StatusForbidden,
	fault.MissingPermission:    http.StatusForbidden,
	fault.NotFound:             http.StatusNotFound,
	fault.MethodNotAllowed:     http.StatusMethodNotAllowed,
	fault.IdempotencyKeyInUse:  http.StatusConflict,
	fault.InUse:                http.StatusConflict,
	fault.KeyNotActive:         http.StatusConflict,
	fault.CursorExpired:        http.StatusGone,
	fault.PreconditionFailed:   http.StatusPreconditionFailed,
	fault.PayloadTooLarge:      http.StatusRequestEntityTooLarge,
	fault.UnsupportedMediaType: http.StatusUnsupportedMediaType,
	fault.IdempotencyKeyReused: http.StatusUnprocessableEntity,
	fault.RateLimited:          http.StatusTooManyRequests,
	fault.Internal:             http.StatusInternalServerError,
	fault.Unavailable:          http.StatusServiceUnavailable,
	fault.Unreplicated:         http.StatusServiceUnavailable,
	fault.Standby:              http.StatusServiceUnavailable,
	fault.TenantMoving:         http.StatusServiceUnavailable,
}

func statusOf(f *fault.Error) int {
	status, known := statuses[f.Code]
	switch {
	case f.InBody:
		return http.StatusBadRequest
	case !known:
		return http.StatusInternalServerError
	default:
		return status
	}
}

// statusIn returns the status of the response to a request that ends with an error.
func statusIn(e *core.RequestEvent, err error) int {
	f := faultOf(err)
	if f.Code == fault.Internal && !ours(e.Request.URL.Path) { // where PocketBase treats any error as the client's mistake
		return router.ToApiError(err).Status
	}
	return statusOf(f)
}

// faultOf returns the error as the client sees it.
func faultOf(err error) *fault.Error {
	var known *fault.Error
	var fields fault.Fields
	var routed *router.ApiError
	switch {
	case errors.As(err, &known):
		return known
	case errors.As(err, &fields):
		return fault.InvalidContact(fields)
	case tenant.IsMoving(err):
		return tenant.ErrMoving
	case isUnavailable(err):
		return unavailable("The service is busy, short of storage or shutting down. Nothing was written; try again shortly.", err)
	case errors.As(err, &routed):
		return routerFault(routed, err)
	default:
		return internalFault(err)
	}
}

// routerFault translates PocketBase's own errors. A 400 that is not about the request's size or media type is a defect of ours:
// PocketBase turns any plain error into one.
func routerFault(routed *router.ApiError, cause error) *fault.Error {
	switch routed.Status {
	case http.StatusUnauthorized:
		return fault.New(fault.Unauthorized, "Sign in as a superuser and send the token in the Authorization header.")
	case http.StatusForbidden:
		return fault.New(fault.Forbidden, "Only a superuser may do this.")
	case http.StatusNotFound:
		return fault.New(fault.NotFound, "This path does not exist.")
	case http.StatusRequestEntityTooLarge:
		return fault.New(fault.PayloadTooLarge, "The request body is too large.")
	case http.StatusTooManyRequests:
		return &fault.Error{Code: fault.RateLimited, Message: "Too many requests. Wait and try again.", RetryAfter: time.Minute}
	default:
		if raw, ok := routed.RawData().(error); ok { // such as a panic with its stack
			cause = raw
		}
		return internalFault(cause)
	}
}

func internalFault(cause error) *fault.Error {
	return &fault.Error{Code: fault.Internal, Message: "Something went wrong. Quote the request ID when you ask for help; the log has the cause.", Cause: cause}
}

// unavailable returns the fault of a request that may be repeated unchanged.
func unavailable(message string, cause error) *fault.Error {
	return &fault.Error{Code: fault.Unavailable, Message: message, RetryAfter: time.Second, Cause: cause}
}

func invalidJSON(message string) *fault.Error { return fault.New(fault.InvalidJSON, message) }

func invalidParameter(name, message string) *fault.Error {
	return fault.InvalidParameters(fault.Fields{name: {Code: fault.CodeInvalidValue, Message: message}})
}

// isUnavailable reports whether the database could not be opened or written, or the server is stopping. PocketBase's own errors keep
// their cause outside the chain of wrapped errors.
func isUnavailable(err error) bool {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) || sqlite.IsUnavailable(err) {
		return true
	}
	var routed *router.ApiError
	if !errors.As(err, &routed) {
		return false
	}
	cause, ok := routed.RawData().(error)
	return ok && isUnavailable(cause)
}

// foreign translates an error outside our prefixes. PocketBase would report errors of the storage and of this package as the
// client's mistakes. Its own limits get our Retry-After; other errors stay unchanged.
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
		if !isUnavailable(err) && !tenant.IsMoving(err) {
			return err
		}
		known = faultOf(err)
	}
	writeHeader(e, known)
	return router.NewApiError(statusOf(known), known.Message, known.Cause)
}

// longestWindow returns the longest window of PocketBase's limits, in seconds. It does not say which limit was reached.
func longestWindow(rules []core.RateLimitRule) int64 {
	longest := int64(1)
	for _, rule := range rules {
		longest = max(longest, rule.Duration)
	}
	return longest
}

func writeFault(e *core.RequestEvent, f *fault.Error) error {
	type body struct {
		Code      fault.Code   `json:"code"`
		Message   string       `json:"message"`
		RequestID string       `json:"requestId"`
		Fields    fault.Fields `json:"fields,omitempty"`
		Results   any          `json:"results,omitempty"`
	}
	encoded, err := wire.AppendJSON(nil, map[string]body{"error": {f.Code, f.Message, requestID(e), f.Fields, f.Results}})
	if err != nil {
		return err
	}
	writeHeader(e, f)
	return e.Blob(statusOf(f), "application/json", append(encoded, '\n')) // like PocketBase's responses
}

// writeHeader sets the headers that belong to a fault.
func writeHeader(e *core.RequestEvent, f *fault.Error) {
	header := e.Response.Header()
	if f.RetryAfter > 0 {
		header.Set("Retry-After", strconv.Itoa(wholeSeconds(f.RetryAfter)))
	}
	if f.Code == fault.MissingKey || f.Code == fault.InvalidKey {
		header.Set("Www-Authenticate", "Bearer")
	}
}

func wholeSeconds(d time.Duration) int { return int(math.Ceil(d.Seconds())) }
