package delivery

import (
	"encoding/base64"
	"encoding/hex"
	"strconv"
	"time"

	"contactbase/internal/secret"
)

// Sign returns the value of X-Signature: the HMAC-SHA256 of the body in lower-case hex, with the secret exactly as
// shown as its key.
func Sign(plain string, body []byte) string {
	return hex.EncodeToString(secret.HMAC([]byte(plain), body))
}

// SignStandard returns the value of webhook-signature (Standard Webhooks 1.0): one signature for each secret,
// separated by spaces, each "v1," and the base64 HMAC-SHA256 of id, timestamp in seconds and body joined with dots.
func SignStandard(secrets []string, id string, at time.Time, body []byte) string {
	prefix := make([]byte, 0, len(id)+16)
	prefix = append(append(prefix, id...), '.')
	prefix = append(strconv.AppendInt(prefix, at.Unix(), 10), '.')
	signatures := make([]byte, 0, len(secrets)*(len(" v1,")+44))
	for _, plain := range secrets {
		if len(signatures) > 0 {
			signatures = append(signatures, ' ')
		}
		signatures = base64.StdEncoding.AppendEncode(append(signatures, "v1,"...),
			secret.HMAC(secret.StandardKey(plain), prefix, body))
	}
	return string(signatures)
}
