package contactbase

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"contactbase/clients/go/internal/api"
)

// The codes of errors that programs decide by. What to do about each is in the guide Errors and limits, at
// /docs/errors-and-limits of an installation.
const (
	CodeInvalidJSON            = "invalid_json"
	CodeValidationFailed       = "validation_failed"
	CodeInvalidParameter       = "invalid_parameter"
	CodeBatchFailed            = "batch_failed"
	CodeInvalidAction          = "invalid_action"
	CodeMissingAPIKey          = "missing_api_key"
	CodeInvalidAPIKey          = "invalid_api_key"
	CodeFeatureNotEnabled      = "feature_not_enabled"
	CodeInsufficientPermission = "insufficient_permission"
	CodeNotFound               = "not_found"
	CodeMethodNotAllowed       = "method_not_allowed"
	CodeIdempotencyKeyInUse    = "idempotency_key_in_use"
	CodeCursorExpired          = "cursor_expired"
	CodePreconditionFailed     = "precondition_failed"
	CodePayloadTooLarge        = "payload_too_large"
	CodeUnsupportedMediaType   = "unsupported_media_type"
	CodeIdempotencyKeyReused   = "idempotency_key_reused"
	CodeRateLimited            = "rate_limited"
	CodeInternalError          = "internal_error"
	CodeUnavailable            = "unavailable"
	CodeStandby                = "standby"
	CodeUnreplicated           = "unreplicated"
	CodeTenantMoving           = "tenant_moving"
)

// Error is what an installation answers to a call that it refuses.
type Error struct {
	Status     int    // of HTTP
	Code       string // what happened, for programs: empty where something else than an installation answered
	Message    string // what happened, for people
	RequestID  string // what the log of the installation is searched by
	Fields     map[string]FieldError
	Results    []BatchResult // with CodeBatchFailed
	RetryAfter time.Duration // how long to wait, 0 where that is not known
}

// FieldError is what is wrong with a field or a parameter.
type FieldError struct {
	Code    string // such as invalid_email
	Message string // for people
}

// Error returns all of the error in a line.
func (e *Error) Error() string {
	text := fmt.Sprintf("contactbase: %d %s", e.Status, e.Message)
	if e.Code != "" {
		text = fmt.Sprintf("contactbase: %d %s: %s", e.Status, e.Code, e.Message)
	}
	text += describe(e.Fields, e.Message)
	if e.RequestID != "" {
		text += " (request " + e.RequestID + ")"
	}
	return text
}

// describe returns what is wrong with the fields, except for what the message of the error says already.
func describe(fields map[string]FieldError, message string) string {
	var text strings.Builder
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		if wrong := fields[name].Message; !strings.Contains(message, name+": "+wrong) {
			fmt.Fprintf(&text, "; %s %s", name, wrong)
		}
	}
	return text.String()
}

// decode returns what the answer to a call says, or the error that it is.
func decode[T any](answer *http.Response, err error) (value T, header http.Header, _ error) {
	if err != nil {
		return value, nil, fmt.Errorf("contactbase: %w", err)
	}
	if answer.StatusCode < 200 || answer.StatusCode > 299 {
		return value, nil, errorOf(answer)
	}
	if err := json.NewDecoder(answer.Body).Decode(&value); err != nil {
		return value, nil, fmt.Errorf("contactbase: %s does not answer as an installation does: %w", answer.Request.URL.Host, err)
	}
	return value, answer.Header, nil
}

// errorOf returns the error of an answer, whose body can be read again afterwards.
func errorOf(answer *http.Response) *Error {
	found := &Error{
		Status: answer.StatusCode, Message: http.StatusText(answer.StatusCode),
		RequestID: answer.Header.Get("X-Request-Id"), RetryAfter: retryAfter(answer),
	}
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		return found
	}
	answer.Body = io.NopCloser(bytes.NewReader(body))
	var envelope api.ErrorResponse
	if err := json.Unmarshal(body, &envelope); err != nil || envelope.Error.Code == "" {
		return found
	}
	detail := envelope.Error
	found.Code, found.Message, found.RequestID = string(detail.Code), detail.Message, detail.RequestId
	found.Fields = fieldErrors(detail.Fields)
	if detail.Results != nil {
		found.Results = batchResults(*detail.Results)
	}
	return found
}

func fieldErrors(fields *api.FieldErrors) map[string]FieldError {
	if fields == nil {
		return nil
	}
	found := make(map[string]FieldError, len(*fields))
	for name, field := range *fields {
		found[name] = FieldError{string(field.Code), field.Message}
	}
	return found
}
