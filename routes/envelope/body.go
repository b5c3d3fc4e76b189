package envelope

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/body"
	"contactbase/internal/charset"
	"contactbase/internal/fault"
	"contactbase/internal/wire"
)

// MaxUserBody is the largest body of members, and of records of other auth collections, in bytes.
const MaxUserBody = 1 << 20

// ErrNotUTF8 is the error of a body that is not UTF-8.
var ErrNotUTF8 = InvalidJSON("The request body must be valid UTF-8.")

// ReadBody reads the body of the request up to limit bytes. It may be called again.
func ReadBody(e *core.RequestEvent, limit int64) ([]byte, error) {
	raw, err := body.Of(e.Request).Bytes(e.Request.Context(), limit)
	return raw, ReadError(err)
}

// ReadError returns the fault of a body that could not be read, nil without a cause.
func ReadError(cause error) error {
	if known := (*fault.Error)(nil); cause == nil || errors.As(cause, &known) || errors.Is(cause, context.Canceled) {
		return cause
	}
	return &fault.Error{
		Code: fault.InvalidJSON, Message: "The request body ended early. Send the request again.", Cause: cause,
	}
}

// ReadJSON reads a body that is one JSON object. Numbers stay json.Number.
func ReadJSON(e *core.RequestEvent, limit int64) (raw []byte, object map[string]any, _ error) {
	if err := CheckJSON(e); err != nil {
		return nil, nil, err
	}
	raw, err := ReadBody(e, limit)
	if err != nil {
		return nil, nil, err
	}
	raw = wire.WithoutMark(raw)
	object, err = DecodeObject(raw)
	return raw, object, err
}

// Property is a property of a request's object.
type Property struct {
	Name     string
	Required bool
	Rule     string               // continues the name: "must be …"
	Read     func(value any) bool // stores the value, and reports whether it is valid
}

// As returns the Read of a property of the type T.
func As[T any](into *T) func(value any) bool {
	return func(value any) (ok bool) {
		*into, ok = value.(T)
		return ok
	}
}

// ReadProperties reads the properties of an object, and returns the errors in them.
func ReadProperties(object map[string]any, known ...Property) fault.Fields {
	faults := fault.Fields{}
	for name := range object {
		if !slices.ContainsFunc(known, func(p Property) bool { return p.Name == name }) {
			faults[name] = fault.Field{Code: fault.CodeUnknownField, Message: "is not a property of this request"}
		}
	}
	for _, p := range known {
		if value, sent := object[p.Name]; sent && !p.Read(value) {
			faults[p.Name] = fault.Field{Code: fault.CodeInvalidValue, Message: p.Rule}
		} else if !sent && p.Required {
			faults[p.Name] = fault.Field{Code: fault.CodeRequired, Message: "is required"}
		}
	}
	return faults
}

// CheckJSON returns an error unless the request declares JSON in UTF-8, without compression.
func CheckJSON(e *core.RequestEvent) error {
	mediaType, params, err := mime.ParseMediaType(e.Request.Header.Get("Content-Type"))
	switch isJSON := mediaType == "application/json" || strings.HasSuffix(mediaType, "+json"); {
	case err != nil || !isJSON:
		return fault.New(fault.UnsupportedMediaType, "Send the body as JSON in UTF-8, with Content-Type: application/json.")
	case !charset.IsUTF8(params["charset"]):
		return fault.New(fault.UnsupportedMediaType, fmt.Sprintf(
			"The charset %.40q is not supported. Send the body as JSON in UTF-8.", params["charset"]))
	}
	return CheckEncoding(e)
}

// CheckEncoding returns an error if the body is compressed. The response says what is accepted (RFC 9110, 15.5.16).
func CheckEncoding(e *core.RequestEvent) error {
	encoding := strings.Join(e.Request.Header.Values("Content-Encoding"), ", ")
	if encoding == "" || strings.EqualFold(encoding, "identity") {
		return nil
	}
	e.Response.Header().Set("Accept-Encoding", "identity")
	return fault.New(fault.UnsupportedMediaType,
		fmt.Sprintf("The Content-Encoding %.40q is not supported. Send the body without compression.", encoding))
}

// DecodeObject decodes a body that is one JSON object. Numbers stay json.Number.
func DecodeObject(raw []byte) (map[string]any, error) {
	if !utf8.Valid(raw) {
		return nil, ErrNotUTF8
	}
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	var value any
	err := decoder.Decode(&value)
	if errors.Is(err, io.EOF) {
		return nil, InvalidJSON("The request body is empty. Send a JSON object.")
	}
	if err != nil {
		return nil, InvalidJSON("The request body is not valid JSON: " + err.Error() + ".")
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, InvalidJSON("The request body must be a single JSON value.")
	}
	object, ok := value.(map[string]any)
	if !ok {
		return nil, InvalidJSON("The request body must be a JSON object.")
	}
	return object, nil
}
