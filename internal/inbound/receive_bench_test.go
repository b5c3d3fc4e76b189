package inbound_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/inbound"
	"contactbase/internal/testkit"
)

// BenchmarkReceive measures how long a request with new contacts, and three webhooks for each, blocks other writers.
func BenchmarkReceive(b *testing.B) {
	for _, count := range []int{1, 1000} {
		b.Run(fmt.Sprint(count), func(b *testing.B) { benchmarkReceive(b, count) })
	}
}

func benchmarkReceive(b *testing.B, count int) {
	app := testkit.NewApp(b)
	tenant := testkit.Tenant(b, app, "Acme")
	for i := range 3 {
		testkit.Webhook(b, app, tenant, fmt.Sprintf("https://example.com/%d", i), "")
	}
	webhook, err := inbound.FindByToken(app, testkit.Inbound(b, app, tenant, inbound.AccessUpsert, nil))
	if err != nil {
		b.Fatal(err)
	}
	request := 0
	for b.Loop() {
		request++
		items := make([]map[string]string, count)
		for i := range items {
			items[i] = map[string]string{
				"externalId": fmt.Sprintf("e%d-%d", request, i), "name": fmt.Sprintf("Anna %d", i), "company": "Acme",
				"email": fmt.Sprintf("a%d-%d@example.com", request, i), "phone": fmt.Sprintf("+4930%07d", i),
			}
		}
		body, err := json.Marshal(items)
		if err != nil {
			b.Fatal(err)
		}
		read, err := inbound.Read(app, webhook, "application/json", body)
		if err != nil {
			b.Fatal(err)
		}
		err = app.RunInTransaction(func(tx core.App) error {
			receipt, err := read.Receive(tx, time.Now())
			if err == nil && receipt.Outcome.Created != len(items) {
				err = fmt.Errorf("%d were created", receipt.Outcome.Created)
			}
			return err
		})
		if err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkReceiveDeletions measures how long a request with 1,000 deletions blocks other writers.
func BenchmarkReceiveDeletions(b *testing.B) {
	for _, related := range []bool{false, true} {
		b.Run(fmt.Sprintf("related=%t", related), func(b *testing.B) { benchmarkDeletions(b, related) })
	}
}

func benchmarkDeletions(b *testing.B, related bool) {
	app := testkit.NewApp(b)
	tenant := testkit.Tenant(b, app, "Acme")
	testkit.Webhook(b, app, tenant, "https://example.com", "")
	if related {
		testkit.AddRelated(b, app, "deals", "contacts", core.RelationField{Name: "about", MaxSelect: 1})
	}
	webhook, err := inbound.FindByToken(app, testkit.Inbound(b, app, tenant, inbound.AccessFull, nil))
	if err != nil {
		b.Fatal(err)
	}
	receive := func(action string) {
		items := make([]map[string]string, 1000)
		for i := range items {
			items[i] = map[string]string{"action": action, "externalId": fmt.Sprint(i), "email": fmt.Sprintf("a%d@example.com", i)}
		}
		body, err := json.Marshal(items)
		if err != nil {
			b.Fatal(err)
		}
		read, err := inbound.Read(app, webhook, "application/json", body)
		if err != nil {
			b.Fatal(err)
		}
		err = app.RunInTransaction(func(tx core.App) error {
			receipt, err := read.Receive(tx, time.Now())
			if err == nil && receipt.Outcome.Created+receipt.Outcome.Deleted != len(items) {
				err = fmt.Errorf("the outcome is %+v", receipt.Outcome)
			}
			return err
		})
		if err != nil {
			b.Fatal(err)
		}
	}
	for b.Loop() {
		b.StopTimer()
		receive("upsert")
		b.StartTimer()
		receive("delete")
	}
}
