package migrations_test

import "testing"

// Deliveries from before there were lines form lines afterwards.
func TestDeliveriesAreLinedUp(t *testing.T) {
	t.Parallel()
	app, migrate := newFolder(t, "1761000005")
	for _, statement := range []string{
		`INSERT INTO events (id, tenant, type, contact, payload) VALUES ('e1', 't', 'contact.updated', 'ada', '{}'), ('e2', 't', 'contact.updated', 'ada', '{}'),
			('e3', 't', 'contact.updated', 'ada', '{}'), ('e4', 't', 'contact.updated', 'eve', '{}'), ('e5', 't', 'webhook.ping', '', '{}')`,
		`INSERT INTO deliveries (id, event, webhook, tenant, status, attempts) VALUES
			('over', 'e1', 'w', 't', 'delivered', 1), ('failing', 'e2', 'w', 't', 'pending', 2), ('next', 'e3', 'w', 't', 'pending', 0),
			('other', 'e1', 'v', 't', 'pending', 0), ('behind', 'e2', 'v', 't', 'pending', 0), ('last', 'e3', 'v', 't', 'pending', 0),
			('eve', 'e4', 'v', 't', 'pending', 0), ('ping1', 'e5', 'v', 't', 'pending', 0), ('gone', 'e9', 'v', 't', 'pending', 0)`,
	} {
		if _, err := app.NonconcurrentDB().NewQuery(statement).Execute(); err != nil {
			t.Fatal(err)
		}
	}
	migrate()
	var got string
	if err := app.DB().NewQuery("SELECT group_concat(id || ' ' || contact || blocked, ', ') FROM (SELECT * FROM deliveries ORDER BY rowid)").Row(&got); err != nil {
		t.Fatal(err)
	}
	if want := "over ada0, failing ada0, next ada0, other ada0, behind ada1, last ada1, eve eve0, ping1 0, gone 0"; got != want {
		t.Errorf("they are %q, not %q", got, want)
	}
}
