package inbound

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"contactbase/internal/fault"
	"contactbase/internal/secret"
	"contactbase/internal/wire"
)

// signatureTolerance is how far a request's timestamp may be from now, either way
// (https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md).
const signatureTolerance = 5 * time.Minute

// Why a signature is not accepted.
var (
	ErrNoSignature  = unverified("the request is not signed")
	ErrBadSignature = unverified("the signature does not match")
	ErrStale        = unverified("the signature's timestamp differs from now by more than 5 minutes")
)

func unverified(why string) error {
	return fault.New(fault.InvalidSignature, "The signature is not accepted: "+why+".")
}

// Signed is a request as its sender signed it.
type Signed struct {
	Method, URL string // the URL as the sender has it
	Header      http.Header
	Body        []byte // byte for byte as received
}

// Verification is how the requests to a webhook are verified.
type Verification struct {
	Secret string // in plain; "" if requests need no signature
	Scheme string // how the sender signs, one of Schemes; "" for those that need no choice

	// of the schemes hmac and token, see custom
	Header, Format, Hash, Timestamp string
}

// Proof is a signature that was verified.
type Proof struct {
	scheme *scheme
	sum    []byte // its MAC, which no other bytes have
	other  []byte // of a second signature, which would count without the first; nil for none
}

// VerifySignature checks that the request was signed with the secret by the scheme, or without one ("") by those
// that need no choice.
//
// Of the latter, only the first counts whose header the request has. Our own webhooks send two: during a
// rotation only webhook-signature carries the old secret's signature, so that demanding both would cut off
// receivers that still have the old one. Demanding both would not be safer, since an attacker who replays a
// request can omit a header.
func VerifySignature(how *Verification, sent *Signed, now time.Time) (*Proof, error) {
	s, err := how.schemeOf(sent.Header)
	if err != nil {
		return nil, err
	}
	at := s.timestamp(sent.Header)
	sum := s.match(how.Secret, sent, at)
	if sum == nil {
		return nil, ErrBadSignature
	}
	proof := &Proof{scheme: s, sum: sum}
	if s.instant == nil {
		return proof, nil
	}
	for _, o := range schemes {
		if how.Scheme == "" && o.implicit && o.instant == nil && sent.Header.Get(o.header) != "" {
			proof.other = o.match(how.Secret, sent, "")
		}
	}
	instant, err := s.instant(at)
	if err != nil {
		return nil, ErrBadSignature
	}
	if now.Sub(instant).Abs() > signatureTolerance {
		return nil, ErrStale
	}
	return proof, nil
}

// MinKey is the length of the shortest key that may sign, in bytes. Who has one signed request can try shorter ones.
const MinKey = 16

// KeyLength returns the length of the key that a secret stands for, in bytes: of the shortest, if it may stand for
// several; of a token, in characters. Without a scheme, senders sign with the text, unless it has the prefix of
// Standard Webhooks.
func KeyLength(name, plain string) int {
	if name == schemeToken {
		return utf8.RuneCountInString(plain)
	}
	length := len(plain)
	for _, s := range schemes {
		switch {
		case name == "" && s.keys != nil:
			length = min(length, len(secret.StandardKey(plain)))
		case name == s.name && s.keys != nil:
			for _, key := range s.keys(plain) {
				length = min(length, len(key))
			}
		}
	}
	return length
}

// schemeOf returns the scheme by which the request is signed.
func (v *Verification) schemeOf(header http.Header) (*scheme, error) {
	if v.Scheme == schemeHMAC || v.Scheme == schemeToken {
		return v.custom(header)
	}
	for i, s := range schemes {
		if (s.name == v.Scheme || v.Scheme == "" && s.implicit) && header.Get(s.header) != "" {
			return &schemes[i], nil
		}
	}
	return nil, unsigned(header)
}

// unsigned returns the error for a request without the expected header. It names the scheme whose
// header the request has.
func unsigned(header http.Header) error {
	for _, s := range schemes {
		if header.Get(s.header) != "" {
			return unverified(
				fmt.Sprintf("the request has %s instead; set the inbound webhook's scheme to %s", s.header, s.name),
			)
		}
	}
	return ErrNoSignature
}

// entries returns the parts of the header with the signature.
func (s *scheme) entries(header http.Header) []string {
	if s.list == "" {
		return []string{header.Get(s.header)}
	}
	return strings.Split(header.Get(s.header), s.list)
}

// timestamp returns the timestamp as it was signed.
func (s *scheme) timestamp(header http.Header) string {
	if s.instant == nil || s.time != "" {
		return header.Get(s.time)
	}
	for _, entry := range s.entries(header) {
		if at, ok := strings.CutPrefix(strings.TrimSpace(entry), "t="); ok {
			return at
		}
	}
	return ""
}

// match returns the first of the signatures in the header that is right, nil if none is.
func (s *scheme) match(plain string, sent *Signed, at string) []byte {
	if bytes.HasSuffix(sent.Body, []byte("=")) && signable.Match(sent.Body) { // a form, and what a handshake signs
		return nil
	}
	if s.isObject && !bytes.HasPrefix(bytes.TrimSpace(wire.WithoutMark(sent.Body)), []byte("{")) {
		return nil
	}
	if s.isToken {
		return matchToken(plain, sent.Header.Get(s.header), sent.Body)
	}
	keys, parts := [][]byte{[]byte(plain)}, [][]byte{sent.Body}
	if s.keys != nil {
		keys = s.keys(plain)
	}
	if s.signed != nil {
		parts = s.signed(sent, at)
	}
	var wanted [][]byte
	for _, key := range keys {
		wanted = append(wanted, s.mac(key, parts...))
	}
	for _, entry := range s.entries(sent.Header) {
		text, ok := strings.CutPrefix(strings.TrimSpace(entry), s.prefix)
		sum, err := s.decode(text)
		if err != nil || !ok && s.list != "" {
			continue
		}
		if slices.ContainsFunc(wanted, func(w []byte) bool { return hmac.Equal(w, sum) }) {
			return sum
		}
	}
	return nil
}

// mac returns the HMAC of the concatenated parts.
func (s *scheme) mac(key []byte, parts ...[]byte) []byte {
	newHash := s.hash
	if newHash == nil {
		newHash = sha256.New
	}
	mac := hmac.New(newHash, key)
	for _, part := range parts {
		mac.Write(part)
	}
	return mac.Sum(nil)
}
