package delivery_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"contactbase/internal/delivery"
)

// The URLs that members set lead to public addresses and to the inspector, unless the sender trusts members; and
// never to transports.
func TestMembersURLs(t *testing.T) {
	t.Parallel()
	var calls atomic.Int32
	receiver := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { calls.Add(1) }))
	t.Cleanup(receiver.Close)
	for name, trusts := range map[string]bool{"as it is": false, "trusting": true} {
		calls.Store(0)
		s := sender()
		s.Handle(delivery.InspectScheme, delivery.Inspector{})
		s.Handle("pigeon", pigeons{})
		if trusts {
			s.TrustMembers()
		}
		for raw, allowed := range map[string]bool{
			"https://example.com": true, "http://example.com": true, "inspect:": true, "inspect:x": false, "pigeon:roof": false, "file:///etc/passwd": false,
			receiver.URL: trusts, "http://localhost:1": trusts, "http://[::1]:1": trusts, "http://169.254.169.254": trusts, "http://10.0.0.1": trusts,
		} {
			if err := s.CheckURL(raw, true); (err == nil) != allowed {
				t.Errorf("%s, a member's %s: %v", name, raw, err)
			}
		}
		for raw, want := range map[string]string{receiver.URL: "blocked address: the URL", "pigeon:roof": "unsupported protocol scheme"} {
			j := job(raw)
			j.Endpoint.MemberOwned = true
			attempt := s.Send(t.Context(), j)
			if trusts && raw == receiver.URL {
				want = ""
			}
			if !strings.HasPrefix(attempt.Error, want) || (attempt.Error == "") != (want == "") || strings.Contains(attempt.Error, "127.0.0.1") {
				t.Errorf("%s, an attempt to %s ends with %q", name, raw, attempt.Error)
			}
		}
		if n := calls.Load(); (n == 1) != trusts || n > 1 {
			t.Errorf("%s, the receiver got %d calls", name, n)
		}
	}
}
