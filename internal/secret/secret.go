// Package secret makes the secrets that sign webhooks, and encrypts them for storage. Unlike keys and tokens, of
// which package credential stores digests, they must be recoverable.
package secret

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"strings"
)

// prefix precedes the base64 of a key in the format of Standard Webhooks
// (https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md).
const prefix = "whsec_"

// New returns a new secret for a webhook: "whsec_" and 32 random bytes in base64.
func New() string {
	var key [32]byte
	_, _ = rand.Read(key[:]) // it never returns an error
	return prefix + base64.StdEncoding.EncodeToString(key[:])
}

// Shown returns the first characters of a secret that New or Derive has returned, and "" for any other, which may be
// short.
func Shown(plain string) string {
	if !strings.HasPrefix(plain, prefix) || len(plain) != len(prefix)+base64.StdEncoding.EncodedLen(32) {
		return ""
	}
	return plain[:len(prefix)+4]
}

// Derive returns a secret of the same format that is determined by a key and a purpose, and reveals
// nothing about the key.
func Derive(key, purpose string) string {
	return prefix + base64.StdEncoding.EncodeToString(HMAC([]byte(key), []byte(purpose)))
}

// StandardKey returns the key that signs Standard Webhooks: the decoded base64 after "whsec_". If the secret does not
// have that format, its own bytes are the key.
func StandardKey(plain string) []byte {
	if encoded, ok := strings.CutPrefix(plain, prefix); ok {
		if key, err := base64.StdEncoding.DecodeString(encoded); err == nil && len(key) > 0 {
			return key
		}
	}
	return []byte(plain)
}

// HMAC returns the HMAC-SHA256 of the concatenated parts, 32 bytes.
func HMAC(key []byte, parts ...[]byte) []byte {
	mac := hmac.New(sha256.New, key)
	for _, part := range parts {
		mac.Write(part)
	}
	return mac.Sum(make([]byte, 0, sha256.Size))
}
