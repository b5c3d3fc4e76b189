// Package envelope reads the bodies of requests and writes the responses of our API: {"data": …} or {"error": …}.
package envelope

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	validation "github.com/pocketbase/ozzo-validation/v4"
	"github.com/pocketbase/pocketbase/core"
	"github.com/pocketbase/pocketbase/tools/router"

	"contactbase/internal/fault"
	"contactbase/internal/requests"
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
	fault.Rejected:             http.StatusBadRequest, // unless the fault has another
	fault.UnknownEncoding:      http.StatusBadRequest,
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
	fault.RequestTimeout:       http.StatusRequestTimeout,
	fault.IdempotencyKeyInUse:  http.StatusConflict,
	fault.InUse:                http.StatusConflict,
	fault.MergedContact:        http.StatusConflict,
	fault.Ambiguous:            http.StatusConflict,
	fault.KeyNotActive:         http.StatusConflict,
	fault.AlreadyAccepted:      http.StatusConflict,
	fault.TooManyRotations:     http.StatusConflict,
	fault.NotStored:            http.StatusConflict,
	fault.CursorExpired:        http.StatusGone,
	fault.InvitationExpired:    http.StatusGone,
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

// StatusOf returns the HTTP status of an error.
func StatusOf(f *fault.Error) int {
	status, known := statuses[f.Code]
	switch {
	case f.Status != 0:
		return f.Status
	case f.InBody:
		return http.StatusBadRequest
	case !known:
		return http.StatusInternalServerError
	default:
		return status
	}
}

// FaultOf returns the error as the client sees it.
func FaultOf(err error) *fault.Error {
	var known *fault.Error
	var fields fault.Fields
	var routed *router.ApiError
	var record validation.Errors
	if errors.As(err, &known) {
		return known
	}
	if errors.As(err, &fields) {
		return fault.InvalidContact(fields)
	}
	if temporary := TemporaryFault(err); temporary != nil {
		return temporary
	}
	switch {
	case errors.As(err, &routed):
		return routerFault(routed, err)
	case errors.As(err, &record):
		return invalidRecord(record)
	default:
		return internalFault(err)
	}
}

// invalidRecord translates the errors of a record, such as that of a field that an admin has added and made required.
func invalidRecord(faults validation.Errors) *fault.Error {
	fields := fault.Fields{}
	for name, wrong := range faults {
		code, message := fault.CodeInvalidValue, strings.TrimRight(wrong.Error(), ".")
		if coded := validation.Error(nil); errors.As(wrong, &coded) && coded.Code() == tenant.LimitReached {
			code, message = fault.CodeLimitReached, strings.TrimPrefix(message, "The tenant ")
		}
		fields[name] = fault.Field{Code: code, Message: message}
	}
	return fault.InvalidRequest(fields)
}

// routerFault translates PocketBase's own errors. A 400 that is not about the request's size or media type is a
// defect of ours: PocketBase turns any plain error into one.
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
		return &fault.Error{
			Code: fault.RateLimited, Message: "Too many requests. Wait and try again.", RetryAfter: time.Minute,
		}
	default:
		if raw, ok := routed.RawData().(error); ok { // such as a panic with its stack
			cause = raw
		}
		return internalFault(cause)
	}
}

func internalFault(cause error) *fault.Error {
	return &fault.Error{Code: fault.Internal, Message: "Something went wrong. " +
		"Quote the request ID when you ask for help; the log has the cause.", Cause: cause}
}

// Unavailable returns the fault of a request that may be repeated unchanged.
func Unavailable(message string, cause error) *fault.Error {
	return &fault.Error{Code: fault.Unavailable, Message: message, RetryAfter: time.Second, Cause: cause}
}

// InvalidJSON returns the error of a body that is not the JSON that the request needs.
func InvalidJSON(message string) *fault.Error { return fault.New(fault.InvalidJSON, message) }

// InvalidParameter returns the error of one query parameter or header.
func InvalidParameter(name, message string) *fault.Error {
	return fault.InvalidParameters(fault.Fields{name: {Code: fault.CodeInvalidValue, Message: message}})
}

// TemporaryFault returns the fault of a request that may be repeated unchanged, or nil if err is of another kind.
func TemporaryFault(err error) *fault.Error {
	switch {
	case tenant.IsMoving(err):
		return tenant.ErrMoving
	case isUnavailable(err):
		return Unavailable(
			"The service is busy, short of storage or shutting down. Nothing was written; try again shortly.", err,
		)
	default:
		return nil
	}
}

// isUnavailable reports whether the database could not be opened or written, or the server is stopping. PocketBase's
// own errors keep their cause outside the chain of wrapped errors.
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

// WriteFault answers with an error, in the envelope.
func WriteFault(e *core.RequestEvent, f *fault.Error) error {
	type body struct {
		Code      fault.Code   `json:"code"`
		Message   string       `json:"message"`
		RequestID string       `json:"requestId"`
		Fields    fault.Fields `json:"fields,omitempty"`
		Results   any          `json:"results,omitempty"`
	}
	encoded, err := wire.AppendJSON(nil,
		map[string]body{"error": {f.Code, f.Message, requests.ID(e), f.Fields, f.Results}})
	if err != nil {
		return err
	}
	WriteHeader(e, f)
	return e.Blob(StatusOf(f), "application/json", append(encoded, '\n')) // like PocketBase's responses
}

// WriteHeader sets the headers that belong to a fault.
func WriteHeader(e *core.RequestEvent, f *fault.Error) {
	header := e.Response.Header()
	if f.RetryAfter > 0 {
		header.Set("Retry-After", strconv.Itoa(WholeSeconds(f.RetryAfter)))
	}
	if f.Code == fault.MissingKey || f.Code == fault.InvalidKey {
		header.Set("Www-Authenticate", "Bearer")
	}
}

// WholeSeconds rounds up.
func WholeSeconds(d time.Duration) int { return int(math.Ceil(d.Seconds())) }

// WriteData answers 200 with data in the envelope.
func WriteData(e *core.RequestEvent, data any) error {
	encoded, err := json.Marshal(map[string]any{"data": data})
	if err != nil {
		return err
	}
	return e.Blob(http.StatusOK, "application/json", encoded)
}

// WriteResult is WriteData for the result of a call. It returns the error of the call, if any.
func WriteResult(e *core.RequestEvent, data any, err error) error {
	if err != nil {
		return err
	}
	return WriteData(e, data)
}

// WritePage writes a page of a list, which is an envelope itself. It returns the error of the call for it, if any.
func WritePage(e *core.RequestEvent, page any, err error) error {
	if err != nil {
		return err
	}
	return e.JSON(http.StatusOK, page)
}
