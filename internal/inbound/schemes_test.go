package inbound

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"contactbase/internal/inbound/payload"
)

const (
	ada        = `{"email":"ada@example.com"}`
	stripeBody = `{
  "id": "evt_123",
  "object": "event",
  "account": "acct_123",
  "api_version": "2017-05-25",
  "created": 1533204620,
  "data": {
    "object": {
      "id": "cus_123",
      "object": "customer",
      "created": 123456789,
      "email": "test@stripe.com",
      "livemode": false,
      "metadata": {}
    }
  },
  "livemode": false,
  "pending_webhooks": 1,
  "request": {
    "id": "req_123",
    "idempotency_key": "idempotency-key-123"
  },
  "type": "customer.created"
}
`
)

// signedExample is a request that its sender has signed. Where a sender publishes no example, openssl has computed
// the signature: printf CONTENT | openssl dgst -sha256 -hmac SECRET, with -binary and base64 for all but hex.
type signedExample struct {
	source  string
	scheme  string
	secret  string
	headers string // name: value, in lines
	body    string
	at      int64 // in milliseconds; 0 for schemes without a timestamp
	url     string
	custom  Verification // the headers, for hmac and token
}

var signedExamples = []signedExample{
	{
		source: "github.com/standard-webhooks/standard-webhooks, libraries/go/webhook_test.go", scheme: "standard", secret: "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
		headers: "Webhook-Id: msg_p5jXN8AQM9LWM0D4loKWxJek\nWebhook-Timestamp: 1614265330\nWebhook-Signature: v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
		body:    `{"test": 2432232314}`, at: 1614265330_000,
	},
	{
		source: "docs.svix.com/receiving/verifying-payloads/how-manual", scheme: "standard", secret: "whsec_plJ3nmyCDGBKInavdOK15jsl",
		headers: "Svix-Id: msg_loFOjxBNrRLzqYUf\nSvix-Timestamp: 1731705121\nSvix-Signature: v1,rAvfW3dJ/X/qxhsaXPOyyCGmRKsaKWcsNccKXlIktD0=",
		body:    `{"event_type":"ping","data":{"success":true}}`, at: 1731705121_000,
	},
	{
		source: "openssl with the key in hex, the secret without whsec_", scheme: "standard", secret: "a2V5IGluIGJhc2U2NA==",
		headers: "Webhook-Id: msg_1\nWebhook-Timestamp: 1769424000\nWebhook-Signature: v1,f6igjNd6gmQ86uYNk+aZcl34vi7tGAMOn4RTcHRRl0s=",
		body:    ada, at: 1769424000_000,
	},
	{
		source: "openssl", scheme: "x-signature", secret: "typed secret",
		headers: "X-Signature: b150a675cb33fa9f04ac004c359e7fa234901ff6917b7d8bd0e2e3c1e6e0e30d", body: ada,
	},
	{
		source: "openssl", scheme: "shopify", secret: "shop secret",
		headers: "X-Shopify-Hmac-Sha256: J3dHT94k2ph8o2ay/lCoWglQC5Qhka14DoAw/8NZ7Kg=", body: ada,
	},
	{
		source: "github.com/woocommerce/woocommerce, tests/legacy/unit-tests/webhooks/crud.php", scheme: "woocommerce", secret: "",
		headers: "X-WC-Webhook-Signature: GBDo00G55h6IiV+6CxqivQPLbI//KzaOZm747971tPs=", body: "secret",
	},
	{
		source: "openssl", scheme: "typeform", secret: "form secret",
		headers: "Typeform-Signature: sha256=XWWgRYTVb+LGQuL91xxayVrBIuxxrybbEkZEJvyzc58=", body: ada,
	},
	{
		source: "openssl", scheme: "tally", secret: "tally secret",
		headers: "Tally-Signature: cZIihYFXfEwUXcJ5klX4IcbWQqLuYg1JsuB0XL3XcM4=", body: ada,
	},
	{
		source: "openssl", scheme: "calendly", secret: "calendly key",
		headers: "Calendly-Webhook-Signature: t=1769424000,v1=c1df821185c541cd8fa8ad9b4d33ff1e36f2a7e80a8eec5e52336732a7941a0e", body: ada, at: 1769424000_000,
	},
	{
		source: "github.com/stripe/stripe-dotnet, EventUtilityTest.cs, with the signature of an older secret before it", scheme: "stripe", secret: "webhook_secret",
		headers: "Stripe-Signature: t=1533204620,v1=" + strings.Repeat("0", 64) + ", v1=2220f87ef101a04665f11cdf770523143f875572008577fa0f20882ddb9cc3c7," +
			"v0=63f3a72374a733066c4be69ed7f8e5ac85c22c9f0a6a612ab9a025a9e4ee7eef",
		body: stripeBody, at: 1533204620_000,
	},
	{
		source: "docs.github.com/en/webhooks/using-webhooks/validating-webhook-deliveries", scheme: "github", secret: "It's a Secret to Everybody",
		headers: "X-Hub-Signature-256: sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17", body: "Hello, World!",
	},
	{
		source: "github.com/HubSpot/hubspot-api-python, test_signature.py", scheme: "hubspot", secret: "yyyyyyyy-yyyy-yyyy-yyyy-yyyyyyyyyyyy",
		headers: "X-HubSpot-Request-Timestamp: 15000000\nX-HubSpot-Signature-v3: HPW73RUtKmcYoEDADG0s6MmGFWUzWJKAW07r8RDgcQw=",
		body:    "{'example_field':'example_value'}", at: 15000000, url: "https://www.example.com/webhook_uri",
	},
	{
		source: "openssl", scheme: "calcom", secret: "cal secret",
		headers: "X-Cal-Signature-256: f9618478bdc802ffd941c3edbe9f9f6f0e477cd78843ced09472b6aaa01b4646", body: ada,
	},
	{
		source: "openssl", scheme: "linear", secret: "lin_wh_secret",
		headers: "Linear-Signature: b7a4a213cb61c3bb7fb8b2929937d75cb619450f1e67bcd19750312c71191dc6", body: ada,
	},
	{
		source: "openssl", scheme: "attio", secret: "attio secret",
		headers: "Attio-Signature: f75e05648a3133a5489eef98811abefddc26afecc9d8855fd5dc87267c4ad2c9", body: ada,
	},
	{
		source: "openssl", scheme: "notion", secret: "secret_notion",
		headers: "X-Notion-Signature: sha256=5b9254ec27b19394d31b95f23dcee3a4694684d9f5adec29687d50cb56b1d3a2", body: ada,
	},
	{
		source: "openssl", scheme: "framer", secret: "framer secret",
		headers: "Framer-Webhook-Submission-Id: s1\nFramer-Signature: sha256=7cc26bd1f70b7a136e780648a375a7e295d425f1257d1a2dd9d82c7374a26376", body: ada,
	},
	{
		source: "openssl", scheme: "mautic", secret: "mautic secret",
		headers: "Webhook-Signature: k0uMZydvzzhQElE42jI1xT4WYFnhERRlzp+R3n3aNBI=", body: ada,
	},
	{
		source: "openssl", scheme: "frappe", secret: "frappe secret",
		headers: "X-Frappe-Webhook-Signature: IndcVaLgins0kIudqjbL70oyQLhkmWORyD8afUatwuE=", body: ada,
	},
	{
		source: "openssl", scheme: "chatwoot", secret: "chatwoot secret",
		headers: "X-Chatwoot-Timestamp: 1769424000\nX-Chatwoot-Signature: sha256=c505d4a281e14be7aedac31ebe36a5e18a08d0504353ac93b2df3041f60e1b1c", body: ada, at: 1769424000_000,
	},
	{
		source: "openssl", scheme: "zendesk", secret: "zendesk secret",
		headers: "X-Zendesk-Webhook-Signature-Timestamp: 2026-01-26T10:40:00Z\nX-Zendesk-Webhook-Signature: gbL8Nk7MYAcT77BC1v7AjASMjeeuLmmC32m8TltDQlQ=", body: ada, at: 1769424000_000,
	},
	{
		source: "openssl", scheme: "gitlab", secret: "gitlab token",
		headers: "X-Gitlab-Token: gitlab token", body: ada,
	},
	{
		source: "openssl", scheme: "zoom", secret: "zoom secret",
		headers: "X-Zm-Request-Timestamp: 1769424000\nX-Zm-Signature: v0=781535a9ce2f7e9526addf206ed3b96615a4ce12e1e9b1d3ba3fcfdfa4df21b3", body: ada, at: 1769424000_000,
	},
	{
		source: "openssl", scheme: "intercom", secret: "client secret",
		headers: "X-Hub-Signature: sha1=3e713bbdb056d0e646506379720ff168b1f2318e", body: ada,
	},
	{
		source: "openssl", scheme: "x", secret: "consumer secret",
		headers: "X-Twitter-Webhooks-Signature: sha256=2bsE38bTT8GMvI4CO7SGdCsd/DUWHevKVV7AddrtVXY=", body: ada,
	},
	{
		source: "openssl", scheme: "linkedin", secret: "client secret",
		headers: "X-LI-Signature: 4a48651f16d96dd7c5486033a0884123b449bc28263452217c6919e3c92c390a", body: ada,
	},
	{
		source: "openssl", scheme: "hmac", secret: "own secret", custom: Verification{Header: "X-Own"},
		headers: "X-Own: 59a210698f12308cd41d240661ce07765ae67122c1faca29a8695d454697ebd6", body: ada,
	},
	{
		source: "openssl", scheme: "hmac", secret: "own secret", custom: Verification{Header: "x-own", Hash: "sha512"},
		headers: "X-Own: SHA512=f4e83bf5e471ebdd8ecfe298a7b210eff68ecb015b10eeb0bcb3dcc4c25d7da7cddc251457bfc4d3641a15aa257e01a00618cd359712c6e1c3f6dff25a02c89f", body: ada,
	},
	{
		source: "openssl", scheme: "hmac", secret: "own secret", custom: Verification{Header: "X-Own", Hash: "sha1", Format: "base64"},
		headers: "X-Own: sha1=Y2wxIvI7RB2ThgXtK2o8BTe4Q1g", body: ada,
	},
	{
		source: "openssl", scheme: "hmac", secret: "own secret", custom: Verification{Header: "X-Own", Format: "base64"},
		headers: "X-Own: WaIQaY8SMIzUHSQGYc4HdlrmcSLB+sopqGldRUaX69Y=", body: ada,
	},
	{
		source: "openssl", scheme: "hmac", secret: "own secret", custom: Verification{Header: "X-Own", Timestamp: "X-At"},
		headers: "X-At: 1769424000\nX-Own: f7a0ae6a0b496616f1cf5597dca8f73be1104ce5580285d44c05cebdc7aedd74", body: ada, at: 1769424000_000,
	},
	{
		source: "openssl", scheme: "hmac", secret: "own secret", custom: Verification{Header: "X-Own", Timestamp: "X-At"},
		headers: "X-At: 1769424000000\nX-Own: 0b84fd56860252839ce088f6e06de65965902ca133ddbaac7d71dc562842133f", body: ada, at: 1769424000_000,
	},
	{
		source: "openssl", scheme: "token", secret: "own token", custom: Verification{Header: "Authorization"},
		headers: "Authorization: Bearer own token", body: ada,
	},
	{
		source: "openssl", scheme: "token", secret: "own token", custom: Verification{Header: "X-Token", Timestamp: "X-At"},
		headers: "X-Token: own token", body: ada,
	},
	{
		source: "openssl with the decoded URL .../x?to=a@b,c&q=(1)%20x", scheme: "hubspot", secret: "app secret",
		headers: "X-HubSpot-Request-Timestamp: 1769424000123\nX-HubSpot-Signature-v3: lNYSHIh2ciHcRsrSgxBfgriz7Tmugco1JO3X66ie8OM=",
		body:    ada, at: 1769424000_123, url: "https://crm.example.com/api/hooks/x?to=a%40b%2Cc&q=%281%29%20x",
	},
}

