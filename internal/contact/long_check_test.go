package contact_test

import (
	"context"
	"fmt"
	"testing"

	"contactbase/internal/contact"
	"contactbase/internal/testkit"
)

// countdown is a context that ends when it was looked at some times.
type countdown struct {
	context.Context

	left int
}

func (c *countdown) Err() error {
	if c.left--; c.left < 0 {
		return context.Canceled
	}
	return nil
}

// A dry run ends soon after its context, also in the middle of a look-up that passes over many contacts, and then goes
// on from there.
func TestDryRunEndsWithItsContext(t *testing.T) {
	t.Parallel()
	app := testkit.NewApp(t)
	acme := testkit.Tenant(t, app, "Acme")
	const contacts = 100
	rename := make([]contact.Item, contacts)
	for n := range contacts {
		id := fmt.Sprint(n)
		changes := contact.Changes{"name": "Ada", "email": "a@example.com", "externalId": id}
		if _, err := testkit.Create(app, acme, changes); err != nil {
			t.Fatal(err)
		}
		rename[n] = contact.Item{
			Action: contact.Upsert, Keys: []contact.Key{{Field: contact.ExternalID, Value: id}},
			Changes: contact.Changes{"name": "Grace"},
		}
	}
	run, err := contact.NewDryRun(app, acme)
	if err != nil {
		t.Fatal(err)
	}
	for done := 0; done < contacts; {
		results, err := run.Plan(&countdown{t.Context(), 9}, rename[done:])
		if err != nil || len(results) != min(10, contacts-done) {
			t.Fatalf("it plans %d items, %v", len(results), err)
		}
		done += len(results)
	}
	find := []contact.Item{{
		Action: contact.Upsert, Keys: []contact.Key{{Field: contact.Email, Value: "a@example.com"}},
		Changes: contact.Changes{"name": "Hedy"},
	}}
	for attempt := 1; ; attempt++ {
		results, err := run.Plan(&countdown{t.Context(), 9}, find)
		if err != nil {
			t.Fatal(err)
		}
		if len(results) == 1 {
			if results[0].Contact.ExternalID != "0" || results[0].Status != contact.Updated {
				t.Errorf("it finds %+v", results[0])
			}
			if attempt < contacts/20 {
				t.Errorf("it looks at %d contacts in %d attempts", contacts, attempt)
			}
			return
		}
		if attempt > contacts {
			t.Fatal("it never gets there")
		}
	}
}
