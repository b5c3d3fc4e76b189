package store_test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"testing"
	"time"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/delivery/store"
	"contactbase/internal/event"
	"contactbase/internal/sqlite"
	"contactbase/internal/testkit"
)

// What an outbox writes is what Emit writes event by event, but for the ids.
func TestOutboxWritesWhatEmitWrites(t *testing.T) {
	t.Parallel()
	now := time.Now()
	emit := func(tx core.App, events []*event.Event) error {
		for _, e := range events {
			if err := store.Emit(tx, e, now); err != nil {
				return err
			}
		}
		return nil
	}
	gather := func(tx core.App, events []*event.Event) error {
		outbox := &store.Outbox{}
		for i, e := range events {
			if err := outbox.Add(sqlite.ReaderOf(tx), e, now); err != nil {
				return err
			}
			if i == 9 { // it can be used again
				if err := outbox.Flush(tx, now); err != nil {
					return err
				}
			}
		}
		return outbox.Flush(tx, now)
	}
	var written [2]string
	for i, write := range []func(core.App, []*event.Event) error{emit, gather} {
		written[i] = writtenBy(t, write)
	}
	if written[0] == "" || written[0] != written[1] {
		t.Errorf("one by one it is\n%s\ntogether it is\n%s", written[0], written[1])
	}
}

var anyID = regexp.MustCompile(`evt_[a-z0-9]{15}`)

// writtenBy returns the events and deliveries that a way of writing leaves in a new folder.
func writtenBy(t *testing.T, write func(core.App, []*event.Event) error) (rows string) {
	app := testkit.NewApp(t)
	tenant := testkit.Tenant(t, app, "Acme")
	for name, values := range map[string]map[string]any{
		"all": {}, "updates": {"events": []string{"contact.updated"}}, "disabled": {"disabled": true},
	} {
		values["tenant"], values["url"] = tenant, "https://hooks.example.com/"+name
		testkit.Record(t, app, "webhooks", values)
	}
	var events []*event.Event
	for i := range 20 {
		kind := []event.Kind{event.ContactDeleted, event.ContactUpdated, event.ContactUpdated}[i%3]
		if i < 4 {
			kind = event.ContactCreated
		}
		events = append(events, &event.Event{Kind: kind, TenantID: tenant, Contact: fmt.Sprintf("contact%d", i%4), Data: map[string]string{"name": `Zoë "<` + "\n"}})
	}
	if err := app.RunInTransaction(func(tx core.App) error { return write(tx, events) }); err != nil {
		t.Fatal(err)
	}
	var found []struct {
		Type    string `db:"type"`
		Contact string `db:"contact"`
		Payload string `db:"payload"`
		Created string `db:"created"`
		Queued  string `db:"queued"`
	}
	err := app.DB().NewQuery(`SELECT e.type, e.contact, e.payload, e.created, coalesce((
		SELECT group_concat(d.url || d.status || d.attempts || d.lastStatus || d.lastError || d.leaseUntil || (d.tenant = e.tenant) || d.contact || d.blocked || d.place || (d.nextAttempt = d.created AND d.updated = d.created))
		FROM (SELECT d.*, w.url, (SELECT count(*) FROM deliveries o WHERE o.webhook = d.webhook AND o.contact = d.contact AND o.rowid <= d.rowid) place FROM deliveries d JOIN webhooks w ON w.id = d.webhook WHERE d.event = e.id ORDER BY w.url) d), '') queued
		FROM events e ORDER BY e.rowid`).All(&found)
	if err != nil {
		t.Fatal(err)
	}
	encoded, err := json.MarshalIndent(found, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	if len(found) != len(events) {
		t.Fatalf("%d events were written, not %d", len(found), len(events))
	}
	return anyID.ReplaceAllString(string(encoded), "evt_")
}
