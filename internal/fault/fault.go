// Package fault defines the error that a client receives: a code for programs, a sentence for people, and the invalid
// fields. Any other error is a defect of this program or of what it runs on.
package fault

import (
	"maps"
	"slices"
	"strings"
	"time"
)

// Code tells programs what is wrong. A code never changes its meaning.
type Code string

// The codes, by HTTP status.
const (
	InvalidJSON          Code = "invalid_json" // 400
	InvalidParameter     Code = "invalid_parameter"
	ValidationFailed     Code = "validation_failed"
	InvalidAction        Code = "invalid_action"
	MappingTooCostly     Code = "mapping_too_costly"
	BatchFailed          Code = "batch_failed"
	Rejected             Code = "rejected" // by an extension, with a status of its own
	UnknownEncoding      Code = "unknown_encoding"
	MissingKey           Code = "missing_api_key" // 401
	InvalidKey           Code = "invalid_api_key"
	InvalidToken         Code = "invalid_token"
	InvalidSignature     Code = "invalid_signature"
	Unauthorized         Code = "unauthorized"
	Forbidden            Code = "forbidden" // 403
	FeatureNotEnabled    Code = "feature_not_enabled"
	MissingPermission    Code = "insufficient_permission"
	NotFound             Code = "not_found"              // 404
	MethodNotAllowed     Code = "method_not_allowed"     // 405
	RequestTimeout       Code = "request_timeout"        // 408
	IdempotencyKeyInUse  Code = "idempotency_key_in_use" // 409
	InUse                Code = "in_use"
	MergedContact        Code = "merged_contact"
	Ambiguous            Code = "ambiguous"
	KeyNotActive         Code = "key_not_active"
	AlreadyAccepted      Code = "already_accepted"
	TooManyRotations     Code = "too_many_rotations"
	NotStored            Code = "not_stored"
	CursorExpired        Code = "cursor_expired" // 410
	InvitationExpired    Code = "invitation_expired"
	PreconditionFailed   Code = "precondition_failed"    // 412
	PayloadTooLarge      Code = "payload_too_large"      // 413
	UnsupportedMediaType Code = "unsupported_media_type" // 415
	IdempotencyKeyReused Code = "idempotency_key_reused" // 422
	RateLimited          Code = "rate_limited"           // 429
	Internal             Code = "internal_error"         // 500
	Unavailable          Code = "unavailable"            // 503
	Unreplicated         Code = "unreplicated"
	Standby              Code = "standby"
	TenantMoving         Code = "tenant_moving"
)

// IsPlanned reports whether the operator caused the refusal, so that the server has not failed.
func (c Code) IsPlanned() bool { return c == TenantMoving }

// Error is an error for the client. Its JSON is that of the response.
type Error struct {
	Code       Code          `json:"code"`
	Message    string        `json:"message"`          // a sentence that says what to do
	Fields     Fields        `json:"fields,omitempty"` // the invalid fields, nil for none
	Results    any           `json:"-"`                // the result of each part of the request, nil if it has one part
	Status     int           `json:"-"`                // of the response; 0 for that of the code
	InBody     bool          `json:"-"`                // the body, not the path, names what was not found
	RetryAfter time.Duration `json:"-"`                // when the same request may succeed, 0 if unknown
	Cause      error         `json:"-"`                // for the log, never for the client; nil for none
}

// New returns an error without fields.
func New(code Code, message string) *Error { return &Error{Code: code, Message: message} }

// InvalidField returns an error with one invalid field. The message continues the field's name.
func InvalidField(name, code, message string) *Error {
	return InvalidRequest(Fields{name: {Code: code, Message: message}})
}

// InvalidRequest returns the error of a request with invalid properties.
func InvalidRequest(fields Fields) *Error {
	return &Error{Code: ValidationFailed, Message: "The request is invalid: " + fields.Error() + ".", Fields: fields}
}

// InvalidContact returns the error of a contact with invalid fields.
func InvalidContact(fields Fields) *Error {
	return &Error{Code: ValidationFailed, Message: "The contact is invalid: " + fields.Error() + ".", Fields: fields}
}

// InvalidParameters returns the error of a request with invalid parameters or headers.
func InvalidParameters(fields Fields) *Error {
	return &Error{Code: InvalidParameter, Message: "A parameter of the request is invalid: " +
		fields.Error() + ".", Fields: fields}
}

// Error returns the message, followed by the cause.
func (e *Error) Error() string {
	if e.Cause == nil {
		return e.Message
	}
	return e.Message + " (" + e.Cause.Error() + ")"
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Cause }

// The codes of an invalid parameter or property, for any resource.
const (
	CodeRequired            = "required"
	CodeTooLong             = "too_long"
	CodeInvalidType         = "invalid_type"
	CodeInvalidValue        = "invalid_value"
	CodeInvalidCharacters   = "invalid_characters"
	CodeInvalidEmail        = "invalid_email"
	CodeInvalidPhone        = "invalid_phone"
	CodeUnknownField        = "unknown_field"
	CodeUnknownParameter    = "unknown_parameter"
	CodeDuplicateExternalID = "duplicate_external_id"
	CodeLimitReached        = "limit_reached"
)

// Field describes an error in a field of a request. The message continues the field's name: "must be …".
type Field struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

// Fields maps field names to the errors in them. It is an error for the code that knows the kind of request, and
// turns it into an Error.
type Fields map[string]Field

// Error lists the invalid fields.
func (f Fields) Error() string {
	parts, same := make([]string, 0, len(f)), map[string][]string{}
	names := slices.Sorted(maps.Keys(f))
	for _, name := range names {
		same[f[name].Message] = append(same[f[name].Message], name)
	}
	for _, name := range names {
		if fields := same[f[name].Message]; fields[0] == name {
			parts = append(parts, strings.Join(fields, ", ")+": "+f[name].Message)
		}
	}
	return strings.Join(parts, "; ")
}
