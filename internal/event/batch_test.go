package event_test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"testing"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/event"
	"contactbase/internal/testkit"
)

// A batch writes the same events as Write does one by one, except for the ids.
func TestBatchMatchesWrite(t *testing.T) {
	t.Parallel()
	single := writtenBy(t, func(tx core.App, events []*event.Event) error {
		for _, e := range events {
			if err := testkit.WriteEvent(tx, e, now); err != nil {
				return err
			}
		}
		return nil
	})
	together := writtenBy(t, func(tx core.App, events []*event.Event) error {
		batch := &event.Batch{}
		for i, e := range events {
			if err := batch.Add(e, now); err != nil {
				return err
			}
			if i == 9 { // it can be used again
				if err := batch.Flush(tx); err != nil {
					return err
				}
			}
		}
		return batch.Flush(tx)
	})
	if single != together {
		t.Errorf("Write writes\n%s\na batch writes\n%s", single, together)
	}
}

var anyID = regexp.MustCompile(`evt_[a-z0-9]{15}`)

// writtenBy returns the events that a function writes to a new database.
func writtenBy(t *testing.T, write func(core.App, []*event.Event) error) string {
	app := testkit.NewApp(t)
	tenant := testkit.Tenant(t, app, "Acme")
	var events []*event.Event
	for i := range 20 {
		kind := []event.Kind{event.ContactDeleted, event.ContactUpdated, event.ContactCreated}[i%3]
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
	}
	if err := app.DB().NewQuery("SELECT type, contact, payload, created FROM events ORDER BY rowid").All(&found); err != nil {
		t.Fatal(err)
	}
	if len(found) != len(events) {
		t.Fatalf("got %d events, want %d", len(found), len(events))
	}
	encoded, err := json.MarshalIndent(found, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return anyID.ReplaceAllString(string(encoded), "evt_")
}
