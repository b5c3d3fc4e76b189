package routes_test

import (
	"testing"

	"contactbase/internal/testkit"
)

// Members have a limit, below our prefix and in PocketBase's own API. It comes before the body is read.
func TestRequestsOfMembersAreLimited(t *testing.T) {
	t.Parallel()
	_, f := newAPI(t)
	f.App.Settings().RateLimits.Enabled = false
	client := testkit.NewClient(t, f.base, "")
	client.Header.Set("Authorization", newMember(t, f))
	paths := []string{"/api/collections/webhooks/records", "/api/integrations/overview", "/api/realtime/none", "/api/batch"}
	var got *testkit.Answer
	sent := 0
	for ; sent < 5_000; sent++ {
		if got = client.Do("GET", paths[sent%2], ""); got.Status == 429 {
			break
		}
	}
	if sent < 100 {
		t.Errorf("the limit is reached after %d requests", sent)
	}
	for _, path := range append(paths[:1:1], paths[2:]...) {
		got := client.Do("POST", path, "{")
		if got.Status == 429 && (got.Code() != "rate_limited" || got.Header.Get("Retry-After") != "1") {
			t.Errorf("%s gives %v %s", path, got.Header, got.Body)
		}
	}
	if got := client.Do("GET", paths[0], ""); got.Status == 429 && got.JSON()["message"] == "" {
		t.Errorf("PocketBase's clients find no message in %s", got.Body)
	}
	if got := newAdmin(t, f).Do("GET", paths[0], ""); got.Status != 200 {
		t.Errorf("a superuser gets %d %s", got.Status, got.Body)
	}
}
