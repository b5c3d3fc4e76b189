package inbound_test

import (
	"slices"
	"testing"
	"time"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/inbound"
	"contactbase/internal/testkit"
)

// A request's events have the order of its changes, however they are written together.
func TestEventsOfACallAreInOrder(t *testing.T) {
	t.Parallel()
	app := testkit.NewApp(t)
	tenant := testkit.Tenant(t, app, "Acme")
	testkit.Webhook(t, app, tenant, "https://hooks.example.com", "")
	webhook, err := inbound.FindByToken(app, testkit.Inbound(t, app, tenant, inbound.AccessFull, nil))
	if err != nil {
		t.Fatal(err)
	}
	request, err := inbound.Read(app, webhook, "application/json", []byte(`[
		{"externalId": "1", "name": "A"},
		{"externalId": "2", "name": "B"},
		{"externalId": "1", "name": "C"},
		{"externalId": "1", "action": "delete"},
		{"externalId": "2", "name": "D"},
		{"externalId": "1", "name": "E"}
	]`))
	if err != nil {
		t.Fatal(err)
	}
	err = app.RunInTransaction(func(tx core.App) error {
		_, err := request.Receive(tx, time.Now())
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	testkit.FanOut(t, app)
	var announced []string
	err = app.DB().NewQuery("SELECT e.type || (SELECT count(*) FROM deliveries d WHERE d.event = e.id) FROM events e ORDER BY e.rowid").Column(&announced)
	want := []string{"contact.created1", "contact.created1", "contact.updated1", "contact.deleted1", "contact.updated1", "contact.created1"}
	if err != nil || !slices.Equal(announced, want) {
		t.Errorf("announced is %v, not %v (%v)", announced, want, err)
	}
}
