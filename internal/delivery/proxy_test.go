package delivery_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"contactbase/internal/delivery"
	"contactbase/internal/safehttp"
)

// What the proxy refuses is the attempt's error, which names it. URLs of members are refused before, if only the proxy
// could resolve them, unless the operator trusts members.
func TestAttemptsThroughAProxy(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) }))
	t.Cleanup(server.Close)
	proxy, err := url.Parse(strings.Replace(server.URL, "://", "://ada:s3cret@", 1))
	if err != nil {
		t.Fatal(err)
	}
	refused := "the proxy " + proxy.Host + " rejected the request: 403 Forbidden"
	for _, c := range []struct {
		member, trusted bool
		url, want       string
	}{
		{false, false, "https://crm.invalid/hook", refused},
		{true, true, "https://crm.invalid/hook", refused},
		{true, false, "https://crm.invalid/hook", "blocked address: the host cannot be resolved here, only by the proxy, and a member of the tenant has set the URL"},
		{true, false, "https://10.0.0.1/hook", "blocked address: the URL does not lead to the public internet, and a member of the tenant has set it"},
		{false, false, "https://10.0.0.1/hook", "blocked address: 10.0.0.1 is not a public address; to let webhooks reach it, start the server or command with --webhookAllow 10.0.0.1/32"},
	} {
		sender := delivery.NewSender(safehttp.New(safehttp.Options{Proxy: proxy}), "1.2.3")
		sender.UseProxy(proxy)
		if c.trusted {
			sender.TrustMembers()
		}
		sent := job(c.url)
		sent.Endpoint.MemberOwned = c.member
		if got := sender.Send(t.Context(), sent).Error; got != c.want {
			t.Errorf("%+v: %s", c, got)
		}
	}
}
