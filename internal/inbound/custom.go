package inbound

import (
	"crypto/hmac"
	"crypto/sha1" //nolint:gosec // the sender's choice; HMAC with it is not broken
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"errors"
	"fmt"
	"hash"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"

	"contactbase/internal/fault"
	"contactbase/internal/secret"
)

// The schemes whose header an admin names: an HMAC of the body, or the secret itself.
const (
	schemeHMAC  = "hmac"
	schemeToken = "token"
)

// hashes are the values of verifyHash; "" is sha256.
var hashes = map[string]func() hash.Hash{
	"": sha256.New, "sha256": sha256.New, "sha1": sha1.New, "sha512": sha512.New,
}

// formats are the values of verifyFormat; "" is hex.
var formats = map[string]func(string) ([]byte, error){"": fromHex, "hex": fromHex, "base64": fromAnyBase64}

// notSigned are the headers that have no signature, or that proxies and programs on the way set.
var notSigned = []string{"Host", "Content-Type", "Content-Length", "Cookie", "Connection", "Transfer-Encoding"}

var headerName = regexp.MustCompile("^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}$")

// Check returns the errors in the settings of the schemes hmac and token, by their fields without "verify".
func (v *Verification) Check() fault.Fields {
	wrong := fault.Fields{}
	check := func(field, rule string, ok bool) {
		if !ok {
			wrong[field] = fault.Field{Code: fault.CodeInvalidValue, Message: rule}
		}
	}
	check("Header", "must be the name of the header with the signature or the token, such as X-Signature",
		isSignedHeader(v.Header) || v.Header == "" && v.Scheme != schemeHMAC && v.Scheme != schemeToken)
	check("Timestamp", "must be the name of the header with the time, such as X-Timestamp",
		v.Timestamp == "" || isSignedHeader(v.Timestamp))
	check("Format", "must be hex or base64", formats[v.Format] != nil)
	check("Hash", "must be sha256, sha1 or sha512", hashes[v.Hash] != nil)
	return wrong
}

func isSignedHeader(name string) bool {
	for _, other := range notSigned {
		if strings.EqualFold(name, other) {
			return false
		}
	}
	return headerName.MatchString(name)
}

// custom returns the scheme that the settings describe. The error is for a request that does not have each of its
// headers once: another program could read the other one.
func (v *Verification) custom(header http.Header) (*scheme, error) {
	s := &scheme{header: v.Header, isToken: v.Scheme == schemeToken}
	for _, name := range []string{v.Header, v.Timestamp} {
		if name != "" && len(header.Values(name)) != 1 && (name == v.Header || !s.isToken) {
			return nil, unverified(fmt.Sprintf("the request must have the header %s once", name))
		}
	}
	newHash, decode := hashes[v.Hash], formats[v.Format]
	if newHash == nil || decode == nil || v.Header == "" {
		return nil, unverified("the inbound webhook's settings are invalid")
	}
	s.hash, s.decode = newHash, func(text string) ([]byte, error) { return decodeSum(text, newHash().Size(), decode) }
	if v.Timestamp != "" && !s.isToken {
		s.time, s.instant, s.signed = v.Timestamp, secondsOrMore, timedBody
	}
	return s, nil
}

var sumPrefix = regexp.MustCompile(`^[A-Za-z0-9]+=`)

// decodeSum decodes a MAC of that many bytes, perhaps behind a prefix such as "sha256=".
func decodeSum(text string, size int, decode func(string) ([]byte, error)) ([]byte, error) {
	for _, rest := range []string{strings.TrimPrefix(text, sumPrefix.FindString(text)), text} {
		if sum, err := decode(strings.TrimSpace(rest)); err == nil && len(sum) == size {
			return sum, nil
		}
	}
	return nil, errNotSum
}

var errNotSum = errors.New("not a MAC")

// fromAnyBase64 decodes both alphabets, with or without padding.
func fromAnyBase64(text string) ([]byte, error) {
	text = strings.NewReplacer("-", "+", "_", "/").Replace(strings.TrimRight(text, "="))
	return base64.RawStdEncoding.DecodeString(text)
}

// secondsOrMore reads seconds since 1970 or, from 10^12 on, milliseconds.
func secondsOrMore(text string) (time.Time, error) {
	count, err := strconv.ParseInt(text, 10, 64)
	if count >= 1e12 {
		return time.UnixMilli(count), err
	}
	return time.Unix(count, 0), err
}

// matchToken returns what identifies a body with the token, nil if the header has another.
func matchToken(plain, sent string, body []byte) []byte {
	const bearer = "bearer "
	bare := sent
	if len(sent) > len(bearer) && strings.EqualFold(sent[:len(bearer)], bearer) {
		bare = strings.TrimSpace(sent[len(bearer):])
	}
	if !hmac.Equal([]byte(sent), []byte(plain)) && !hmac.Equal([]byte(bare), []byte(plain)) {
		return nil
	}
	return secret.HMAC([]byte(plain), body)
}
