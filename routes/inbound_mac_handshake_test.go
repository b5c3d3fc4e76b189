package routes_test

import (
	"encoding/base64"
	"encoding/hex"
	"net/url"
	"slices"
	"strings"
	"testing"

	"contactbase/internal/inbound"
)

func hexOf(key, content string) string {
	sum, err := base64.StdEncoding.DecodeString(sign(key, content))
	if err != nil {
		panic(err)
	}
	return hex.EncodeToString(sum)
}

// A sender that expects the MAC of its challenge gets it, in its exact form and only if the scheme is its own.
func TestInboundMACHandshakes(t *testing.T) {
	t.Parallel()
	_, f := newAPI(t)
	const key, plain = "zoom-secret-0123456789abcdef", "qgg8vlvZRS6UYooatFL8Aw"
	zoom := `{"event":"endpoint.url_validation","event_ts":1654503849680,"payload":{"plainToken":"` + plain + `"}}`
	at := unix()
	senders := map[string]*sender{}
	for _, scheme := range []string{"zoom", "x", "linkedin", "shopify", ""} {
		senders[scheme] = newSender(t, f, "full", map[string]any{"verifySecret": key, "verifyScheme": scheme})
	}
	for _, c := range []struct {
		scheme, method, query, body string
		header                      []string
		status                      int
		want                        string
	}{
		{"zoom", "POST", "", zoom, nil, 200, `{"encryptedToken":"` + hexOf(key, plain) + `","plainToken":"` + plain + `"}`},
		{"zoom", "POST", "", zoom, []string{"x-zm-request-timestamp", at, "x-zm-signature", "v0=" + hexOf(key, "v0:"+at+":"+zoom)}, 200, `{"encryptedToken":`},
		{"zoom", "POST", "", zoom, []string{"x-zm-request-timestamp", at, "x-zm-signature", "v0=" + hexOf(key, zoom)}, 401, "invalid_signature"},
		{"zoom", "POST", "", strings.Replace(zoom, plain, "a.b", 1), nil, 400, "invalid_parameter"},
		{"zoom", "POST", "", strings.Replace(zoom, plain, "v0:1:{}", 1), nil, 400, "invalid_parameter"},
		{"zoom", "POST", "", strings.Replace(zoom, plain, strings.Repeat("a", 129), 1), nil, 400, "invalid_parameter"},
		{"zoom", "POST", "", strings.Replace(zoom, plain, "a===", 1), nil, 400, "invalid_parameter"},
		{"zoom", "POST", "", strings.Replace(zoom, "}}", `},"name":"Ada"}`, 1), nil, 401, "invalid_signature"},
		{"zoom", "GET", "?crc_token=abc", "", nil, 200, `{"data":{"status":"ready"}}`},
		{"x", "GET", "?crc_token=abc&nonce=1", "", nil, 200, `{"response_token":"sha256=` + sign(key, "abc") + `"}`},
		{"x", "GET", "?crc_token=abc", "", []string{"x-twitter-webhooks-signature", "sha256=" + sign(key, "crc_token=abc")}, 200, `{"response_token"`},
		{"x", "GET", "?crc_token=abc", "", []string{"x-twitter-webhooks-signature", "sha256=" + sign(key, "abc")}, 401, "invalid_signature"},
		{"x", "GET", "?crc_token=" + url.QueryEscape(`{"name":"Ada"}`), "", nil, 400, "invalid_parameter"},
		{"x", "GET", "?crc_token=abc&x=1", "", nil, 200, `{"data":{"status":"ready"}}`},
		{"x", "GET", "?crc_token=abc&crc_token=d", "", nil, 200, `{"data":{"status":"ready"}}`},
		{"x", "POST", "", zoom, nil, 401, "invalid_signature"},
		{"linkedin", "GET", "?challengeCode=890e4665-4dfe-4ab1-b689-ed553bceeed0&applicationId=7", "", nil, 200, `{"challengeCode":"890e4665-4dfe-4ab1-b689-ed553bceeed0","challengeResponse":"` + hexOf(key, "890e4665-4dfe-4ab1-b689-ed553bceeed0") + `"}`},
		{"linkedin", "GET", "?challengeCode=hmacsha256%3D%7B", "", nil, 400, "invalid_parameter"},
		{"shopify", "GET", "?crc_token=abc", "", nil, 200, `{"data":{"status":"ready"}}`},
		{"shopify", "POST", "", zoom, nil, 401, "invalid_signature"},
		{"", "POST", "", zoom, nil, 401, "invalid_signature"},
		{"", "GET", "?challengeCode=abc", "", nil, 200, `{"data":{"status":"ready"}}`},
	} {
		s := senders[c.scheme]
		got := s.Do(c.method, s.path+c.query, c.body, c.header...)
		text := string(got.Body)
		if got.Status != 200 {
			text = got.Code()
		}
		if got.Status != c.status || !strings.HasPrefix(text, c.want) {
			t.Errorf("%s %s%s%s gives %d %s", c.scheme, c.method, c.query, c.body, got.Status, got.Body)
		}
	}
}