func (e *signedExample) request() *Signed {
	header := http.Header{}
	for line := range strings.SplitSeq(e.headers, "\n") {
		name, value, _ := strings.Cut(line, ": ")
		header.Set(name, value)
	}
	return &Signed{Method: "POST", URL: e.url, Header: header, Body: []byte(e.body)}
}

func (e *signedExample) verify(scheme, secret string, sent *Signed, at int64) error {
	how := e.custom
	how.Scheme, how.Secret = scheme, secret
	_, err := VerifySignature(&how, sent, time.UnixMilli(at))
	return err
}

func TestSchemes(t *testing.T) {
	t.Parallel()
	tried := map[string]bool{}
	for _, e := range signedExamples {
		tried[e.scheme] = true
		t.Run(e.scheme, func(t *testing.T) {
			t.Parallel()
			verify := e.verify
			if err := verify(e.scheme, e.secret, e.request(), e.at); err != nil {
				t.Fatalf("the example of %s: %v", e.source, err)
			}
			changed := e.request()
			changed.Body = append(changed.Body, ' ')
			if err := verify(e.scheme, e.secret, changed, e.at); !errors.Is(err, ErrBadSignature) && !isToken(e.scheme) {
				t.Errorf("a changed body: %v", err)
			}
			if err := verify(e.scheme, e.secret+"x", e.request(), e.at); !errors.Is(err, ErrBadSignature) {
				t.Errorf("another secret: %v", err)
			}
			if err := verify(e.scheme, e.secret, &Signed{Header: http.Header{}}, e.at); !errors.Is(err, ErrNoSignature) && e.custom.Header == "" {
				t.Errorf("no signature: %v", err)
			}
			const minutes = 5 * 60_000
			for late, want := range map[int64]error{-minutes: nil, minutes: nil, -minutes - 1: ErrStale, minutes + 1: ErrStale} {
				if err := verify(e.scheme, e.secret, e.request(), e.at+late); e.at > 0 && !errors.Is(err, want) {
					t.Errorf("%d ms late: %v", late, err)
				}
			}
		})
	}
	for _, name := range Schemes() {
		if !tried[name] && name != "strava" { // which does not sign
			t.Errorf("the scheme %s has no example", name)
		}
	}
}

