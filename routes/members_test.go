package routes_test

import (
	"net/http"
	"strings"
	"testing"

	"contactbase/internal/testkit"
)

// Members have a limit, below our prefix and in PocketBase's own API. It comes before the body is read.
func TestRequestsOfMembersAreLimited(t *testing.T) {
	t.Parallel()
	_, f := newStoppedAPI(t)
	f.App.Settings().RateLimits.Enabled = false
	client := testkit.NewClient(t, f.base, "")
	client.Header.Set("Authorization", newMember(t, f))
	paths := []string{"/api/collections/webhooks/records", "/api/integrations/overview", "/api/realtime/none", "/api/batch"}
	for sent := range 100 {
		if got := client.Do("GET", paths[sent%2], ""); got.Status != http.StatusOK {
			t.Fatalf("request %d gets %d %s", sent, got.Status, got.Body)
		}
	}
	for _, path := range paths {
		if got := client.Do("POST", path, "{"); got.Code() != "rate_limited" || got.Header.Get("Retry-After") != "1" {
			t.Errorf("%s gives %d %v %s", path, got.Status, got.Header, got.Body)
		}
	}
	if got := client.Do("GET", paths[0], ""); got.Status != http.StatusTooManyRequests || got.JSON()["message"] == "" {
		t.Errorf("PocketBase's clients get %d %s", got.Status, got.Body)
	}
	if got := newAdmin(t, f).Do("GET", paths[0], ""); got.Status != http.StatusOK {
		t.Errorf("a superuser gets %d %s", got.Status, got.Body)
	}
}

// A member's batch counts as the requests in it. One that the limit does not allow writes nothing and counts as one.
func TestBatchesOfMembersAreLimited(t *testing.T) {
	t.Parallel()
	_, f := newStoppedAPI(t)
	f.App.Settings().RateLimits.Enabled, f.App.Settings().Batch.Enabled = false, true
	f.App.Settings().Batch.Timeout = 600 // seconds; otherwise 3, which a slow machine exceeds
	client := testkit.NewClient(t, f.base, "")
	client.Header.Set("Authorization", newMember(t, f))
	path := "/api/collections/webhooks/records"
	batch := func(n int) string {
		request := `{"method":"POST","url":"` + path + `","body":{"tenant":"` + f.tenant + `","url":"https://example.com"}}`
		return `{"requests":[` + strings.Repeat(request+",", n-1) + request + `]}`
	}
	for _, tc := range []struct{ requests, status int }{{50, 200}, {40, 200}, {11, 429}, {9, 200}, {1, 429}} {
		if got := client.Do("POST", "/api/batch", batch(tc.requests)); got.Status != tc.status {
			t.Errorf("a batch of %d requests gets %d %.300s", tc.requests, got.Status, got.Body)
		}
	}
	if n := testkit.Count(t, f.App, "SELECT count(*) FROM webhooks", nil); n != 99 {
		t.Errorf("the batches within the limit have made %d webhooks of 99", n)
	}
}
