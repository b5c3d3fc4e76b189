package routes_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"strconv"
	"strings"
	"testing"
	"time"
)

// sign returns the base64 of the HMAC-SHA256.
func sign(key, content string) string {
	mac := hmac.New(sha256.New, []byte(key))
	mac.Write([]byte(content))
	return base64.StdEncoding.EncodeToString(mac.Sum(nil))
}

func TestInboundSchemes(t *testing.T) {
	t.Parallel()
	_, f := newAPI(t)
	const body, secret = `{"name":"Ada"}`, "shop secret of 22 bytes"
	shop := newSender(t, f, "upsert", map[string]any{"verifySecret": secret, "verifyScheme": "shopify"})
	shop.expect("401 invalid_signature", body)
	shop.expect("401 invalid_signature", body, "X-Shopify-Hmac-Sha256", sign("another", body))
	shop.expect("created:1", body, "X-Shopify-Hmac-Sha256", sign(secret, body))
	if got := shop.expect("401 invalid_signature", body, "Tally-Signature", sign(secret, body)); !strings.Contains(string(got.Body), "scheme to tally") {
		t.Errorf("another scheme's header gives %s", got.Body)
	}
}

// HubSpot signs the address as the Application URL has it, which a proxy may have changed.
func TestInboundHubSpot(t *testing.T) {
	t.Parallel()
	_, f := newAPI(t)
	settings := f.App.Settings()
	settings.Meta.AppURL = "https://crm.example.com/contacts"
	if err := f.App.Save(settings); err != nil {
		t.Fatal(err)
	}
	hubspot := newSender(t, f, "upsert",
		map[string]any{"verifySecret": "app secret of 21 bytes", "verifyScheme": "hubspot"})
	const body = `{"name":"Ada"}`
	at := strconv.FormatInt(time.Now().UnixMilli(), 10)
	for query, signed := range map[string]string{"": "", "?from=a%40b": "?from=a@b"} {
		to := *hubspot
		to.path += query
		signature := sign("app secret of 21 bytes", "POST"+"https://crm.example.com/contacts"+hubspot.path+signed+body+at)
		to.expect("created:1", body, "X-HubSpot-Request-Timestamp", at, "X-HubSpot-Signature-v3", signature)
		to.expect("401 invalid_signature", body, "X-HubSpot-Request-Timestamp", at,
			"X-HubSpot-Signature-v3", sign("app secret of 21 bytes", "POST"+f.base+hubspot.path+signed+body+at))
	}
}

// A sender that is not named signs with a header of its own, or sends a token. Neither is stored.
func TestInboundCustomHeader(t *testing.T) {
	t.Parallel()
	_, f := newAPI(t)
	const body = `{"name":"Ada"}`
	signed := newSender(t, f, "upsert", map[string]any{
		"verifySecret": repeatsSecret, "verifyScheme": "hmac", "verifyHeader": "X-Own-Signature", "verifyTimestamp": "X-Own-Time",
	})
	at := unix()
	signed.expect("401 invalid_signature", body)
	signed.expect("401 invalid_signature", body, "X-Own-Signature", signHex(body), "X-Own-Time", at)
	signed.expect("401 invalid_signature", body, "X-Own-Signature", signHex(at+"."+body))
	signed.expect("401 invalid_signature", body, "X-Own-Signature", signHex("1700000000."+body), "X-Own-Time", "1700000000")
	signed.expect("created:1", body, "X-Own-Signature", "v1="+signHex(at+"."+body), "X-Own-Time", at)
	token := newSender(t, f, "upsert", map[string]any{
		"verifySecret": repeatsSecret, "verifyScheme": "token", "verifyHeader": "Authorization",
	})
	token.expect("401 invalid_signature", body)
	token.expect("401 invalid_signature", body, "Authorization", repeatsSecret+"x")
	token.expect("created:1", body, "Authorization", "Bearer "+repeatsSecret, "webhook-id", "1")
	token.expect("created:1", body, "Authorization", repeatsSecret, "webhook-id", "2") // the same: a replay under another id
	if total, err := f.App.CountRecords("contacts"); err != nil || total != 2 {
		t.Errorf("there are %d contacts (%v)", total, err)
	}
	gitlab := newSender(t, f, "upsert", map[string]any{"verifySecret": repeatsSecret, "verifyScheme": "gitlab"})
	gitlab.expect("ignored:1", `{"event_name":"push"}`, "X-Gitlab-Token", repeatsSecret)
	strava := newSender(t, f, "upsert", map[string]any{"verifyScheme": "strava", "verifySecret": repeatsSecret})
	strava.expect("401 invalid_signature", body)
	for _, table := range []string{"inbound_requests", "inbound_webhooks", "_idempotency"} {
		var rows string
		query := "SELECT group_concat(hex(CAST(x AS BLOB))) FROM (SELECT json_group_array(json_quote(CAST(" +
			map[string]string{"inbound_requests": "body || result || contentType", "inbound_webhooks": "verifySecret || verifyHeader", "_idempotency": "body || key"}[table] +
			" AS TEXT))) AS x FROM `" + table + "`)"
		if err := f.App.DB().NewQuery(query).Row(&rows); err != nil {
			t.Fatal(err)
		}
		if plain, err := hex.DecodeString(rows); table != "inbound_webhooks" && (err != nil || strings.Contains(string(plain), repeatsSecret)) {
			t.Errorf("%s has %s (%v)", table, plain, err)
		}
	}
}
