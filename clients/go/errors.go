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

// The error codes that programs can check. An installation describes them at /docs/errors-and-limits.
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
	CodeRequestTimeout         = "request_timeout"
	CodeIdempotencyKeyInUse    = "idempotency_key_in_use"
	CodeInUse                  = "in_use"
	CodeMergedContact          = "merged_contact"
	CodeAmbiguous              = "ambiguous"
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

// Error is the error response of an installation.
type Error struct {
	Status     int    // the HTTP status
	Code       string // for programs; empty if the response does not come from an installation
	Message    string // for people; its wording may change
	RequestID  string // identifies the request in the installation's log
	Fields     map[string]FieldError
	Results    []BatchResult // with CodeBatchFailed
	RetryAfter time.Duration // how long to wait, 0 if unknown
}

// FieldError is the error of a field or a parameter.
type FieldError struct {
	Code    string // such as invalid_email
	Message string // for people
}

// Error returns the whole error on one line.
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

// describe returns the errors of the fields that the error's message does not mention.
func describe(fields map[string]FieldError, message string) string {
	var text strings.Builder
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		if wrong := fields[name].Message; !strings.Contains(message, name+": "+wrong) {
			fmt.Fprintf(&text, "; %s %s", name, wrong)
		}
	}
	return text.String()
}

// decode returns the decoded response, or its error.
func decode[T any](answer *http.Response, err error) (value T, header http.Header, _ error) {
	if err != nil {
		return value, nil, fmt.Errorf("contactbase: %w", err)
	}
	if answer.StatusCode < 200 || answer.StatusCode > 299 {
		return value, nil, errorOf(answer)
	}
	if err := json.NewDecoder(answer.Body).Decode(&value); err != nil {
		return value, nil, fmt.Errorf("contactbase: %s does not answer as an installation does: %w",
			answer.Request.URL.Host, err)
	}
	return value, answer.Header, nil
}

// errorOf returns the error of a response. Its body can be read again afterwards.
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