// Without a scheme count those that need no choice. The error for others says which to choose.
func TestNoScheme(t *testing.T) {
	t.Parallel()
	for _, e := range signedExamples {
		implicit := e.scheme == "standard" || e.scheme == "x-signature"
		_, err := VerifySignature(&Verification{Secret: e.secret}, e.request(), time.UnixMilli(e.at))
		if e.custom.Header != "" || e.scheme == "mautic" { // no header of its own
			continue
		}
		if implicit && err != nil || !implicit && (err == nil || !strings.HasSuffix(err.Error(), "scheme to "+e.scheme+".")) {
			t.Errorf("%s: %v", e.scheme, err)
		}
	}
}

func isToken(scheme string) bool { return scheme == "gitlab" || scheme == "token" }

// What an admin names as the header must be there once, and the hash is the admin's choice.
func TestCustomHeaders(t *testing.T) {
	t.Parallel()
	for _, e := range signedExamples {
		if e.custom.Header == "" {
			continue
		}
		for _, header := range []string{e.custom.Header, e.custom.Timestamp} {
			if header == "" || isToken(e.scheme) && header == e.custom.Timestamp {
				continue
			}
			missing, twice := e.request(), e.request()
			missing.Header.Del(header)
			twice.Header.Add(header, twice.Header.Get(header))
			for _, sent := range []*Signed{missing, twice} {
				if err := e.verify(e.scheme, e.secret, sent, e.at); err == nil || !strings.Contains(err.Error(), "once") {
					t.Errorf("%v: %v", sent.Header, err)
				}
			}
		}
		other := e
		other.custom.Hash = "sha1"
		if e.custom.Hash == "sha1" {
			other.custom.Hash = ""
		}
		if err := other.verify(e.scheme, e.secret, e.request(), e.at); !errors.Is(err, ErrBadSignature) && !isToken(e.scheme) {
			t.Errorf("another hash: %v", err)
		}
	}
}

