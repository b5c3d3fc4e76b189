package routes_test

import (
	"strings"
	"testing"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/testkit"
)

// nested returns JSON with this many levels.
func nested(levels int) string {
	return strings.Repeat("[", levels) + strings.Repeat("]", levels)
}

func withMeta(t *testing.T) (*testkit.Client, *fixture) {
	t.Helper()
	client, f := newAPI(t)
	testkit.AddFields(t, f.App, &core.JSONField{Name: "meta"})
	return client, f
}

// Every interface accepts JSON of at most 100 levels.
func TestDepthOfJSON(t *testing.T) {
	t.Parallel()
	client, f := withMeta(t)
	admin := newAdmin(t, f)
	const records = "/api/collections/contacts/records"
	path := client.Do("POST", contactsPath, `{"name":"Ada"}`).Location()
	id := strings.TrimPrefix(path, contactsPath+"/")
	for door, set := range map[string]func(meta string) *testkit.Answer{
		"POST": func(meta string) *testkit.Answer {
			return client.Do("POST", contactsPath, `{"name":"New","meta":`+meta+`}`)
		},
		"PATCH": func(meta string) *testkit.Answer { return client.Do("PATCH", path, `{"meta":`+meta+`}`) },
		"records API, create": func(meta string) *testkit.Answer {
			return admin.Do("POST", records, `{"tenant":"`+f.tenant+`","name":"New","meta":`+meta+`}`)
		},
		"records API, update": func(meta string) *testkit.Answer { return admin.Do("PATCH", records+"/"+id, `{"meta":`+meta+`}`) },
		"records API, as text": func(meta string) *testkit.Answer {
			return admin.Do("PATCH", records+"/"+id, `{"meta":"`+meta+`"}`)
		},
	} {
		for levels, ok := range map[int]bool{1: true, 100: true, 101: false, 1500: false, 9000: false} {
			got := set(nested(levels))
			if (got.Status <= 201) != ok || !ok && (got.Status != 400 || !strings.Contains(string(got.Body), "at most 100 levels")) {
				t.Errorf("%s: %d levels give %d %.200s", door, levels, got.Status, got.Body)
			}
		}
	}
	for _, flat := range []string{strings.Repeat("[],", 200) + "{}", `"` + nested(200) + `"`, `"\"` + nested(200) + `"`, `{"` + nested(200) + `":"\\"}`} {
		if got := client.Do("PATCH", path, `{"meta":[`+flat+`]}`); got.Status != 200 {
			t.Errorf("%.20s gives %d %s", flat, got.Status, got.Body)
		}
	}
	if got := client.Do("PATCH", path, `{"meta":["\\",`+nested(100)+`]}`); got.Status != 400 {
		t.Errorf("101 levels behind a backslash give %d %s", got.Status, got.Body)
	}
	if got := client.Do("PATCH", path, `{"meta":`+nested(101)+`}`); got.Code() != "validation_failed" || got.FieldCode("meta") != "invalid_type" {
		t.Errorf("101 levels give %d %s", got.Status, got.Body)
	}
	if got := client.Do("PATCH", path, `{"meta":`+nested(20_000)+`}`); got.Status != 400 || got.Code() != "invalid_json" {
		t.Errorf("more than the decoder takes gives %d %s", got.Status, got.Body)
	}
	// for an inbound webhook, the value is a text with any content
	s := newSender(t, f, "full", nil)
	s.expect("updated:1", `{"id":"`+id+`","meta":"`+nested(1500)+`"}`)
	if got := client.Do("GET", path, ""); got.Data()["meta"] != nested(1500) {
		t.Errorf("a text is read as %.100s", got.Body)
	}
}

