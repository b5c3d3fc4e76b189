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

// ErrNotVerified is the error of a request that is not known to come from the installation. Answer 401.
var ErrNotVerified = errors.New("webhook: the request does not verify")

// Verify returns the event of a request whose body was read as it is. It checks the headers of Standard Webhooks with
// the webhook's secret: the signature, or one of them after the secret was changed, has to fit, and to be at most 5
// minutes old. An event can arrive more than once: its ID tells.
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

// key returns the bytes that are signed with: what whsec_ stands before, and all of a secret that somebody typed.
func key(secret string) []byte {
	if encoded, ok := strings.CutPrefix(secret, "whsec_"); ok {
		if decoded, err := base64.StdEncoding.DecodeString(encoded); err == nil && len(decoded) > 0 {
			return decoded
		}
	}
	return []byte(secret)
}
