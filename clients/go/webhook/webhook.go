// Package webhook verifies the events that an installation of Contactbase sends.
package webhook

import (
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"strings"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	contactbase "contactbase/clients/go"
)

// ErrNotVerified is the error of a request without a valid signature. Respond with 401.
var ErrNotVerified = errors.New("webhook: the request does not verify")

// Verify returns the event in the raw body of a request. It checks the Standard Webhooks headers with the
// webhook's secret: one of the signatures must be valid, and at most 5 minutes old. An event can arrive more than
// once, with the same ID.
func Verify(body []byte, headers http.Header, secret string) (contactbase.Event, error) {
	if secret == "" {
		return nil, errors.New("webhook: there is no secret")
	}
	verifier, err := standardwebhooks.NewWebhookRaw(key(secret))
	if err != nil {
		return nil, fmt.Errorf("webhook: %w", err)
	}
	if err := verifier.Verify(body, headers); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNotVerified, err)
	}
	return contactbase.ParseEvent(body)
}

// key returns the signing key: the decoded part after whsec_, or the whole of a custom secret.
func key(secret string) []byte {
	if encoded, ok := strings.CutPrefix(secret, "whsec_"); ok {
		if decoded, err := base64.StdEncoding.DecodeString(encoded); err == nil && len(decoded) > 0 {
			return decoded
		}
	}
	return []byte(secret)
}
