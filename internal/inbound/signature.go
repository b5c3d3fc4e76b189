package inbound

import (
	"crypto/hmac"
	"encoding/hex"
	"net/http"
	"strconv"
	"strings"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"contactbase/internal/fault"
	"contactbase/internal/secret"
)

// signatureTolerance is how far a request's timestamp may be from now, either way
// (https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md).
const signatureTolerance = 5 * time.Minute

// headerSignature holds a hex HMAC-SHA256 of the raw body.
const headerSignature = "X-Signature"

// Why a signature is not accepted.
var (
	ErrNoSignature  = unverified("the request is not signed")
	ErrBadSignature = unverified("the signature does not match")
	ErrStale        = unverified("the signature's timestamp differs from now by more than 5 minutes")
)

func unverified(why string) error {
	return fault.New(fault.InvalidSignature, "The signature is not accepted: "+why+".")
}

// VerifySignature checks that body, byte for byte as received, was signed with the secret.
//
// If there is a webhook-signature header, only the Standard Webhooks headers count, otherwise X-Signature. Our own webhooks send
// both: during a rotation only webhook-signature carries the old secret's signature, so that demanding both would cut off receivers
// that still have the old one. Demanding both would not be safer, since an attacker who replays a request can omit a header.
// X-Signature has no timestamp: a request signed only with it can be replayed.
//
// The key of X-Signature is the secret itself. For Standard Webhooks it is the decoded base64 after "whsec_", or the secret itself
// if it has another form.
func VerifySignature(plain string, header http.Header, body []byte, now time.Time) error {
	if header.Get(standardwebhooks.HeaderWebhookSignature) != "" {
		return verifyStandard(plain, header, body, now)
	}
	sent := header.Get(headerSignature)
	if sent == "" {
		return ErrNoSignature
	}
	sum, err := hex.DecodeString(strings.TrimPrefix(strings.TrimSpace(sent), "sha256="))
	if err != nil {
		return ErrBadSignature
	}
	if !hmac.Equal(sum, secret.HMAC([]byte(plain), body)) {
		return ErrBadSignature
	}
	return nil
}

func verifyStandard(plain string, header http.Header, body []byte, now time.Time) error {
	hook, err := standardwebhooks.NewWebhookRaw(secret.StandardKey(plain))
	if err != nil {
		return err
	}
	// The library's own time check reads the clock.
	if err := hook.VerifyIgnoringTimestamp(body, header); err != nil {
		return ErrBadSignature
	}
	seconds, err := strconv.ParseInt(header.Get(standardwebhooks.HeaderWebhookTimestamp), 10, 64)
	if err != nil {
		return ErrBadSignature
	}
	if now.Sub(time.Unix(seconds, 0)).Abs() > signatureTolerance {
		return ErrStale
	}
	return nil
}