// No answer to a challenge is a signature with which anybody could write a contact, by any scheme.
func TestInboundHandshakesSignNothing(t *testing.T) {
	t.Parallel()
	_, f := newAPI(t)
	const key = repeatsSecret
	at := unix()
	for _, scheme := range inbound.Schemes() {
		settings := map[string]any{"verifySecret": key, "verifyScheme": scheme, "verifyHeader": "X-Signature", "rateLimit": 1000}
		s := newSender(t, f, "upsert", settings)
		for _, challenge := range []string{"abc", "hmacsha256=", "name=", "name==", "123", "v0", at} {
			for _, body := range []string{challenge, "", "=", "==", `{"name":"Ada"}`} {
				for _, content := range []string{"application/json", "application/x-www-form-urlencoded", "text/plain"} {
					header := []string{"Content-Type", content}
					for _, name := range []string{
						"X-Signature", "X-Shopify-Hmac-Sha256", "X-Wc-Webhook-Signature", "Typeform-Signature", "Tally-Signature",
						"X-Hub-Signature-256", "X-Hubspot-Signature-V3", "X-Cal-Signature-256", "Linear-Signature", "Attio-Signature",
						"X-Notion-Signature", "Framer-Signature", "Webhook-Signature", "X-Frappe-Webhook-Signature",
						"X-Chatwoot-Signature", "X-Zendesk-Webhook-Signature", "X-Zm-Signature", "X-Twitter-Webhooks-Signature", "X-LI-Signature",
					} {
						value := hexOf(key, challenge)
						const inBase64 = "X-Wc-Webhook-Signature Tally-Signature Typeform-Signature X-Hubspot-Signature-V3 " +
							"Webhook-Signature X-Frappe-Webhook-Signature X-Zendesk-Webhook-Signature X-Twitter-Webhooks-Signature"
						if strings.HasSuffix(name, "Sha256") || slices.Contains(strings.Fields(inBase64), name) {
							value = sign(key, challenge)
						}
						header = append(header, name, value)
					}
					header = append(header, "X-Zm-Request-Timestamp", at, "X-Chatwoot-Timestamp", at, "Framer-Webhook-Submission-Id", "",
						"Calendly-Webhook-Signature", "t="+at+",v1="+hexOf(key, challenge), "Stripe-Signature", "t="+at+",v1="+hexOf(key, challenge))
					if got := s.Do("POST", s.path, body, header...); got.Status == 200 && strings.Contains(string(got.Body), `"created":1`) || got.Status == 429 {
						t.Errorf("%s: the answer to %q signs %q: %s", scheme, challenge, body, got.Body)
					}
				}
			}
		}
	}
	if total, err := f.App.CountRecords("contacts"); err != nil || total != 0 {
		t.Errorf("there are %d contacts (%v)", total, err)
	}
}

