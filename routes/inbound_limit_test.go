package routes_test

import (
	"fmt"
	"strconv"
	"testing"

	"contactbase/internal/testkit"
)

// A shop's bulk edit, sent all at once, loses nothing. What is refused comes with the time to wait, and is counted.
func TestInboundLimit(t *testing.T) {
	t.Parallel()
	_, f := newAPI(t)
	admin := newAdmin(t, f)
	refused := func(name string) any {
		t.Helper()
		testkit.CountActivity(t, f.App)
		webhook, err := f.App.FindFirstRecordByData("inbound_webhooks", "name", name)
		if err != nil {
			t.Fatal(err)
		}
		return admin.Do("GET", "/api/integrations/inbound/requests?inbound="+webhook.Id, "").Data()["limited"]
	}
	shop := newSender(t, f, "upsert", map[string]any{"name": "shop"})
	for i := range 60 {
		shop.expect("created:1", fmt.Sprintf(`{"id":%d,"email":"c%d@example.com"}`, i, i))
	}
	if got := refused("shop"); got != 0.0 {
		t.Errorf("%v are refused", got)
	}
	slow := newSender(t, f, "upsert", map[string]any{"name": "slow", "rateLimit": 4})
	slow.expect("created:1", `{"name":"A"}`)
	if got := slow.Do("GET", slow.path+"?challenge=x", ""); got.Status != 200 {
		t.Errorf("the second of a burst of two gives %d", got.Status)
	}
	answer := slow.expect("429 rate_limited", `{"name":"B"}`)
	if wait, err := strconv.Atoi(answer.Header.Get("Retry-After")); err != nil || wait < 1 || wait > 15 {
		t.Errorf("Retry-After is %q", answer.Header.Get("Retry-After"))
	}
	slow.expect("429 rate_limited", `{"name":"B"}`)
	if got := refused("slow"); got != 2.0 {
		t.Errorf("%v are refused", got)
	}
}
