package script_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/event"
	"contactbase/internal/testkit"
)

// A script declares event types and emits them with the data that JSON.stringify would write. It can catch each error.
func TestEventsOfScripts(t *testing.T) {
	t.Parallel()
	b := testkit.NewBook(t)
	other := testkit.Tenant(t, b.App, "Other")
	testkit.AddContact(t, b.App, b.Tenant, "buyer0000000000")
	files := map[string]string{"a.pb.js": fmt.Sprintf(`
$contactbase.declareEvent("order.paid", "An order was paid")
$contactbase.declareEvent("order.paid", "An order was paid")
try { $contactbase.declareEvent("contact.called", "x") } catch (err) { $contactbase.declareEvent("caught.it", err.message.slice(0, 80)) }

onRecordAfterCreateSuccess((e) => {
	const tenant = e.record.get("tenant")
	const tries = {
		plain: () => $contactbase.emitEvent(e.app, tenant, "order.paid", {
			b: 1.5, a: "</script>", none: undefined, f: () => 1, nan: NaN, date: new Date(0), own: { toJSON: () => "mine" }, big: 1e21, list: [undefined],
			cut: "x\ud800y",
		}),
		contact: () => $contactbase.emitEvent($app, tenant, "order.paid", { toJSON: () => ({ whole: true }) }, { contact: "buyer0000000000" }),
		record: () => $contactbase.emitEvent(e.app, tenant, "order.paid", e.record, { contact: null }),
		nobody: () => $contactbase.emitEvent(e.app, tenant, "order.paid", {}, { contact: "" }),
		undeclared: () => $contactbase.emitEvent(e.app, tenant, "order.sent", {}),
		late: () => $contactbase.declareEvent("order.late", "x"),
		again: () => $contactbase.declareEvent("order.paid", "An order was paid"),
		cyclic: () => { const data = {}; data.self = data; $contactbase.emitEvent(e.app, tenant, "order.paid", data) },
		deep: () => { let data = {}; for (let i = 0; i < 5000; i++) data = { data }; $contactbase.emitEvent(e.app, tenant, "order.paid", data) },
		bigint: () => $contactbase.emitEvent(e.app, tenant, "order.paid", { n: BigInt(1) }),
		throwing: () => $contactbase.emitEvent(e.app, tenant, "order.paid", { toJSON: () => { throw new Error("not me") } }),
		large: () => $contactbase.emitEvent(e.app, tenant, "order.paid", { text: "x".repeat(65536) }),
		list: () => $contactbase.emitEvent(e.app, tenant, "order.paid", [1]),
		text: () => $contactbase.emitEvent(e.app, tenant, "order.paid", "x"),
		missing: () => $contactbase.emitEvent(e.app, tenant, "order.paid"),
		func: () => $contactbase.emitEvent(e.app, tenant, "order.paid", () => 1),
		noapp: () => $contactbase.emitEvent(tenant, "order.paid", {}),
		theirs: () => $contactbase.emitEvent(e.app, %q, "order.paid", {}, { contact: "buyer0000000000" }),
		typo: () => $contactbase.emitEvent(e.app, tenant, "order.paid", {}, { contactId: "buyer0000000000" }),
		number: () => $contactbase.emitEvent(e.app, tenant, "order.paid", {}, { contact: 5 }),
		unknown: () => $contactbase.emitEvent(e.app, undefined, "order.paid", {}),
	}
	const name = e.record.get("name")
	try { tries[name](); $app.store().set(name, "done") } catch (err) { $app.store().set(name, err.message) }
	e.next()
}, "contacts")
`, other), "b.pb.js": `$contactbase.declareEvent("order.paid", "An order was paid")`}
	if err := load(t, b.App, files); err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(event.DeclaredBy(b.App)); !strings.HasPrefix(got, "[{order.paid An order was paid} {caught.it the event type") {
		t.Errorf("declared are %s", got)
	}
	testkit.Serve(t, b.App)
	for name, want := range map[string]string{
		"plain": "done", "contact": "done", "record": "done", "nobody": "done", "again": "done", "undeclared": `"order.sent" is not declared`,
		"late": "before the server listens", "cyclic": "must be a JSON object: TypeError: Converting circular structure", "deep": "at most 100",
		"bigint": "must be a JSON object: TypeError", "throwing": "must be a JSON object: Error: not me", "large": "at most 65536", "list": "must be a JSON object",
		"text": "must be a JSON object", "missing": "must be a JSON object", "func": "must be a JSON object", "noapp": "the first argument must be the app",
		"theirs": "has no contact", "typo": "the options must be", "number": "the options must be", "unknown": "there is no tenant",
	} {
		if _, err := testkit.Create(b.App, b.Tenant, b.Changes(map[string]any{"name": name})); err != nil {
			t.Fatal(err)
		}
		if got, _ := b.App.Store().Get(name).(string); !strings.Contains(got, want) || got == "" {
			t.Errorf("%s: %s", name, got)
		}
	}
	var payloads []struct{ Contact, Payload string }
	if err := b.App.DB().NewQuery("SELECT contact, payload FROM events WHERE type = 'order.paid'").All(&payloads); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`"data":{"a":"</script>","b":1.5,"big":1e+21,"cut":"x` + "\ufffd" + `y","date":"1970-01-01T00:00:00.000Z","list":[null],"nan":null,"own":"mine"},"source"`,
		`"data":{"whole":true},"source"`, `"name":"record"`, `"data":{},"source"`,
	} {
		found := 0
		for _, e := range payloads {
			if strings.Contains(e.Payload, want) {
				found++
				if whole := strings.Contains(want, "whole"); whole != (e.Contact == "buyer0000000000") {
					t.Errorf("the contact of %s is %q", e.Payload, e.Contact)
				}
			}
		}
		if found != 1 {
			t.Errorf("there are %d events with %s: %v", found, want, payloads)
		}
	}
	if len(payloads) != 4 {
		t.Errorf("there are %d events", len(payloads))
	}
}

