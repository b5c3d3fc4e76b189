package inbound

import (
	"cmp"
	"encoding/json"

	"contactbase/internal/wire"
)

// RepeatHeaders are the headers with which senders name a request, so that its repeats are known. The first that is sent counts.
var RepeatHeaders = []string{
	"webhook-id", "svix-id", "Idempotency-Key", "X-Shopify-Webhook-Id", "X-WC-Webhook-Delivery-ID", "X-GitHub-Delivery",
}

// eventIDs has the properties of bodies that name an event, for senders without such a header.
var eventIDs = map[string]string{"typeform": "event_id", "tally": "eventId", "stripe": "id"}

// EventID returns the event's id in the body if the webhook's scheme or preset is that of a sender whose bodies have one, otherwise "".
func (w *Webhook) EventID(body []byte) string {
	name := cmp.Or(eventIDs[w.VerifyScheme], eventIDs[w.Mapping.Scheme()])
	if name == "" {
		return ""
	}
	var sent map[string]json.RawMessage
	var id string
	if json.Unmarshal(wire.WithoutMark(body), &sent) != nil || json.Unmarshal(sent[name], &id) != nil {
		return "" // another body, which is answered as such
	}
	return id
}
