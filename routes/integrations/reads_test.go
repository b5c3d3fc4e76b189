package integrations_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/pocketbase/dbx"

	"contactbase/internal/stamp"
	"contactbase/internal/testkit"
)

// What the collections of deliveries, requests and events show to superusers, members read by routes.
func TestWhatMembersRead(t *testing.T) {
	t.Parallel()
	_, f := newAPI(t)
	own := newCustomer(t, f, "Own")
	for number, status := range []int{0, 204} {
		testkit.Execute(t, f.App, "INSERT INTO delivery_attempts (id, delivery, number, started, status, error, requestHeaders, responseHeaders) "+
			"VALUES ({:id}, {:delivery}, {:number}, {:at}, {:status}, '', '{\"X-Event\":\"contact.created\"}', '{}')",
			dbx.Params{"id": fmt.Sprint("attempt", number), "delivery": own.ids["deliveries"], "number": number + 1,
				"at": stamp.Stored(time.Now().Add(time.Duration(number) * time.Minute)), "status": status})
	}
	attempts := own.viewer.Do("GET", integrationsPath+"/deliveries/"+own.ids["deliveries"]+"/attempts", "").JSON()["data"].([]any)
	if len(attempts) != 2 || attempts[0].(map[string]any)["status"] != 204.0 || attempts[1].(map[string]any)["status"] != nil {
		t.Errorf("the attempts are %v", attempts)
	}
	listed := own.viewer.Do("GET", integrationsPath+"/deliveries?webhook="+own.ids["webhooks"], "").JSON()["data"].([]any)
	if len(listed) != 1 || listed[0].(map[string]any)["contactName"] != "Ada" {
		t.Errorf("the deliveries are %v", listed)
	}

	path := integrationsPath + "/inbound/requests?inbound=" + own.ids["inbound_webhooks"]
	for query, want := range map[string]string{"": "1 1 1 25 1", "&page=2": "0 1 2 25 1", "&perPage=1000": "1 1 1 100 1"} {
		page := own.viewer.Do("GET", path+query, "").Data()
		items := page["items"].([]any)
		if got := fmt.Sprint(len(items), page["totalItems"], page["page"], page["perPage"], page["totalPages"]); got != want {
			t.Errorf("%q lists %s", query, got)
		}
	}
	for _, query := range []string{"&page=0", "&perPage=many"} {
		if got := own.viewer.Do("GET", path+query, ""); got.Status != 400 {
			t.Errorf("%q is answered %d %s", query, got.Status, got.Body)
		}
	}
	request := own.viewer.Do("GET", integrationsPath+"/inbound/requests/"+own.ids["inbound_requests"]+"/details", "").Data()
	if request["body"] != `{"name":"Grace"}` || request["result"].(map[string]any)["created"] != 1.0 {
		t.Errorf("the request is %v", request)
	}

	history := own.viewer.Do("GET", integrationsPath+"/contacts/"+own.ids["contacts"]+"/events", "").Data()
	event := history["events"].([]any)[0].(map[string]any)
	delivery := event["deliveries"].([]any)[0].(map[string]any)
	if got := fmt.Sprint(history["contact"].(map[string]any)["name"], " ", event["type"], " ", delivery["webhookURL"], " ", delivery["status"]); got != "Ada contact.created inspect: pending" {
		t.Errorf("the history is %s", got)
	}
}
