package webhook

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/textproto"
	"slices"
	"strings"

	validation "github.com/pocketbase/ozzo-validation/v4"
	"github.com/pocketbase/pocketbase/core"
	"golang.org/x/net/http/httpguts"

	"contactbase/internal/secret"
)

// A webhook's custom headers may hold a receiver's token. A client writes them to the field headers; sealedHeaders
// keeps them, sealed like a secret, as a JSON object of strings.
const (
	headersField       = "headers"
	sealedHeadersField = "sealedHeaders"

	maxHeaders      = 20
	maxHeadersBytes = 16 << 10 // of the JSON object
)

// reservedHeaders are set by the sender or belong to the connection. Expect would make each delivery wait for a second.
var reservedHeaders = []string{
	"Connection", "Content-Encoding", "Content-Length", "Content-Type",
	"Expect", "Host", "Te", "Trailer", "Transfer-Encoding",
	"Upgrade", "User-Agent", "Webhook-Id", "Webhook-Signature", "Webhook-Timestamp", "X-Attempt", "X-Delivery", "X-Event",
	"X-Signature",
}

// isReserved reports whether a webhook cannot have a header of that canonical name. Those of NATS are commands
// to its server, for example to replace a stream's messages; a proxy takes its own away, and a receiver must not
// see its password.
func isReserved(name string) bool {
	return slices.Contains(reservedHeaders, name) ||
		strings.HasPrefix(name, "Nats-") || strings.HasPrefix(name, "Proxy-")
}

// SealHeaders checks the headers that a client has set in a webhook's record, and seals them. They replace the stored
// ones; a header with the value null keeps its stored value. Without headers in the record the stored ones stay. The
// error is a validation.Errors if the headers are invalid.
func SealHeaders(app core.App, record *core.Record) error {
	raw := record.GetString(headersField)
	if raw == "" || raw == "null" {
		return nil
	}
	stored, err := openHeaders(app, record.GetString(sealedHeadersField))
	if err != nil {
		return err
	}
	headers, fault := parseHeaders(raw, stored)
	if fault != "" {
		return validation.Errors{headersField: validation.NewError("validation_invalid_headers", fault)}
	}
	sealed := ""
	if len(headers) > 0 {
		plain, err := json.Marshal(headers)
		if err != nil {
			return err
		}
		if sealed, err = secret.Seal(app, string(plain)); err != nil {
			return fmt.Errorf("encrypting the headers of a webhook: %w", err)
		}
	}
	record.Set(sealedHeadersField, sealed)
	record.Set(headersField, nil)
	return nil
}

// parseHeaders returns the headers of a JSON object, or the errors in it.
func parseHeaders(raw string, stored map[string]string) (headers map[string]string, fault string) {
	var sent map[string]*string
	if json.Unmarshal([]byte(raw), &sent) != nil {
		return nil, `The headers must be a JSON object of strings, such as {"Authorization": "Bearer …"}.`
	}
	if len(sent) > maxHeaders || len(raw) > maxHeadersBytes {
		return nil, fmt.Sprintf("A webhook can have at most %d headers of its own, %d KiB in total.",
			maxHeaders, maxHeadersBytes>>10)
	}
	headers, seen := make(map[string]string, len(sent)), map[string]bool{}
	for name, value := range sent {
		canonical, stays := textproto.CanonicalMIMEHeaderKey(name), value == nil
		if stays {
			kept, found := stored[name]
			if !found {
				return nil, fmt.Sprintf("The header %q has no stored value: "+
					"enter its value. A new address removes the stored values.", name)
			}
			value = &kept
		}
		switch {
		case !httpguts.ValidHeaderFieldName(name):
			return nil, fmt.Sprintf("%q is not a valid header name.", name)
		case seen[canonical]:
			return nil, fmt.Sprintf("The header %q appears twice; header names ignore case.", canonical)
		case isReserved(canonical) && !stays: // an earlier version may have stored it; it is not sent
			return nil, fmt.Sprintf("The header %q is set by the sender.", name)
		case !httpguts.ValidHeaderFieldValue(*value) || strings.ContainsAny(*value, "\r\n"):
			return nil, fmt.Sprintf("The value of the header %q has characters that a header cannot have.", name)
		}
		headers[name], seen[canonical] = *value, true
	}
	return headers, ""
}

// HeaderNames returns the names of a webhook's custom headers in alphabetical order.
func HeaderNames(app core.App, record *core.Record) ([]string, error) {
	headers, err := openHeaders(app, record.GetString(sealedHeadersField))
	return append([]string{}, slices.Sorted(maps.Keys(headers))...), err
}

// openHeaders is the inverse of the sealing in SealHeaders.
func openHeaders(app core.App, sealed string) (headers map[string]string, err error) {
	if sealed == "" {
		return nil, nil
	}
	plain, err := secret.Open(app, sealed)
	if err == nil {
		err = json.Unmarshal([]byte(plain), &headers)
	}
	if err != nil {
		return nil, fmt.Errorf("reading the headers of a webhook: %w", err)
	}
	return headers, nil
}

// SentHeaders returns the custom headers of a webhook by their canonical names, from their sealed form. It omits
// those that the sender sets: saving a webhook refuses them, but a row may have been written otherwise.
func SentHeaders(app core.App, sealed string) (map[string]string, error) {
	stored, err := openHeaders(app, sealed)
	if len(stored) == 0 {
		return nil, err
	}
	headers := make(map[string]string, len(stored))
	for name, value := range stored {
		if name = textproto.CanonicalMIMEHeaderKey(name); !isReserved(name) {
			headers[name] = value
		}
	}
	return headers, nil
}
