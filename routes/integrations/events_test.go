package integrations_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/pocketbase/dbx"

	"contactbase/internal/event"
	"contactbase/internal/testkit"
)

// The list of events filters by each property, and its pages follow each other without gaps. An event is found by the id
// that receivers see and by that of its record.
func TestListEvents(t *testing.T) {
	t.Parallel()
	_, f := newAPI(t)
	admin := newAdmin(t, f)
	webhook := testkit.Webhook(t, f.App, f.tenant, "https://example.com", "")
	var ids []string
	for i := range 5 {
		kind := []event.Kind{event.ContactCreated, event.ContactUpdated}[i%2]
		ids = append(ids, event.IDPrefix+testkit.Emit(t, f.App, f.tenant, fmt.Sprint("contact", i/2), kind))
	}
	other := event.IDPrefix + testkit.Emit(t, f.App, testkit.Tenant(t, f.App, "Other"), "contact0", event.ContactUpdated)
	testkit.DeliveryOf(t, f.App, strings.TrimPrefix(ids[4], event.IDPrefix))
	slices.Reverse(ids)

	list := func(query string) (got []string, page map[string]any) {
		t.Helper()
		answer := admin.Do("GET", "/api/integrations/events?"+query, "")
		if answer.Status != 200 {
			t.Fatalf("%s gives %d %s", query, answer.Status, answer.Body)
		}
		page = answer.JSON()
		for _, line := range page["data"].([]any) {
			got = append(got, line.(map[string]any)["id"].(string))
		}
		return got, page
	}
	for query, want := range map[string][]string{
		"tenant=" + f.tenant: ids, "": append([]string{other}, ids...), "contact=contact0": {other, ids[3], ids[4]},
		"contact=contact0&tenant=" + f.tenant: ids[3:], "type=contact.updated&tenant=" + f.tenant: {ids[1], ids[3]},
		"id=" + ids[2]: {ids[2]}, "id=" + strings.TrimPrefix(ids[2], event.IDPrefix): {ids[2]}, "id=nothing": nil,
		"before=" + ids[2]: ids[3:], "since=2039-01-01T00:00:00Z": nil, "since=2020-01-01T00:00:00Z&tenant=" + f.tenant: ids,
	} {
		if got, _ := list(query); !slices.Equal(got, want) {
			t.Errorf("%q lists %v", query, got)
		}
	}
	var all []string
	for before := ""; ; {
		got, page := list("limit=2&tenant=" + f.tenant + "&before=" + before)
		all = append(all, got...)
		if page["hasMore"] == false {
			break
		}
		before = page["nextBefore"].(string)
	}
	if !slices.Equal(all, ids) {
		t.Errorf("the pages have %v", all)
	}
	_, every := list("limit=1")
	_, own := list("limit=1&tenant=" + f.tenant)
	if of, one := lineOf(every)["tenant"], lineOf(own)["tenant"]; of == nil || of == f.tenant || one != nil {
		t.Errorf("the first event of all is of %v, that of a tenant of %v", of, one)
	}
	_, page := list("id=" + ids[0])
	if got := fmt.Sprint(page["data"].([]any)[0].(map[string]any)["deliveries"]); got != "map[delivered:0 failed:0 pending:1]" {
		t.Errorf("the deliveries are %s", got)
	}
	one := admin.Do("GET", "/api/integrations/events/"+ids[0], "").Data()
	recipients := one["recipients"].([]any)
	if one["id"] != ids[0] || one["payload"].(map[string]any)["id"] != ids[0] || len(recipients) != 1 ||
		recipients[0].(map[string]any)["webhook"] != webhook {
		t.Errorf("the event is %v", one)
	}
	for _, query := range []string{"since=today", "limit=0"} {
		if got := admin.Do("GET", "/api/integrations/events?"+query, ""); got.Status != 400 || got.Code() != "invalid_parameter" {
			t.Errorf("%s gives %d %s", query, got.Status, got.Body)
		}
	}
}

// lineOf returns the first line of a page.
func lineOf(page map[string]any) map[string]any { return page["data"].([]any)[0].(map[string]any) }

