package inbound

import (
	"crypto/sha1" //nolint:gosec // the sender's choice; HMAC with it is not broken
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"hash"
	"slices"
	"strconv"
	"strings"
	"time"

	"contactbase/internal/secret"
)

// scheme is how a sender signs: with an HMAC in a header, or with the secret itself.
type scheme struct {
	name     string
	implicit bool             // counts for webhooks without a scheme
	header   string           // has the signature; "" if the sender does not sign
	list     string           // separates several signatures
	prefix   string           // before a signature; optional without a list
	hash     func() hash.Hash // nil for SHA-256
	decode   func(string) ([]byte, error)
	isToken  bool // the header has the secret
	isObject bool // the body must be a JSON object: the sender has a handshake that signs other texts, see macHandshake

	instant func(string) (time.Time, error) // of the timestamp; nil without one
	time    string                          // the header with the timestamp; "" if the list has it, as "t="

	signed func(sent *Signed, at string) [][]byte // what is signed; nil for the body
	keys   func(plain string) [][]byte            // what may sign; nil for the secret itself

	// Where the request has its ID: in a header that is signed, in a property of the body, or in a header of the
	// sender's own that is not signed. Without these, it is in one of unsignedHeaders.
	signedID, bodyID, ownID string
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
		instant: milliseconds, time: "X-HubSpot-Request-Timestamp", signed: hubspotContent,
	},
	// https://cal.com/docs/developing/guides/automation/webhooks
	{name: "calcom", header: "X-Cal-Signature-256", decode: fromHex},
	// https://linear.app/developers/webhooks
	{name: "linear", header: "Linear-Signature", decode: fromHex},
	// https://docs.attio.com/rest-api/guides/webhooks
	{name: "attio", header: "Attio-Signature", decode: fromHex},
	// https://developers.notion.com/reference/webhooks
	{name: "notion", header: "X-Notion-Signature", prefix: "sha256=", decode: fromHex},
	// https://www.framer.com/help/articles/framer-form-webhook-setup
	{
		name: "framer", header: "Framer-Signature", prefix: "sha256=", decode: fromHex,
		signed: framerContent, signedID: headerFramerID,
	},
	// https://github.com/mautic/mautic/blob/5.x/app/bundles/WebhookBundle/Http/Client.php
	{name: "mautic", header: "Webhook-Signature", decode: fromBase64},
	// https://docs.frappe.io/framework/user/en/guides/integration/webhooks
	{name: "frappe", header: "X-Frappe-Webhook-Signature", decode: fromBase64},
	// https://github.com/chatwoot/chatwoot/blob/develop/lib/webhooks/trigger.rb
	{
		name: "chatwoot", header: "X-Chatwoot-Signature", prefix: "sha256=", decode: fromHex,
		instant: seconds, time: "X-Chatwoot-Timestamp", signed: timedBody,
	},
	// https://developer.zendesk.com/documentation/webhooks/verifying/
	{
		name: "zendesk", header: "X-Zendesk-Webhook-Signature", decode: fromBase64, instant: isoTime,
		time: "X-Zendesk-Webhook-Signature-Timestamp", signed: zendeskContent,
	},
	// https://docs.gitlab.com/user/project/integrations/webhooks/: its signing token is that of standard
	{name: "gitlab", header: "X-Gitlab-Token", isToken: true},
	// https://developers.zoom.us/docs/api/webhooks/#verify-webhook-events
	{
		name: "zoom", header: "X-Zm-Signature", prefix: "v0=", decode: fromHex, isObject: true,
		instant: seconds, time: "X-Zm-Request-Timestamp", signed: zoomContent,
	},
	// https://developers.intercom.com/docs/references/webhooks/webhook-models#signed-notifications
	{name: "intercom", header: "X-Hub-Signature", prefix: "sha1=", hash: sha1.New, decode: fromHex},
	// https://docs.x.com/x-api/webhooks/introduction
	{name: "x", header: "X-Twitter-Webhooks-Signature", prefix: "sha256=", decode: fromBase64, isObject: true},
	// https://learn.microsoft.com/en-us/linkedin/shared/api-guide/webhook-validation
	{
		name: "linkedin", header: "X-LI-Signature", prefix: "hmacsha256=", decode: fromHex,
		isObject: true, signed: linkedinContent,
	},
	// https://developers.strava.com/docs/webhooks/: only the handshake has a token
	{name: "strava"},
}

// genericSchemes are those of many senders.
var genericSchemes = []string{"standard", "x-signature", schemeHMAC, schemeToken}

// Schemes returns the values of an inbound webhook's verifyScheme.
func Schemes() []string {
	var names []string
	for _, s := range schemes {
		if !slices.Contains(names, s.name) {
			names = append(names, s.name)
		}
	}
	return append(names, schemeHMAC, schemeToken)
}

func seconds(text string) (time.Time, error) {
	count, err := strconv.ParseInt(text, 10, 64)
	return time.Unix(count, 0), err
}

func milliseconds(text string) (time.Time, error) {
	count, err := strconv.ParseInt(text, 10, 64)
	return time.UnixMilli(count), err
}

func isoTime(text string) (time.Time, error) { return time.Parse(time.RFC3339Nano, text) }

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

// headerFramerID has the ID of a submission.
const headerFramerID = "Framer-Webhook-Submission-Id"

func framerContent(sent *Signed, _ string) [][]byte {
	return [][]byte{sent.Body, []byte(sent.Header.Get(headerFramerID))}
}

func zendeskContent(sent *Signed, at string) [][]byte { return [][]byte{[]byte(at), sent.Body} }

func zoomContent(sent *Signed, at string) [][]byte {
	return [][]byte{[]byte("v0:" + at + ":"), sent.Body}
}

func linkedinContent(sent *Signed, _ string) [][]byte {
	return [][]byte{[]byte("hmacsha256="), sent.Body}
}