// The settings are checked when they are saved.
func TestCustomSettings(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		how  Verification
		want string
	}{
		{Verification{}, ""},
		{Verification{Scheme: "shopify"}, ""},
		{Verification{Scheme: "hmac", Header: "X-Signature", Format: "base64", Hash: "sha512", Timestamp: "X-Time"}, ""},
		{Verification{Scheme: "hmac"}, "Header"},
		{Verification{Scheme: "token"}, "Header"},
		{Verification{Scheme: "token", Header: "Authorization"}, ""},
		{Verification{Scheme: "hmac", Header: "host"}, "Header"},
		{Verification{Scheme: "token", Header: "Cookie"}, "Header"},
		{Verification{Header: "Content-Type"}, "Header"},
		{Verification{Scheme: "hmac", Header: "X Signature"}, "Header"},
		{Verification{Scheme: "hmac", Header: "X:"}, "Header"},
		{Verification{Scheme: "hmac", Header: "X", Timestamp: "Connection"}, "Timestamp"},
		{Verification{Scheme: "hmac", Header: "X", Format: "HEX"}, "Format"},
		{Verification{Scheme: "hmac", Header: "X", Hash: "md5"}, "Hash"},
	} {
		wrong := c.how.Check()
		if _, found := wrong[c.want]; len(wrong) > 0 != (c.want != "") || c.want != "" && !found {
			t.Errorf("%+v: %v", c.how, wrong)
		}
	}
}

func TestHubSpotSignsMethodAndURL(t *testing.T) {
	t.Parallel()
	e := signedExamples[len(signedExamples)-1]
	for _, change := range []func(*Signed){
		func(s *Signed) { s.Method = "PUT" }, func(s *Signed) { s.URL += "&x=1" }, func(s *Signed) { s.Header.Set("X-HubSpot-Request-Timestamp", "1769424000124") },
	} {
		sent := e.request()
		change(sent)
		if _, err := VerifySignature(&Verification{Secret: e.secret, Scheme: e.scheme}, sent, time.UnixMilli(e.at)); !errors.Is(err, ErrBadSignature) {
			t.Errorf("changed: %v", err)
		}
	}
}

func TestPresetsHaveKnownSchemes(t *testing.T) {
	t.Parallel()
	for _, p := range payload.Presets() {
		if p.Scheme != "" && !slices.Contains(Schemes(), p.Scheme) {
			t.Errorf("the preset %s has the scheme %s", p.Name, p.Scheme)
		}
	}
}