func TestInboundEchoes(t *testing.T) {
	t.Parallel()
	_, f := newAPI(t)
	s := newSender(t, f, "full", map[string]any{"verifySecret": "nobody signs a handshake"})
	strava := newSender(t, f, "full", map[string]any{"verifyScheme": "strava"})
	grid := `[{"id":"2d17","eventType":"Microsoft.EventGrid.SubscriptionValidationEvent","data":{"validationCode":"512d38b6"},"dataVersion":"1"}]`
	token := strings.TrimPrefix(strava.path, "/api/hooks/")
	for _, c := range []struct {
		to                  *sender
		method, query, body string
		header              []string
		status              int
		want, kind          string
	}{
		{s, "POST", "", grid, []string{"aeg-event-type", "SubscriptionValidation"}, 200, `{"validationResponse":"512d38b6"}`, "application/json"},
		{s, "POST", "", strings.Replace(grid, "512d38b6", "ä", 1), nil, 400, "invalid_parameter", "application/json"},
		{s, "POST", "", `[{"eventType":"Other","data":{"validationCode":"1"}}]`, nil, 401, "invalid_signature", "application/json"},
		{s, "POST", "", `{"challenge":"pogchamp","subscription":{"id":"f1"}}`, nil, 200, "pogchamp", "text/plain"},
		{s, "POST", "", `{"challenge":"c","webhookId":7}`, []string{"Smartsheet-Hook-Challenge", "c"}, 200, `{"smartsheetHookResponse":"c"}`, "application/json"},
		{s, "POST", "", `{"challenge":"c","webhookId":7,"name":"Ada"}`, nil, 401, "invalid_signature", "application/json"},
		{s, "GET", "", "", []string{"X-Okta-Verification-Challenge", "my value"}, 200, `{"verification":"my value"}`, "application/json"},
		{s, "GET", "?hub.mode=subscribe&hub.topic=https%3A%2F%2Fexample.com&hub.challenge=abc", "", nil, 200, "abc", "text/plain"},
		{s, "GET", "?hub.mode=subscribe&hub.topic=t&hub.challenge=abc&hub.verify_token=x", "", nil, 403, "forbidden", "application/json"},
		{s, "GET", "?hub.mode=subscribe&hub.challenge=abc", "", nil, 403, "forbidden", "application/json"},
		{strava, "GET", "?hub.mode=subscribe&hub.challenge=15f7&hub.verify_token=" + token, "", nil, 200, `{"hub.challenge":"15f7"}`, "application/json"},
		{strava, "GET", "?hub.mode=subscribe&hub.challenge=15f7&hub.verify_token=x", "", nil, 403, "forbidden", "application/json"},
		{s, "OPTIONS", "", "", []string{"WebHook-Request-Origin", "eventgrid.azure.net", "WebHook-Request-Rate", "120"}, 200, "", ""},
		{s, "OPTIONS", "", "", []string{"Origin", "https://example.com", "Access-Control-Request-Method", "POST"}, 405, "method_not_allowed", "application/json"},
	} {
		got := c.to.Do(c.method, c.to.path+c.query, c.body, c.header...)
		text := string(got.Body)
		if got.Status != 200 {
			text = got.Code()
		}
		if got.Status != c.status || text != c.want || !strings.HasPrefix(got.Header.Get("Content-Type"), c.kind) {
			t.Errorf("%s %s %s gives %d %s %v", c.method, c.query, c.body, got.Status, got.Body, got.Header)
		}
		if c.method == "OPTIONS" {
			allowed := map[int]string{200: "eventgrid.azure.net"}[c.status]
			if got.Header.Get("WebHook-Allowed-Origin") != allowed || got.Header.Get("Access-Control-Allow-Origin") != "" {
				t.Errorf("OPTIONS gives %v", got.Header)
			}
		}
	}
	if total, err := f.App.CountRecords("contacts"); err != nil || total != 0 {
		t.Errorf("there are %d contacts (%v)", total, err)
	}
}
