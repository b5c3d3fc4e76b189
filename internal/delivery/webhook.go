package delivery

import (
	"encoding/json"
	"fmt"
	"net/textproto"
	"slices"
	"strings"

	validation "github.com/pocketbase/ozzo-validation/v4"
	"github.com/pocketbase/pocketbase/core"
	"golang.org/x/net/http/httpguts"
)

// WebhooksCollection is the collection of outbound webhooks.
const WebhooksCollection = "webhooks"

// RotatedMark is the custom value that marks a webhook's record whose secrets this package has set, so that the hooks that refuse secrets
// from clients accept it.
const RotatedMark = "@rotated"

// maxHeaders is how many custom headers a webhook may have.
const maxHeaders = 20

// reservedHeaders are set by the sender or belong to the connection.
var reservedHeaders = []string{
	"Connection", "Content-Encoding", "Content-Length", "Content-Type", "Host", "Te", "Trailer", "Transfer-Encoding",
	"Upgrade", "User-Agent", "Webhook-Id", "Webhook-Signature", "Webhook-Timestamp", "X-Attempt", "X-Delivery", "X-Event",
	"X-Signature",
}

// ValidateWebhook checks the URL and the custom headers of a webhook's record for the sender. The error is a validation.Errors, as
// PocketBase shows them.
func ValidateWebhook(record *core.Record, sender *Sender) error {
	faults := validation.Errors{}
	if err := sender.CheckURL(record.GetString("url")); err != nil {
		faults["url"] = validation.NewError("validation_invalid_url", "The URL "+err.Error()+".")
	}
	if fault := checkHeaders(record); fault != "" {
		faults["headers"] = validation.NewError("validation_invalid_headers", fault)
	}
	if len(faults) > 0 {
		return faults
	}
	return nil
}

func checkHeaders(record *core.Record) string {
	if raw := record.GetString("headers"); raw == "" || raw == "null" {
		return ""
	}
	headers := map[string]string{}
	if err := record.UnmarshalJSONField("headers", &headers); err != nil {
		return `The headers must be a JSON object of strings, such as {"Authorization": "Bearer …"}.`
	}
	if len(headers) > maxHeaders {
		return fmt.Sprintf("A webhook has at most %d headers of its own.", maxHeaders)
	}
	for name, value := range headers {
		switch {
		case !httpguts.ValidHeaderFieldName(name):
			return fmt.Sprintf("%q is no name of a header.", name)
		case isReserved(textproto.CanonicalMIMEHeaderKey(name)):
			return fmt.Sprintf("The header %q is set by the sender.", name)
		case !httpguts.ValidHeaderFieldValue(value) || strings.ContainsAny(value, "\r\n"):
			return fmt.Sprintf("The value of the header %q has characters that a header cannot have.", name)
		}
	}
	return ""
}

// isReserved reports whether a webhook cannot have a header of that canonical name. Those of NATS are commands to its server, for example
// to replace a stream's messages.
func isReserved(name string) bool {
	return slices.Contains(reservedHeaders, name) || strings.HasPrefix(name, "Nats-")
}

// OwnHeaders reads a webhook's custom headers as stored. It omits those that the sender sets: saving a webhook refuses them, but a row
// may have been written otherwise.
func OwnHeaders(stored string) map[string]string {
	if stored == "" || stored == "null" {
		return nil
	}
	var sent map[string]string
	if json.Unmarshal([]byte(stored), &sent) != nil {
		return nil
	}
	headers := make(map[string]string, len(sent))
	for name, value := range sent {
		if name = textproto.CanonicalMIMEHeaderKey(name); !isReserved(name) {
			headers[name] = value
		}
	}
	return headers
}
