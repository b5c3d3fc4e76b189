package routes_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
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
