package routes

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"

	"github.com/pocketbase/pocketbase/core"
	"github.com/pocketbase/pocketbase/tools/router"

	"contactbase/internal/contact"
	"contactbase/internal/credential"
	"contactbase/internal/idempotency"
	"contactbase/internal/sqlite"
)

// apiError is an answer of the error envelope. Its cause goes to the log, never to the caller.
type apiError struct {
	status  int
	code    string
	message string
	fields  contact.FieldErrors
	header  http.Header
	cause   error
}

// Error words the error for the log.
func (e *apiError) Error() string {
	text := e.code + ": " + e.message
	if e.cause != nil {
		text += " (" + e.cause.Error() + ")"
	}
	return text
}

// Unwrap returns the cause.
func (e *apiError) Unwrap() error { return e.cause }

func invalidJSON(message string) *apiError {
	return &apiError{status: http.StatusBadRequest, code: "invalid_json", message: message}
}

func invalidParameters(fields contact.FieldErrors) *apiError {
	return &apiError{
		status:  http.StatusBadRequest,
		code:    "invalid_parameter",
		message: "A parameter of the request is invalid: " + fields.Error() + ".",
		fields:  fields,
	}
}

// toAPIError is the one place where errors become statuses and codes.
func toAPIError(err error) *apiError {
	var known *apiError
	var fields contact.FieldErrors
	var routed *router.ApiError
	switch {
	case errors.As(err, &known):
		return known
	case errors.As(err, &fields):
		return &apiError{status: 400, code: "validation_failed", message: "The contact is invalid: " + fields.Error() + ".", fields: fields}
	case errors.Is(err, contact.ErrNotFound):
		return &apiError{status: 404, code: "not_found", message: "There is no such contact."}
	case errors.Is(err, contact.ErrPreconditionFailed):
		return &apiError{status: 412, code: "precondition_failed", message: "The contact has changed since it was read; read it again."}
	case errors.Is(err, credential.ErrInvalidKey), errors.Is(err, contact.ErrNoTenant):
		return &apiError{
			status: 401, code: "invalid_api_key", message: "The API key is unknown, revoked or expired.",
			header: http.Header{"Www-Authenticate": {"Bearer"}},
		}
	case errors.Is(err, idempotency.ErrReused):
		return &apiError{status: 422, code: "idempotency_key_reused", message: "The Idempotency-Key was used with another request; send a new key."}
	case isUnavailable(err):
		return unavailable("The service is busy, short of storage or shutting down: nothing was written; try again shortly.", err)
	case errors.As(err, &routed):
		return routerError(routed, err)
	default:
		return internalError(err)
	}
}

func internalError(cause error) *apiError {
	return &apiError{status: 500, code: "internal_error", message: "Something went wrong here; the request id helps to find it in the log.", cause: cause}
}

// unavailable is the answer to a request that may be repeated as it is.
func unavailable(message string, cause error) *apiError {
	return &apiError{
		status: http.StatusServiceUnavailable, code: "unavailable", message: message,
		header: http.Header{"Retry-After": {"1"}}, cause: cause,
	}
}

// isUnavailable tells a database that could not be had or written, or a server that is going down, from a defect.
// PocketBase's own errors keep their cause beside the chain of wrapped errors.
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

// foreign words an error outside of our prefixes as PocketBase does, which would take those of the storage and of this
// package for mistakes of the caller. Other errors stay as they are; its own limits get the header that ours have.
func foreign(e *core.RequestEvent, err error) error {
	if err == nil || e.Written() {
		return err
	}
	var routed *router.ApiError
	if errors.As(err, &routed) && routed.Status == http.StatusTooManyRequests {
		e.Response.Header().Set("Retry-After", strconv.FormatInt(longestWindow(e.App.Settings().RateLimits.Rules), 10))
		return err
	}
	var fault *apiError
	if !errors.As(err, &fault) {
		if !isUnavailable(err) {
			return err
		}
		fault = toAPIError(err)
	}
	fault.writeHeader(e)
	return router.NewApiError(fault.status, fault.message, fault.cause)
}

// routerError words PocketBase's own errors. Those of status 400 that are not about the request's size or media
// type are defects of ours: PocketBase turns any plain error into one.
func routerError(routed *router.ApiError, cause error) *apiError {
	switch routed.Status {
	case http.StatusUnauthorized:
		return &apiError{status: 401, code: "unauthorized", message: "Sign in as a superuser and send the token in the Authorization header."}
	case http.StatusForbidden:
		return &apiError{status: 403, code: "forbidden", message: "Only a superuser may do this."}
	case http.StatusNotFound:
		return &apiError{status: 404, code: "not_found", message: "There is nothing at this address."}
	case http.StatusRequestEntityTooLarge:
		return tooLarge("The request body is too large.")
	case http.StatusTooManyRequests:
		return &apiError{
			status: 429, code: "rate_limited", message: "Too many requests; wait and try again.",
			header: http.Header{"Retry-After": {"60"}},
		}
	default:
		if raw, ok := routed.RawData().(error); ok { // such as a panic, with where it was
			cause = raw
		}
		return internalError(cause)
	}
}

// longestWindow is after how many seconds each of PocketBase's limits begins anew. It does not tell which one was met.
func longestWindow(rules []core.RateLimitRule) int64 {
	longest := int64(1)
	for _, rule := range rules {
		longest = max(longest, rule.Duration)
	}
	return longest
}

func tooLarge(message string) *apiError {
	return &apiError{status: http.StatusRequestEntityTooLarge, code: "payload_too_large", message: message}
}

// write sends the error envelope.
func (e *apiError) write(event *core.RequestEvent) error {
	type body struct {
		Code      string              `json:"code"`
		Message   string              `json:"message"`
		RequestID string              `json:"requestId"`
		Fields    contact.FieldErrors `json:"fields,omitempty"`
	}
	var encoded bytes.Buffer
	encoder := json.NewEncoder(&encoded)
	encoder.SetEscapeHTML(false) // a person reads it, and no browser as HTML
	if err := encoder.Encode(map[string]body{"error": {e.code, e.message, requestID(event), e.fields}}); err != nil {
		return err
	}
	e.writeHeader(event)
	return event.Blob(e.status, "application/json", encoded.Bytes())
}

func (e *apiError) writeHeader(event *core.RequestEvent) {
	header := event.Response.Header()
	for name, values := range e.header {
		header[name] = values
	}
}
