package inbound

import (
	"crypto/hmac"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"contactbase/internal/fault"
	"contactbase/internal/secret"
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

// scheme is how a sender signs: with an HMAC-SHA256 in a header.
type scheme struct {
	name     string
	implicit bool   // counts for webhooks without a scheme
	header   string // has the signature
	list     string // separates several signatures
	prefix   string // before a signature; optional without a list
	decode   func(string) ([]byte, error)

	instant func(int64) time.Time // of the timestamp; nil without one
	time    string                // the header with the timestamp; "" if the list has it, as "t="

	signed func(sent *Signed, at string) [][]byte // what is signed; nil for the body
	keys   func(plain string) [][]byte            // what may sign; nil for the secret itself

	// Where the request has its ID: in a header that is signed, in a property of the body, or in a header of the
	// sender's own that is not signed. Without these, it is in one of unsignedHeaders.
	signedID, bodyID, ownID string
}

// Proof is a signature that was verified.
type Proof struct {
	scheme *scheme
	sum    []byte // its MAC, which no other bytes have
	other  []byte // of a second signature, which would count without the first; nil for none
}

var (
	fromHex    = hex.DecodeString
	fromBase64 = base64.StdEncoding.DecodeString
)

// schemes are all ways to sign. Those without a timestamp let a recorded request be replayed.
var schemes = []scheme{
	// https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md
	{
		name: "standard", implicit: true, header: "Webhook-Signature", list: " ", prefix: "v1,", decode: fromBase64,
		instant: seconds, time: "Webhook-Timestamp", signed: standardContent("Webhook-Id"), keys: standardKeys,
		signedID: "Webhook-Id",
	},
	// https://docs.svix.com/receiving/verifying-payloads/how-manual
	{
		name: "standard", implicit: true, header: "Svix-Signature", list: " ", prefix: "v1,", decode: fromBase64,
		instant: seconds, time: "Svix-Timestamp", signed: standardContent("Svix-Id"), keys: standardKeys,
		signedID: "Svix-Id",
	},
	// our own webhooks, and senders that let a person name the header
	{name: "x-signature", implicit: true, header: "X-Signature", prefix: "sha256=", decode: fromHex},
	// https://shopify.dev/docs/apps/build/webhooks/subscribe/https
	{name: "shopify", header: "X-Shopify-Hmac-Sha256", decode: fromBase64, ownID: "X-Shopify-Webhook-Id"},
	// https://woocommerce.com/document/webhooks/
	{name: "woocommerce", header: "X-WC-Webhook-Signature", decode: fromBase64, ownID: "X-WC-Webhook-Delivery-ID"},
	// https://www.typeform.com/developers/webhooks/secure-your-webhooks/
	{name: "typeform", header: "Typeform-Signature", prefix: "sha256=", decode: fromBase64, bodyID: "event_id"},
	// https://tally.so/help/webhooks
	{name: "tally", header: "Tally-Signature", decode: fromBase64, bodyID: "eventId"},
	// https://developer.calendly.com/api-docs/webhook-signatures
	{name: "calendly", header: "Calendly-Webhook-Signature", list: ",",
		prefix: "v1=", decode: fromHex, instant: seconds, signed: timedBody},
	// https://docs.stripe.com/webhooks/signature
	{
		name: "stripe", header: "Stripe-Signature", list: ",", prefix: "v1=", decode: fromHex,
		instant: seconds, signed: timedBody, bodyID: "id",
	},
	// https://docs.github.com/en/webhooks/using-webhooks/validating-webhook-deliveries and Meta's webhooks
	{name: "github", header: "X-Hub-Signature-256", prefix: "sha256=", decode: fromHex, ownID: "X-GitHub-Delivery"},
	// https://developers.hubspot.com/docs/apps/developer-platform/build-apps/authentication/request-validation
	{
		name: "hubspot", header: "X-HubSpot-Signature-v3", decode: fromBase64,
		instant: time.UnixMilli, time: "X-HubSpot-Request-Timestamp", signed: hubspotContent,
	},
}

// genericSchemes are those of many senders.
var genericSchemes = []string{"standard", "x-signature"}

// Schemes returns the values of an inbound webhook's verifyScheme.
func Schemes() []string {
	var names []string
	for _, s := range schemes {
		if !slices.Contains(names, s.name) {
			names = append(names, s.name)
		}
	}
	return names
}

// VerifySignature checks that the request was signed with the secret by the scheme, or without one ("") by those
// that need no choice.
//
// Of the latter, only the first counts whose header the request has. Our own webhooks send two: during a
// rotation only webhook-signature carries the old secret's signature, so that demanding both would cut off
// receivers that still have the old one. Demanding both would not be safer, since an attacker who replays a
// request can omit a header.
func VerifySignature(name, plain string, sent *Signed, now time.Time) (*Proof, error) {
	s := schemeOf(name, sent.Header)
	if s == nil {
		return nil, unsigned(sent.Header)
	}
	at := s.timestamp(sent.Header)
	sum := s.match(plain, sent, at)
	if sum == nil {
		return nil, ErrBadSignature
	}
	proof := &Proof{scheme: s, sum: sum}
	if s.instant == nil {
		return proof, nil
	}
	for _, o := range schemes {
		if name == "" && o.implicit && o.instant == nil && sent.Header.Get(o.header) != "" {
			proof.other = o.match(plain, sent, "")
		}
	}
	count, err := strconv.ParseInt(at, 10, 64)
	if err != nil {
		return nil, ErrBadSignature
	}
	if now.Sub(s.instant(count)).Abs() > signatureTolerance {
		return nil, ErrStale
	}
	return proof, nil
}

// MinKey is the length of the shortest key that may sign, in bytes. Who has one signed request can try shorter ones.
const MinKey = 16

// KeyLength returns the length of the key that a secret stands for, in bytes: of the shortest, if it may stand for
// several. Without a scheme, senders sign with the text, unless it has the prefix of Standard Webhooks.
func KeyLength(name, plain string) int {
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

func schemeOf(name string, header http.Header) *scheme {
	for i, s := range schemes {
		if (s.name == name || name == "" && s.implicit) && header.Get(s.header) != "" {
			return &schemes[i]
		}
	}
	return nil
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
	keys, parts := [][]byte{[]byte(plain)}, [][]byte{sent.Body}
	if s.keys != nil {
		keys = s.keys(plain)
	}
	if s.signed != nil {
		parts = s.signed(sent, at)
	}
	var wanted [][]byte
	for _, key := range keys {
		wanted = append(wanted, secret.HMAC(key, parts...))
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

func seconds(count int64) time.Time { return time.Unix(count, 0) }

// standardKeys returns the key after "whsec_". A secret without that may be the key itself or its base64.
func standardKeys(plain string) [][]byte {
	keys := [][]byte{secret.StandardKey(plain)}
	if key, err := fromBase64(plain); err == nil && len(key) > 0 {
		keys = append(keys, key)
	}
	return keys
}

func standardContent(id string) func(*Signed, string) [][]byte {
	return func(sent *Signed, at string) [][]byte {
		return [][]byte{[]byte(sent.Header.Get(id) + "." + at + "."), sent.Body}
	}
}

func timedBody(sent *Signed, at string) [][]byte { return [][]byte{[]byte(at + "."), sent.Body} }

// hubspotDecoded decodes the characters that HubSpot does not encode in what it signs.
var hubspotDecoded = hubspotReplacer()

func hubspotReplacer() *strings.Replacer {
	var pairs []string
	for _, r := range ":/?@!$'()*,;" {
		pairs = append(pairs, fmt.Sprintf("%%%02X", r), string(r), fmt.Sprintf("%%%02x", r), string(r))
	}
	return strings.NewReplacer(pairs...)
}

func hubspotContent(sent *Signed, at string) [][]byte {
	return [][]byte{[]byte(sent.Method + hubspotDecoded.Replace(sent.URL)), sent.Body, []byte(at)}
}
