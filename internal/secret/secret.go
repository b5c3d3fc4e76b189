// Package secret owns what must be recoverable: the secrets that calls are signed with, and their sealing and opening
// where they are stored. Keys and tokens, of which a digest is enough, are of the package credential.
package secret

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"strings"
)

// prefix begins a secret of the Standard Webhooks form: what follows is the key in base64
// (https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md).
const prefix = "whsec_"

// New returns a new secret for a webhook: "whsec_" and 32 random bytes in base64.
func New() string {
	var key [32]byte
	_, _ = rand.Read(key[:]) // never fails, it crashes the program instead
	return prefix + base64.StdEncoding.EncodeToString(key[:])
}

// Derive returns a secret of the same form that belongs to a key and a purpose, and tells nothing about the key.
func Derive(key, purpose string) string {
	return prefix + base64.StdEncoding.EncodeToString(HMAC([]byte(key), []byte(purpose)))
}

// StandardKey returns the key that Standard Webhooks sign with: the base64 after "whsec_". A secret that somebody typed
// need not be of that form: its own bytes are the key then.
func StandardKey(plain string) []byte {
	if encoded, ok := strings.CutPrefix(plain, prefix); ok {
		if key, err := base64.StdEncoding.DecodeString(encoded); err == nil && len(key) > 0 {
			return key
		}
	}
	return []byte(plain)
}

// HMAC returns the HMAC-SHA256 of the parts, one after the other: 32 bytes.
func HMAC(key []byte, parts ...[]byte) []byte {
	mac := hmac.New(sha256.New, key)
	for _, part := range parts {
		mac.Write(part)
	}
	return mac.Sum(make([]byte, 0, sha256.Size))
}