// A hook that emits an event in the transaction of its record takes the event back with it.
func TestEventsEndWithTheirRecord(t *testing.T) {
	t.Parallel()
	b := testkit.NewBook(t)
	if err := load(t, b.App, map[string]string{"a.pb.js": `
$contactbase.declareEvent("lead.scored", "A lead was scored")
onRecordCreate((e) => {
	e.next()
	$contactbase.emitEvent(e.app, e.record.get("tenant"), "lead.scored", { score: 5 }, { contact: e.record.id })
	if (e.record.get("name") == "refused") throw new BadRequestError("no")
}, "contacts")
`}); err != nil {
		t.Fatal(err)
	}
	count := func() int {
		return testkit.Count(t, b.App, "SELECT count(*) FROM events WHERE type = 'lead.scored'", nil)
	}
	if _, err := testkit.Create(b.App, b.Tenant, b.Changes(map[string]any{"name": "refused"})); err == nil || count() != 0 {
		t.Errorf("a refused contact has %d events (%v)", count(), err)
	}
	created, err := testkit.Create(b.App, b.Tenant, b.Changes(map[string]any{"name": "Ada"}))
	if err != nil || count() != 1 {
		t.Fatalf("a contact has %d events (%v)", count(), err)
	}
	contacts, err := b.App.FindRecordById("contacts", created.ID)
	if err != nil {
		t.Fatal(err)
	}
	err = b.App.RunInTransaction(func(tx core.App) error { // also by its record
		copied := core.NewRecord(contacts.Collection())
		copied.Load(map[string]any{"tenant": b.Tenant, "name": "Bob"})
		return tx.Save(copied)
	})
	if err != nil || count() != 2 {
		t.Errorf("saving a record leaves %d events (%v)", count(), err)
	}
}