// An event is sent again to all its webhooks or to one, also to one that never received it.
func TestRedeliverEvent(t *testing.T) {
	t.Parallel()
	_, f := newAPI(t)
	admin := newAdmin(t, f)
	first := testkit.Webhook(t, f.App, f.tenant, "https://example.com/first", "")
	second := testkit.Webhook(t, f.App, f.tenant, "https://example.com/second", "")
	id := testkit.Emit(t, f.App, f.tenant, "contact", event.ContactUpdated)
	testkit.DeliveryOf(t, f.App, id)
	late := testkit.Webhook(t, f.App, f.tenant, "https://example.com/late", "")
	strange := testkit.Webhook(t, f.App, testkit.Tenant(t, f.App, "Other"), "https://example.com", "")
	reset := "UPDATE deliveries SET status = 'delivered', attempts = 1, nextAttempt = ''"
	for _, step := range []struct {
		body    string
		status  int
		count   any
		pending string
	}{
		{"", 200, 2., first + second},
		{`{"webhook":"` + second + `"}`, 200, 1., second},
		{`{"webhook":"` + late + `"}`, 200, 1., late},
		{"", 200, 3., first + second + late},
		{`{"webhook":"` + strange + `"}`, 404, nil, ""},
	} {
		testkit.Execute(t, f.App, reset, nil)
		got := admin.Do("POST", "/api/integrations/events/evt_"+id+"/redeliver", step.body)
		if got.Status != step.status || step.count != nil && got.Data()["count"] != step.count {
			t.Errorf("%s gives %d %s", step.body, got.Status, got.Body)
		}
		var pending string
		if err := f.App.DB().NewQuery("SELECT coalesce(group_concat(webhook, ''), '') FROM " +
			"(SELECT webhook FROM deliveries WHERE status = 'pending' ORDER BY rowid)").Row(&pending); err != nil || pending != step.pending {
			t.Errorf("after %s the deliveries to %s are pending (%v)", step.body, pending, err)
		}
	}
	if got := admin.Do("POST", "/api/integrations/events/nothing/redeliver", ""); got.Status != 404 {
		t.Errorf("an unknown event gives %d %s", got.Status, got.Body)
	}
	testkit.Execute(t, f.App, `UPDATE events SET payload = '{"erased":true}' WHERE id = {:id}`, dbx.Params{"id": id})
	if got := admin.Do("POST", "/api/integrations/events/"+id+"/redeliver", ""); got.Status != 400 {
		t.Errorf("an erased event gives %d %s", got.Status, got.Body)
	}
}

// Members see the events of their tenant only, and only admins send them again.
func TestEventsOfMembers(t *testing.T) {
	t.Parallel()
	_, f := newAPI(t)
	own := newCustomer(t, f, "Own")
	strange := testkit.Emit(t, f.App, f.tenant, "", event.ContactUpdated)
	mine := testkit.Emit(t, f.App, own.ids["tenants"], "", event.ContactUpdated)
	for _, c := range []struct {
		client *testkit.Client
		method string
		path   string
		want   int
	}{
		{own.viewer, "GET", "/events/" + mine, 200},
		{own.viewer, "GET", "/events/" + strange, 404},
		{own.viewer, "GET", "/events?tenant=" + f.tenant, 404},
		{own.viewer, "POST", "/events/" + mine + "/redeliver", 403},
		{own.admin, "POST", "/events/" + mine + "/redeliver", 200},
		{own.admin, "POST", "/events/" + strange + "/redeliver", 404},
	} {
		if got := c.client.Do(c.method, integrationsPath+c.path, ""); got.Status != c.want {
			t.Errorf("%s %s gives %d %s", c.method, c.path, got.Status, got.Body)
		}
	}
	for _, line := range own.viewer.Do("GET", integrationsPath+"/events", "").JSON()["data"].([]any) {
		if line.(map[string]any)["id"] == event.IDPrefix+strange {
			t.Error("a member sees the event of another tenant")
		}
	}
}
