// Package credential owns API keys, inbound tokens and the form of invitations. It mints them, recognises a mistyped or
// leaked one without a look-up, and finds what a key permits.
package credential

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"hash/crc32"
	"math/big"
	"regexp"
	"strings"
)

// The prefixes of the kinds of credential. Secret scanners recognise them.
const (
	KeyPrefix        = "cmk_"
	TokenPrefix      = "cmi_"
	InvitationPrefix = "cmv_"
)

const (
	alphabet       = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	randomLength   = 30 // 30 base62 characters are 178.6 random bits
	checksumLength = 6  // 62^6 exceeds every CRC-32
	shownLength    = 12
)

// Mint returns a new credential: the prefix, 30 random base62 characters, and the CRC-32 (IEEE) of all of them as 6
// base62 characters, most significant first.
func Mint(prefix string) string {
	var b strings.Builder
	b.Grow(len(prefix) + randomLength + checksumLength)
	b.WriteString(prefix)
	size := big.NewInt(int64(len(alphabet)))
	for range randomLength {
		n, err := rand.Int(rand.Reader, size)
		if err != nil {
			panic("credential: the system's random source failed: " + err.Error()) // as crypto/rand.Read does
		}
		b.WriteByte(alphabet[n.Int64()])
	}
	return b.String() + checksum(b.String())
}

// WellFormed reports whether s has the form and checksum of a credential with this prefix.
func WellFormed(prefix, s string) bool {
	if len(s) != len(prefix)+randomLength+checksumLength || !strings.HasPrefix(s, prefix) {
		return false
	}
	body, sum := s[:len(s)-checksumLength], s[len(s)-checksumLength:]
	return checksum(body) == sum
}

// Hash returns the SHA-256 of the whole credential as hex, by which it is stored and looked up.
func Hash(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:])
}

// Shown returns the first characters of a credential. They identify it in lists and reveal nothing.
func Shown(s string) string {
	return s[:min(shownLength, len(s))]
}

func checksum(s string) string {
	n := crc32.ChecksumIEEE([]byte(s))
	var out [checksumLength]byte
	for i := checksumLength - 1; i >= 0; i-- {
		out[i] = alphabet[n%62]
		n /= 62
	}
	return string(out[:])
}

// pattern finds credentials in mistyped paths, queries and logged headers, however often the underscore
// is percent-encoded.
var pattern = regexp.MustCompile(`cm[ikv](?:_|%(?:25)*5[fF])[0-9A-Za-z]+`)

// Redact replaces credentials in a text for a log.
func Redact(text string) string { return pattern.ReplaceAllString(text, "[redacted]") }
