package hooks_test

import (
	"testing"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/member"
	"contactbase/internal/testkit"
)

const membersPath = "/api/collections/tenant_members/records"

const memberPassword = "a long password"

// door is an installation with the tenants Acme and Other. Each has a key, a webhook, an inbound webhook, a
// contact and members.
type door struct {
	t                   *testing.T
	app                 core.App
	base                string
	acme, other         *estate
	admin, viewer, link *core.Record // of Acme
}

// estate has the ids of what a tenant owns, by collection.
type estate struct {
	tenant string
	ids    map[string]string
}

func newDoor(t *testing.T) *door {
	t.Helper()
	return newDoorOf(t, testkit.NewApp(t))
}

func newDoorOf(t *testing.T, app core.App) *door {
	t.Helper()
	d := &door{t: t, app: app, base: testkit.Serve(t, app)}
	d.acme, d.other = d.estate("Acme"), d.estate("Other")
	d.admin = d.member(d.acme.tenant, member.RoleAdmin, "admin@example.com")
	d.viewer = d.member(d.acme.tenant, member.RoleViewer, "viewer@example.com")
	d.link = testkit.Record(t, app, member.CollectionName, map[string]any{
		"tenant": d.acme.tenant, "role": member.RoleAdmin, "email": "link@portal.invalid", "password": memberPassword, "link": true,
	})
	d.other.ids[member.CollectionName] = d.member(d.other.tenant, member.RoleAdmin, "other@example.com").Id
	app.Settings().Batch.Enabled = true
	if err := app.Save(app.Settings()); err != nil {
		t.Fatal(err)
	}
	return d
}

func (d *door) estate(name string) *estate {
	d.t.Helper()
	id := testkit.Tenant(d.t, d.app, name)
	e := &estate{id, map[string]string{"tenants": id}}
	for collection, values := range map[string]map[string]any{
		"api_keys":         {"name": name},
		"webhooks":         {"name": name, "url": "https://hooks.example.com", "secret": "the secret of " + name},
		"inbound_webhooks": {"name": name, "access": "full", "verifySecret": "verify the requests of " + name},
		"contacts":         {"name": "Ada of " + name},
	} {
		values["tenant"] = id
		e.ids[collection] = testkit.Record(d.t, d.app, collection, values).Id
	}
	return e
}

func (d *door) member(tenantID, role, email string) *core.Record {
	d.t.Helper()
	return testkit.Record(d.t, d.app, member.CollectionName, map[string]any{"tenant": tenantID, "role": role, "email": email, "password": memberPassword})
}

// as returns a client that is signed in with a record; nil is nobody.
func (d *door) as(record *core.Record) *testkit.Client {
	d.t.Helper()
	client := testkit.NewClient(d.t, d.base, "")
	if record == nil {
		return client
	}
	token, err := record.NewStaticAuthToken(0)
	if err != nil {
		d.t.Fatal(err)
	}
	client.Header.Set("Authorization", token)
	return client
}

// expect sends a request that must be answered with a status, and returns the answer.
func (d *door) expect(status int, client *testkit.Client, method, path, body string) *testkit.Answer {
	d.t.Helper()
	got := client.Do(method, path, body)
	if got.Status != status {
		d.t.Errorf("%s %s %s gives %d %s, not %d", method, path, body, got.Status, got.Body, status)
	}
	return got
}

// ids returns the ids of a list.
func (d *door) ids(got *testkit.Answer) []string {
	d.t.Helper()
	items, isList := got.JSON()["items"].([]any)
	if !isList {
		d.t.Errorf("%d %s is no list", got.Status, got.Body)
	}
	found := []string{}
	for _, item := range items {
		found = append(found, item.(map[string]any)["id"].(string))
	}
	return found
}

// reload reads a record again.
func (d *door) reload(collection, id string) *core.Record {
	d.t.Helper()
	record, err := d.app.FindRecordById(collection, id)
	if err != nil {
		d.t.Fatal(err)
	}
	return record
}

func recordsOf(collection string) string { return "/api/collections/" + collection + "/records" }
