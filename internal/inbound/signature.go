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

// Why a request is not believed.
var (
	ErrNoSignature  = unverified("the request is not signed")
	ErrBadSignature = unverified("the signature does not match")
	ErrStale        = unverified("the signature's timestamp is more than 5 minutes off")
)

func unverified(why string) error {
	return fault.New(fault.InvalidSignature, "The signature does not verify: "+why+".")
}

// VerifySignature checks that body, byte for byte as received, was signed with the secret.
//
// If there is a webhook-signature header, the Standard Webhooks headers decide alone, and otherwise X-Signature
// does. Ours are sent together: while a secret is being rotated only webhook-signature carries the old secret's
// signature, too, so that demanding both would cut off a receiver that still has the old one. Demanding both
// would not be safer either, since an attacker who replays an old request can leave a header out. X-Signature has no
// timestamp: with it, an old request can be replayed.
//
// The key of X-Signature is the secret as it stands. For Standard Webhooks it is the base64 after "whsec_"; a
// secret that is not of that form is the key itself.
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
	// The library's own check of the time reads the clock.
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
