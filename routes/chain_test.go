package routes_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/testkit"
)

// installation is a served app that sends its deliveries.
type installation struct {
	*testkit.Client
	f *fixture
}

func newInstallation(t *testing.T) *installation {
	t.Helper()
	app := testkit.NewDeliveringApp(t)
	f := &fixture{App: app, tenant: testkit.Tenant(t, app, "Acme")}
	f.base = testkit.Serve(t, app)
	return &installation{testkit.NewClient(t, f.base, testkit.Key(t, app, f.tenant)), f}
}

// feed makes the installation send its events to an inbound webhook of another.
func (i *installation) feed(t *testing.T, other *installation) {
	t.Helper()
	token := testkit.Inbound(t, other.f.App, other.f.tenant, "full", nil)
	testkit.Webhook(t, i.f.App, i.f.tenant, other.f.base+"/api/hooks/"+token, "a long secret")
}

// pending counts unfinished deliveries.
func (i *installation) pending(t *testing.T) int {
	t.Helper()
	return testkit.Count(t, i.f.App, "SELECT count(*) FROM deliveries WHERE status = 'pending'", nil)
}

// An installation that receives the events of another has the same contacts, and keeps its own and what
// it adds to copies.
func TestChainedInstallations(t *testing.T) {
	t.Parallel()
	source, copied := newInstallation(t), newInstallation(t)
	own := copied.Do("POST", contactsPath, `{"name":"Ada","email":"ada@example.com"}`).Location()
	copied.Do("POST", contactsPath, `{"name":"Cid","externalId":"crm-3"}`)
	source.feed(t, copied)
	find := func(externalID string) *core.Record {
		record, err := copied.f.App.FindFirstRecordByData("contacts", "externalId", externalID)
		if err != nil {
			return nil
		}
		return record
	}
	await := func(externalID, field, want string) *core.Record {
		t.Helper()
		testkit.Eventually(t, field+" "+want, func() bool { c := find(externalID); return c != nil && c.GetString(field) == want })
		return find(externalID)
	}
	location := source.Do("POST", contactsPath, `{"name":"Ada","email":"ada@example.com"}`).Location()
	id := strings.TrimPrefix(location, contactsPath+"/")
	ada := await(id, "name", "Ada")
	copied.Do("PATCH", contactsPath+"/"+ada.Id, `{"company":"Engines"}`)
	source.Do("PATCH", location, `{"name":"Ada King"}`)
	await(id, "name", "Ada King")
	source.Do("PATCH", location, `{"externalId":"crm-1"}`)
	await("crm-1", "company", "Engines")
	source.Do("PATCH", location, `{"externalId":null}`)
	await(id, "company", "Engines")

	cid := source.Do("POST", contactsPath, `{"name":"Cid C","externalId":"crm-3","phone":"+44 20 7946 0001"}`).Location()
	source.Do("PATCH", cid, `{"company":"AE"}`)
	if c := await("crm-3", "company", "AE"); c.GetString("name") != "Cid" || c.GetString("phone") != "" {
		t.Errorf("an existing contact became %v", c)
	}
	original, err := source.f.App.FindRecordById("contacts", id)
	if err != nil {
		t.Fatal(err)
	}
	if err := source.f.App.Delete(original); err != nil {
		t.Fatal(err)
	}
	testkit.Eventually(t, "a deletion", func() bool { return find(id) == nil })
	if c := copied.Do("GET", own, "").Data(); c["name"] != "Ada" || c["externalId"] != nil {
		t.Errorf("a contact with the same email address became %v", c)
	}
}

// The superuser routes for deliveries work against a real receiver.
func TestDeliveryAdministration(t *testing.T) {
	t.Parallel()
	i := newInstallation(t)
	status := make(chan int, 1)
	status <- http.StatusInternalServerError
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		answer := <-status
		status <- answer
		w.WriteHeader(answer)
	}))
	t.Cleanup(receiver.Close)
	webhook := testkit.Webhook(t, i.f.App, i.f.tenant, receiver.URL, "a long secret")
	admin := newAdmin(t, i.f)
	ping := admin.Do("POST", "/api/integrations/webhooks/"+webhook+"/ping", "")
	if ping.Status != 200 || ping.Data()["status"] != 500.0 {
		t.Errorf("a ping that fails gives %d %s", ping.Status, ping.Body)
	}
	i.Do("POST", contactsPath, `{"name":"Ada"}`)
	delivery := func(want string, attempts int) string {
		t.Helper()
		var id string
		testkit.Eventually(t, "a delivery that is "+want, func() bool {
			record, err := i.f.App.FindFirstRecordByFilter("deliveries", "webhook = {:webhook} && event.type = 'contact.created'", map[string]any{"webhook": webhook})
			if err != nil || record.GetString("status") != want || record.GetInt("attempts") < attempts {
				return false
			}
			id = record.Id
			return true
		})
		return id
	}
	id := delivery("pending", 1)
	<-status
	status <- http.StatusOK
	if got := admin.Do("POST", "/api/integrations/webhooks/"+webhook+"/ping", ""); got.Data()["status"] != 200.0 {
		t.Errorf("a ping gives %d %s", got.Status, got.Body)
	}
	if got := admin.Do("POST", "/api/integrations/deliveries/"+id+"/redeliver", ""); got.Status != 200 || got.Data()["id"] != id {
		t.Errorf("a redelivery gives %d %s", got.Status, got.Body)
	}
	delivery("delivered", 2)

	record, err := i.f.App.FindRecordById("webhooks", webhook)
	if err != nil {
		t.Fatal(err)
	}
	record.Set("disabled", true)
	if err := i.f.App.Save(record); err != nil {
		t.Fatal(err)
	}
	i.Do("POST", contactsPath, `{"name":"Missed"}`)
	record.Set("disabled", false)
	if err := i.f.App.Save(record); err != nil {
		t.Fatal(err)
	}
	for body, count := range map[string]float64{`{"since":"2020-01-01T00:00:00Z","dryRun":true}`: 1, `{"since":"2999-01-01T00:00:00Z"}`: 0} {
		if got := admin.Do("POST", "/api/integrations/webhooks/"+webhook+"/recover", body); got.Data()["count"] != count {
			t.Errorf("%s gives %d %s", body, got.Status, got.Body)
		}
	}
	if got := admin.Do("POST", "/api/integrations/webhooks/"+webhook+"/recover", `{"since":"2020-01-01T00:00:00Z"}`); got.Data()["count"] != 1.0 {
		t.Errorf("recovering gives %d %s", got.Status, got.Body)
	}
	testkit.Eventually(t, "the missed event", func() bool { return i.pending(t) == 0 })
	if got := admin.Do("POST", "/api/integrations/webhooks/"+webhook+"/recover", `{}`); got.Status != 400 || got.FieldCode("since") == "" {
		t.Errorf("recovering without a time gives %d %s", got.Status, got.Body)
	}
	rotated := admin.Do("POST", "/api/integrations/webhooks/"+webhook+"/rotate", "")
	if secret, _ := rotated.Data()["secret"].(string); rotated.Status != 200 || !strings.HasPrefix(secret, "whsec_") {
		t.Errorf("rotating gives %d %s", rotated.Status, rotated.Body)
	}
	for _, path := range []string{"webhooks/x/ping", "webhooks/x/rotate", "deliveries/x/redeliver"} {
		if got := admin.Do("POST", "/api/integrations/"+path, ""); got.Status != 404 {
			t.Errorf("%s of nothing gives %d %s", path, got.Status, got.Body)
		}
	}
}
