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

func TestSchemes(t *testing.T) {
	t.Parallel()
	tried := map[string]bool{}
	for _, e := range signedExamples {
		tried[e.scheme] = true
		t.Run(e.scheme, func(t *testing.T) {
			t.Parallel()
			verify := func(scheme, secret string, sent *Signed, at int64) error {
				_, err := VerifySignature(scheme, secret, sent, time.UnixMilli(at))
				return err
			}
			if err := verify(e.scheme, e.secret, e.request(), e.at); err != nil {
				t.Fatalf("the example of %s: %v", e.source, err)
			}
			changed := e.request()
			changed.Body = append(changed.Body, ' ')
			if err := verify(e.scheme, e.secret, changed, e.at); !errors.Is(err, ErrBadSignature) {
				t.Errorf("a changed body: %v", err)
			}
			if err := verify(e.scheme, e.secret+"x", e.request(), e.at); !errors.Is(err, ErrBadSignature) {
				t.Errorf("another secret: %v", err)
			}
			if err := verify(e.scheme, e.secret, &Signed{Header: http.Header{}}, e.at); !errors.Is(err, ErrNoSignature) {
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
		if !tried[name] {
			t.Errorf("the scheme %s has no example", name)
		}
	}
}

// Without a scheme count those that need no choice. The error for others says which to choose.
func TestNoScheme(t *testing.T) {
	t.Parallel()
	for _, e := range signedExamples {
		implicit := e.scheme == "standard" || e.scheme == "x-signature"
		_, err := VerifySignature("", e.secret, e.request(), time.UnixMilli(e.at))
		if implicit && err != nil || !implicit && (err == nil || !strings.HasSuffix(err.Error(), "scheme to "+e.scheme+".")) {
			t.Errorf("%s: %v", e.scheme, err)
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
		if _, err := VerifySignature(e.scheme, e.secret, sent, time.UnixMilli(e.at)); !errors.Is(err, ErrBadSignature) {
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
