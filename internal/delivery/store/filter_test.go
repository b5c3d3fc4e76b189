package store_test

import (
	"testing"
	"time"

	"github.com/pocketbase/dbx"
	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/contact"
	"contactbase/internal/delivery"
	"contactbase/internal/delivery/store"
	"contactbase/internal/stamp"
	"contactbase/internal/testkit"
)

// A webhook gets the events that pass its filter, and those on which the filter fails. What it rejects is never missed.
func TestFilters(t *testing.T) {
	t.Parallel()
	app := testkit.NewApp(t)
	tenant := testkit.Tenant(t, app, "Acme")
	webhook := func(filter string) string {
		return testkit.Record(t, app, "webhooks", map[string]any{"tenant": tenant, "url": "https://hooks.example.com", "filter": filter}).Id
	}
	want := map[string]int{ // of the three events below
		webhook(""):                             3,
		webhook(`data.company == "Acme"`):       2,
		webhook(`"company" in changed`):         1,
		webhook(`type == "contact.deleted"`):    0,
		webhook(`data.custom.of.us == "fails"`): 3,
	}
	c, err := testkit.Create(app, tenant, contact.Changes{"name": "Ada", "company": "Acme"})
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := testkit.Update(app, tenant, c.ID, contact.Changes{"company": "Other"}); err != nil {
		t.Fatal(err)
	}
	if _, err := testkit.Create(app, tenant, contact.Changes{"name": "Bob", "company": "Acme"}); err != nil {
		t.Fatal(err)
	}

	deliveries := store.New(app)
	testkit.FanOut(t, app)
	for id, n := range want {
		count := testkit.Count(t, app, "SELECT count(*) FROM deliveries WHERE webhook = {:id}", dbx.Params{"id": id})
		if count != n {
			t.Errorf("%s: %d are fanned out, not %d", filterOf(t, app, id), count, n)
		}
		testkit.Execute(t, app, "DELETE FROM deliveries WHERE webhook = {:id}", dbx.Params{"id": id})
		testkit.Execute(t, app, "UPDATE webhooks SET created = {:at} WHERE id = {:id}", dbx.Params{"id": id, "at": stamp.Stored(time.Now().Add(-time.Hour))})
		missed, err := deliveries.Recover(t.Context(), id, delivery.Recovery{Since: time.Now().Add(-time.Hour), DryRun: true})
		if err != nil || missed.Count != n {
			t.Errorf("%s: %d are missed, not %d (%v)", filterOf(t, app, id), missed.Count, n, err)
		}
	}
}

func filterOf(t *testing.T, app core.App, webhook string) string {
	t.Helper()
	record, err := app.FindRecordById("webhooks", webhook)
	if err != nil {
		t.Fatal(err)
	}
	return record.GetString("filter")
}

// BenchmarkFanOut fans out events to 100 webhooks, all of which get them.
func BenchmarkFanOut(b *testing.B) {
	for name, filter := range map[string]string{"none": "", "filters": `type == "contact.created" && data.company == "Acme" && !("email" in changed)`} {
		b.Run(name, func(b *testing.B) {
			app := testkit.NewApp(b)
			tenant := testkit.Tenant(b, app, "Acme")
			for range 100 {
				testkit.Record(b, app, "webhooks", map[string]any{"tenant": tenant, "url": "https://hooks.example.com", "filter": filter})
			}
			for b.Loop() {
				b.StopTimer()
				for range 20 {
					if _, err := testkit.Create(app, tenant, contact.Changes{"name": "Ada", "company": "Acme"}); err != nil {
						b.Fatal(err)
					}
				}
				b.StartTimer()
				testkit.FanOut(b, app)
			}
		})
	}
}