// JSON stored before there was a limit can be changed, sent again, and deleted without a trace.
func TestDeeperJSONThatIsStored(t *testing.T) {
	t.Parallel()
	client, f := withMeta(t)
	admin := newAdmin(t, f)
	webhook := testkit.Webhook(t, f.App, f.tenant, "https://example.com/hook", "")
	path := client.Do("POST", contactsPath, `{"name":"Ada","meta":[]}`).Location()
	id := strings.TrimPrefix(path, contactsPath+"/")
	execute := func(statement string) {
		t.Helper()
		if _, err := f.App.DB().NewQuery(statement).Bind(map[string]any{"deep": nested(1500)}).Execute(); err != nil {
			t.Fatal(err)
		}
	}
	execute("UPDATE contacts SET meta = {:deep}")
	execute(`UPDATE events SET payload = replace(payload, '"meta":[]', '"meta":' || {:deep})`)

	if got := client.Do("PATCH", path, `{"name":"Grace"}`); got.Status != 200 {
		t.Errorf("changing another field gives %d %.200s", got.Status, got.Body)
	}
	if got := admin.Do("PATCH", "/api/collections/contacts/records/"+id, `{"name":"Hopper"}`); got.Status != 200 {
		t.Errorf("changing another field in the dashboard gives %d %.200s", got.Status, got.Body)
	}
	testkit.FanOut(t, f.App)
	var deep []string
	if err := f.App.DB().NewQuery("SELECT d.id FROM deliveries d JOIN events e ON e.id = d.event WHERE NOT json_valid(e.payload)").Column(&deep); err != nil || len(deep) != 3 {
		t.Fatalf("%d events are deeper than SQLite reads (%v)", len(deep), err)
	}
	if got := admin.Do("POST", "/api/integrations/deliveries/"+deep[0]+"/redeliver", ""); got.Status != 200 {
		t.Errorf("redelivering gives %d %s", got.Status, got.Body)
	}
	execute("UPDATE deliveries SET status = 'failed'")
	if got := admin.Do("POST", "/api/integrations/webhooks/"+webhook+"/recover", `{"since":"2020-01-01T00:00:00Z"}`); got.Status != 200 || got.Data()["count"] != 3.0 {
		t.Errorf("recovering gives %d %s", got.Status, got.Body)
	}
	execute("UPDATE deliveries SET status = 'delivered'")
	if got := admin.Do("DELETE", "/api/collections/contacts/records/"+id, ""); got.Status != 204 {
		t.Fatalf("deleting gives %d %s", got.Status, got.Body)
	}
	testkit.Sweep(t, f.App)
	var left int
	if err := f.App.DB().NewQuery(`SELECT count(*) FROM events WHERE type != 'contact.deleted' AND payload NOT LIKE '%"data":{"id":"' || contact || '"},"erased":true}'`).Row(&left); err != nil || left != 0 {
		t.Errorf("%d events still tell about the contact (%v)", left, err)
	}
}

// Of a name that JSON repeats, the last value counts, and every response and event has the same one.
func TestRepeatedKeys(t *testing.T) {
	t.Parallel()
	client, f := withMeta(t)
	created := client.Do("POST", contactsPath, `{"name":"Ada","email":"a@example.com","name":"Grace","meta":{"a":1,"a":2}}`)
	if created.Status != 201 || created.Data()["name"] != "Grace" {
		t.Fatalf("a repeated name gives %d %s", created.Status, created.Body)
	}
	path := created.Location()
	if got := client.Do("GET", path, ""); string(got.Body) != string(created.Body) || got.Header.Get("Etag") != created.Header.Get("Etag") {
		t.Errorf("it is created as %s and read as %s", created.Body, got.Body)
	}
	changed := client.Do("PATCH", path, `{"meta":{"a":3,"a":[{"b":1,"b":2}]}}`)
	if got := client.Do("GET", path, ""); changed.Status != 200 || string(got.Body) != string(changed.Body) {
		t.Errorf("it is changed to %s and read as %s", changed.Body, got.Body)
	}
	if got := client.Do("PATCH", path, `{"meta":{"a":3,"a":[{"b":1,"b":2}]}}`); string(got.Body) != string(changed.Body) {
		t.Errorf("the same change again gives %s", got.Body)
	}
	feed := client.Do("GET", "/api/ext/v1/events?after=", "")
	data := strings.TrimSuffix(strings.TrimPrefix(string(changed.Body), `{"data":`), "}")
	if !strings.Contains(string(feed.Body), `"data":`+data) {
		t.Errorf("the event lacks the contact %s: %s", data, feed.Body)
	}
	if events := testkit.Count(t, f.App, "SELECT count(*) FROM events", nil); events != 2 {
		t.Errorf("%d events instead of 2", events)
	}
}
