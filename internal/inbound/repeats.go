package inbound

import (
	"cmp"
	"encoding/hex"
	"encoding/json"
	"net/http"

	"contactbase/internal/wire"
)

// headerIdempotencyKey is the header with the key that clients choose.
const headerIdempotencyKey = "Idempotency-Key"

// repeatHeaders are the headers with which senders name a request, so that its repeats are known. The first that is
// sent counts.
var repeatHeaders = []string{
	"webhook-id", "svix-id", headerIdempotencyKey,
	"X-Shopify-Webhook-Id", "X-WC-Webhook-Delivery-ID", "X-GitHub-Delivery",
}

// unsignedHeaders are those that senders with an own scheme choose.
var unsignedHeaders = []string{"webhook-id", headerIdempotencyKey}

// Repeat is how repeats of a request are known.
type Repeat struct {
	ID     string // of the request or its event; "" for none
	Header string // that has the ID; "" for the body

	// Signature identifies the signed bytes, with which the ID may be replaced by somebody who has recorded the
	// request. "" if that is not possible. If it takes removing another signature, which covers the ID, then IDSigned
	// says that this request still has it.
	Signature string
	IDSigned  bool
}

// RepeatOf returns how repeats of a request are known. proof is its signature, nil if the webhook has no secret.
func (w *Webhook) RepeatOf(header http.Header, body []byte, proof *Proof) Repeat {
	if proof == nil {
		if repeat := named(header, repeatHeaders); repeat.Header != "" {
			return repeat
		}
		return Repeat{ID: eventID(body, cmp.Or(schemeNamed(w.Verify.Scheme).bodyID, schemeNamed(w.Mapping.Scheme()).bodyID))}
	}
	if property := proof.scheme.bodyID; property != "" {
		return Repeat{ID: eventID(body, property)}
	}
	if name := proof.scheme.signedID; name != "" {
		repeat := named(header, []string{name})
		repeat.Signature, repeat.IDSigned = hex.EncodeToString(proof.other), true
		return repeat
	}
	names := unsignedHeaders
	if proof.scheme.ownID != "" {
		names = []string{proof.scheme.ownID}
	}
	repeat := named(header, names)
	repeat.Signature = hex.EncodeToString(proof.sum)
	return repeat
}

// named returns the first header that is sent.
func named(header http.Header, names []string) Repeat {
	for _, name := range names {
		if id := header.Get(name); id != "" {
			return Repeat{ID: id, Header: name}
		}
	}
	return Repeat{}
}

// eventID returns the event's ID in the body, "" if it has none: another body is answered as such.
func eventID(body []byte, property string) string {
	var sent map[string]json.RawMessage
	var id string
	if property == "" || json.Unmarshal(wire.WithoutMark(body), &sent) != nil ||
		json.Unmarshal(sent[property], &id) != nil {
		return ""
	}
	return id
}
