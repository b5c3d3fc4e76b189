package contact_test

import (
	"fmt"
	"math/rand/v2"
	"net/url"
	"testing"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/contact"
	"contactbase/internal/contact/list"
	"contactbase/internal/testkit"
)

// BenchmarkAppendJSON encodes a contact: once for an answer, once for an event.
func BenchmarkAppendJSON(b *testing.B) {
	c := &contact.Contact{
		ID: "0mm8yqpxck3w9xa", Name: "Ada Lovelace", Email: "ada@example.com", Phone: "+442079460958",
		Company: "Analytical Engines Ltd", Created: "2026-03-02T09:15:04.512Z", Updated: "2026-03-04T16:20:11.087Z",
	}
	b.ReportAllocs()
	buffer := make([]byte, 0, 512)
	for b.Loop() {
		if _, err := c.AppendJSON(buffer); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkPrevious compares two states of a contact that differ in one field.
func BenchmarkPrevious(b *testing.B) {
	before := &contact.Contact{ID: "0mm8yqpxck3w9xa", Name: "Ada Lovelace", Email: "ada@example.com", Company: "Engines"}
	after := *before
	after.Company = "Analytical Engines Ltd"
	b.ReportAllocs()
	for b.Loop() {
		if len(after.Previous(before)) != 1 {
			b.Fatal("not one field has changed")
		}
	}
}

// BenchmarkParseChanges checks the input of a contact.
func BenchmarkParseChanges(b *testing.B) {
	app := testkit.NewApp(b)
	input := map[string]any{"name": "Ada Lovelace", "email": "ada@example.com", "phone": "+44 20 7946 0958", "company": "Engines"}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := contact.ParseChanges(app, input); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkCreate writes a contact, with its search row and its event.
func BenchmarkCreate(b *testing.B) { benchmarkCreate(b) }

// BenchmarkCreateOwn writes a contact with fields of an admin's.
func BenchmarkCreateOwn(b *testing.B) {
	benchmarkCreate(b, &core.TextField{Name: "note"}, &core.NumberField{Name: "score"}, &core.SelectField{Name: "size", Values: []string{"S", "M"}})
}

func benchmarkCreate(b *testing.B, own ...core.Field) {
	b.Helper()
	app := testkit.NewApp(b)
	testkit.AddFields(b, app, own...)
	tenant := testkit.Tenant(b, app, "Acme")
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		changes := contact.Changes{"name": "Ada Lovelace", "email": fmt.Sprintf("ada%d@example.com", i), "company": "Engines"}
		if own != nil {
			changes["note"], changes["score"], changes["size"] = "tall", 1.5, "M"
		}
		if _, err := testkit.Create(app, tenant, changes); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkUpdate changes two fields of a contact.
func BenchmarkUpdate(b *testing.B) {
	app := testkit.NewApp(b)
	tenant := testkit.Tenant(b, app, "Acme")
	c, err := testkit.Create(app, tenant, contact.Changes{"name": "Ada Lovelace", "email": "ada@example.com"})
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		changes := contact.Changes{"company": fmt.Sprint("Engines ", i), "externalId": fmt.Sprint(i)}
		if _, _, err := testkit.Update(app, tenant, c.ID, changes); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkList reads and scans a page of 200 contacts.
func BenchmarkList(b *testing.B) {
	app := testkit.NewApp(b)
	tenant := testkit.Tenant(b, app, "Acme")
	for i := range list.MaxLimit {
		changes := contact.Changes{"name": fmt.Sprint("Ada ", i), "email": fmt.Sprintf("ada%d@example.com", i), "company": "Engines"}
		if _, err := testkit.Create(app, tenant, changes); err != nil {
			b.Fatal(err)
		}
	}
	q, err := list.ParsePage(nil, url.Values{"limit": {fmt.Sprint(list.MaxLimit)}, "sort": {"name"}})
	if err != nil {
		b.Fatal(err)
	}
	lists := &list.Reader{}
	b.ReportAllocs()
	for b.Loop() {
		page, err := lists.Page(app, tenant, q)
		if err != nil || len(page.Contacts) != list.MaxLimit {
			b.Fatal(len(page.Contacts), err)
		}
	}
}

// BenchmarkWriteItems writes 1,000 contacts in a transaction, with their search rows and events.
func BenchmarkWriteItems(b *testing.B) {
	app := testkit.NewApp(b)
	tenant := testkit.Tenant(b, app, "Acme")
	for b.Loop() {
		items := make([]contact.Item, 1_000)
		for i := range items {
			k := rand.Int64N(1 << 40)
			items[i] = contact.Item{Action: contact.Create, Changes: contact.Changes{
				"name": fmt.Sprintf("Anna Nr%x", k), "email": fmt.Sprintf("p%d@example%d.com", k, i%50), "phone": fmt.Sprintf("+4930%07d", i), "company": fmt.Sprintf("Firma %x", i),
			}}
		}
		err := app.RunInTransaction(func(tx core.App) error {
			_, err := contact.Write(tx, tenant, items)
			return err
		})
		if err != nil {
			b.Fatal(err)
		}
	}
}
