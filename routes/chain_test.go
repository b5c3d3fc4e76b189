package routes_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

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

// contacts returns the contacts without ids and times, in list order.
func (i *installation) contacts(t *testing.T) string {
	t.Helper()
	var list struct{ Data []map[string]any }
	if err := json.Unmarshal(i.Do("GET", contactsPath, "").Body, &list); err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, contact := range list.Data {
		for _, own := range []string{"id", "externalId", "createdAt", "updatedAt"} {
			delete(contact, own)
		}
		line, err := json.Marshal(contact)
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, string(line))
	}
	return strings.Join(lines, "\n")
}

// restless counts unfinished deliveries.
func (i *installation) restless(t *testing.T) (pending, events int) {
	t.Helper()
	if err := i.f.App.DB().NewQuery("SELECT (SELECT count(*) FROM deliveries WHERE status = 'pending'), (SELECT count(*) FROM events)").Row(&pending, &events); err != nil {
		t.Fatal(err)
	}
	return pending, events
}

// Two installations that feed each other end up with the same contacts and stop sending, whichever is edited.
func TestInstallationsInACircle(t *testing.T) {
	t.Parallel()
	a, b := newInstallation(t), newInstallation(t)
	a.feed(t, b)
	b.feed(t, a)
	settle := func(what string, count int) {
		t.Helper()
		testkit.Eventually(t, what, func() bool {
			pendingA, _ := a.restless(t)
			pendingB, _ := b.restless(t)
			return pendingA+pendingB == 0 && a.contacts(t) == b.contacts(t) && strings.Count(a.contacts(t), "{") == count
		})
	}
	ada := a.Do("POST", contactsPath, `{"name":"Ada","email":"ada@example.com"}`).Header.Get("Location")
	settle("a contact that was created", 1)
	a.Do("PATCH", ada, `{"phone":"+44 20 7946 0001"}`)
	settle("a contact that was changed", 1)
	var list struct{ Data []struct{ ID string } }
	if err := json.Unmarshal(b.Do("GET", contactsPath, "").Body, &list); err != nil {
		t.Fatal(err)
	}
	b.Do("PATCH", contactsPath+"/"+list.Data[0].ID, `{"company":"Engines"}`)
	settle("a contact that was changed on the other side", 1)
	b.Do("POST", contactsPath, `{"name":"Bea","externalId":"crm-2"}`)
	settle("a contact that was created on the other side", 2)
	if got := a.Do("GET", ada, "").Data(); got["company"] != "Engines" || got["externalId"] != nil {
		t.Errorf("the first contact is %v", got)
	}
	record, err := a.f.App.FindRecordById("contacts", strings.TrimPrefix(ada, contactsPath+"/"))
	if err != nil {
		t.Fatal(err)
	}
	if err := a.f.App.Delete(record); err != nil {
		t.Fatal(err)
	}
	settle("a contact that was deleted", 1)

	// five changes: each event is emitted once on either side, under one id
	for name, i := range map[string]*installation{"a": a, "b": b} {
		if _, events := i.restless(t); events != 5 {
			t.Errorf("%s has emitted %d events", name, events)
		}
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
	testkit.Eventually(t, "the missed event", func() bool { pending, _ := i.restless(t); return pending == 0 })
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
