package event_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/pocketbase/dbx"
	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/delivery"
	"contactbase/internal/event"
	"contactbase/internal/tenant"
	"contactbase/internal/testkit"
)

// A kind is declared once, with a valid name and sentence, before the server listens.
func TestDeclare(t *testing.T) {
	t.Parallel()
	woken := make(chan struct{}, 1_000)
	app := testkit.NewApp(t, func() { woken <- struct{}{} })
	for kind, sentence := range map[string]string{
		"order.paid": "An order was paid", strings.Repeat("a", 40) + "." + strings.Repeat("9", 40): strings.Repeat("ü", 200), "_._": " x ",
	} {
		for range 2 { // as each runtime of JavaScript may
			if err := event.Declare(app, kind, sentence); err != nil {
				t.Error(err)
			}
		}
	}
	for kind, sentence := range map[string]string{
		"order": "x", "order.": "x", ".paid": "x", "order.paid.twice": "x", "Order.paid": "x", "order.paid\n": "x", "order.pa\x00id": "x", "": "x",
		"order.pa'id": "x", "order.paid; DROP TABLE events": "x", strings.Repeat("a", 41) + ".a": "x", "a." + strings.Repeat("a", 41): "x",
		"contact.called": "x", "webhook.sent": "x", "key.used": "x", "replica.gone": "x", "backup.made": "x", "disk.full": "x", "tenant.new": "x",
		"member.left": "x", "import.done": "x", "inbound.read": "x", "portal.seen": "x", "contactbase.on": "x",
		"order.sent": "", "order.lost": " \t", "order.long": strings.Repeat("x", 201), "order.lines": "a\nb", "order.bytes": "\xff",
		"order.paid": "Another sentence",
	} {
		if err := event.Declare(app, kind, sentence); err == nil {
			t.Errorf("%q can be declared with %q", kind, sentence)
		}
	}
	for i := range event.MaxDeclared - 3 {
		if err := event.Declare(app, fmt.Sprintf("order.step%d", i), "x"); err != nil {
			t.Fatal(err)
		}
	}
	if err := event.Declare(app, "order.last", "x"); err == nil || !strings.Contains(err.Error(), "can declare 100") {
		t.Errorf("with 100 kinds, another one is declared with %v", err)
	}
	if got := len(event.DeclaredBy(app)); got != event.MaxDeclared {
		t.Errorf("%d kinds are declared", got)
	}
	late := testkit.NewApp(t)
	testkit.Serve(t, late)
	if err := event.Declare(late, "order.paid", "x"); err == nil || !strings.Contains(err.Error(), "before the server listens") {
		t.Errorf("while the server listens, a kind is declared with %v", err)
	}
	if len(event.DeclaredBy(late)) > 0 {
		t.Error("an app has the kinds of another")
	}
}

// shop is an app with the kind order.paid, and a tenant with a contact.
type shop struct {
	core.App
	tenant string
}

const buyer = "buyer0000000000"

func newShop(t *testing.T, woken ...func()) shop {
	t.Helper()
	s := shop{App: testkit.NewApp(t, woken...)}
	s.tenant = testkit.Tenant(t, s, "Acme")
	testkit.AddContact(t, s, s.tenant, buyer)
	if err := event.Declare(s, "order.paid", "An order was paid"); err != nil {
		t.Fatal(err)
	}
	return s
}

func (s shop) emit(app core.App, data any) error {
	return event.Emit(app, &event.Event{Kind: "order.paid", TenantID: s.tenant, Data: data})
}

func (s shop) payloads(t *testing.T) (all []string) {
	t.Helper()
	if err := s.DB().NewQuery("SELECT payload FROM events WHERE type = 'order.paid' ORDER BY rowid").Column(&all); err != nil {
		t.Fatal(err)
	}
	return all
}

// looped contains itself.
type looped struct {
	Self *looped `json:"self"`
}

// The data of an event arrives as it is, if it is a JSON object within the bounds.
func TestEmitData(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	loop := &looped{}
	loop.Self = loop
	levels := func(n int) json.RawMessage {
		return json.RawMessage(strings.Repeat(`{"a":`, n) + "1" + strings.Repeat("}", n))
	}
	fits := strings.Repeat("x", 64<<10-len(`{"a":""}`))
	for name, c := range map[string]struct {
		data any
		want string // the data that receivers get, or a part of the error
	}{
		"a map":            {map[string]any{"b": 1, "a": "</script> & <b>"}, `{"a":"</script> & <b>","b":1}`},
		"a struct":         {struct{ Total float64 }{4.5}, `{"Total":4.5}`},
		"a spelled number": {json.RawMessage(`{ "n": 1.0, "big": 123456789012345678901234567890 }`), `{"n":1.0,"big":123456789012345678901234567890}`},
		"nothing in it":    {struct{}{}, `{}`},
		"half a character": {json.RawMessage(`{"a":"x\ud800y","n":1.0}`), `{"a":"x` + "\ufffd" + `y","n":1.0}`},
		"NUL":              {map[string]any{"a": "\x00"}, `{"a":"\u0000"}`},
		"the most bytes":   {map[string]any{"a": fits}, `{"a":"` + fits + `"}`},
		"the most levels":  {levels(100), string(levels(100))},

		"too many bytes":   {map[string]any{"a": fits + "x"}, "at most 65536"},
		"too many levels":  {levels(101), "at most 100"},
		"deep levels":      {levels(20_000), "must be a JSON object"}, // more than Go decodes
		"a loop":           {loop, "must be a JSON object"},
		"NaN":              {map[string]any{"a": math.NaN()}, "must be a JSON object"},
		"a channel":        {make(chan int), "must be a JSON object"},
		"too large number": {json.RawMessage(`{"a":{"b":1e999}}`), "has a number that is too large"},
		"no JSON":          {json.RawMessage(`{`), "must be a JSON object"},
		"null":             {nil, "must be a JSON object"},
		"a nil map":        {map[string]any(nil), "must be a JSON object"},
		"a list":           {[]int{1}, "must be a JSON object"},
		"a text":           {"{}", "must be a JSON object"},
	} {
		before := len(s.payloads(t))
		err := s.emit(s, c.data)
		after := s.payloads(t)
		if err != nil {
			if !strings.Contains(err.Error(), c.want) || len(after) != before {
				t.Errorf("%s: %.200s, and %d events are written", name, err, len(after)-before)
			}
			continue
		}
		payload := after[len(after)-1]
		var read struct {
			ID, Type, Timestamp string
			Data                json.RawMessage
			Source              map[string]any
		}
		if err := json.Unmarshal([]byte(payload), &read); err != nil {
			t.Fatal(err)
		}
		if string(read.Data) != c.want || read.Type != "order.paid" || !strings.HasPrefix(read.ID, event.IDPrefix) ||
			fmt.Sprint(read.Source) != "map[type:extension]" || !strings.HasSuffix(payload, `,"source":{"type":"extension"}}`) {
			t.Errorf("%s: the payload is %.300s", name, payload)
		}
	}
}

// An event is of a declared kind, an open tenant and a contact of it. Otherwise nothing is written.
func TestEmitOwners(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	other, frozen := testkit.Tenant(t, s, "Other"), testkit.Tenant(t, s, "Frozen")
	closed, err := s.FindRecordById("tenants", testkit.Tenant(t, s, "Closed"))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Delete(closed); err != nil {
		t.Fatal(err)
	}
	testkit.AddContact(t, s, other, "theirs000000000")
	if err := s.RunInTransaction(func(tx core.App) error {
		_, err := tenant.Freeze(tx, frozen)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ tenant, kind, contact, says string }{
		{s.tenant, "order.paid", "", ""},
		{s.tenant, "order.paid", buyer, ""},
		{s.tenant, "order.sent", "", `"order.sent" is not declared`},
		{s.tenant, "contact.created", "", "is not declared"},
		{s.tenant, "order.paid\x00", "", `"order.paid\x00" is not declared`},
		{s.tenant, "' OR 1=1 --" + strings.Repeat("x", 10_000), "", "is not declared"},
		{"", "order.paid", "", "there is no tenant"},
		{"nobody", "order.paid", "", "there is no tenant"},
		{closed.Id, "order.paid", "", "there is no tenant"},
		{frozen, "order.paid", "", "moving to another installation"},
		{s.tenant, "order.paid", "theirs000000000", "has no contact"},
		{s.tenant, "order.paid", "nobody", "has no contact"},
		{s.tenant, "order.paid", "' OR '1'='1", "has no contact"},
	} {
		before := len(s.payloads(t))
		err := event.Emit(s, &event.Event{Kind: event.Kind(c.kind), TenantID: c.tenant, Contact: c.contact, Data: struct{}{}})
		written := len(s.payloads(t)) - before
		if (err == nil) != (c.says == "") || err == nil && written != 1 || err != nil && (written != 0 || !strings.Contains(err.Error(), c.says)) || len(fmt.Sprint(err)) > 400 {
			t.Errorf("%+v: %v, and %d events are written", c, err, written)
		}
	}
}

// An event is written in the transaction of its app: it ends with it, and wakes the deliveries after the commit.
func TestEmitInTransactions(t *testing.T) {
	t.Parallel()
	woken := make(chan struct{}, 100_000)
	s := newShop(t, func() { woken <- struct{}{} })
	awoken := func() bool {
		for some := false; ; some = true {
			select {
			case <-woken:
			default:
				return some
			}
		}
	}
	awoken()
	refused := errors.New("refused")
	err := s.RunInTransaction(func(tx core.App) error {
		if err := s.emit(tx, struct{}{}); err != nil {
			t.Error(err)
		}
		return refused
	})
	if !errors.Is(err, refused) || len(s.payloads(t)) > 0 {
		t.Errorf("after a rollback with %v there are %d events", err, len(s.payloads(t)))
	}
	awoken()
	const many = 10_000
	err = s.RunInTransaction(func(tx core.App) error {
		for i := range many {
			if err := s.emit(tx, map[string]int{"i": i}); err != nil {
				return err
			}
		}
		if awoken() {
			t.Error("deliveries are woken before the commit")
		}
		return nil
	})
	payloads := s.payloads(t)
	if err != nil || len(payloads) != many || !awoken() {
		t.Fatalf("%d events are written (%v)", len(payloads), err)
	}
	seen := map[string]bool{}
	for i, payload := range payloads {
		id, _, _ := strings.Cut(payload, ",")
		if seen[id] || !strings.Contains(payload, fmt.Sprintf(`"i":%d}`, i)) {
			t.Fatalf("event %d is %s", i, payload)
		}
		seen[id] = true
	}
}

// Webhooks receive a kind only if they list it, also if it is no longer declared, and recover what they missed.
func TestOwnKindsAreDelivered(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	lists := map[string][]string{
		"all about contacts": nil, "own": {"order.paid"}, "both": {"order.paid", "contact.created"}, "others": {"order.sent", "contact.created"},
	}
	webhooks := map[string]string{}
	for name, kinds := range lists {
		webhooks[name] = testkit.Record(t, s, "webhooks", map[string]any{
			"tenant": s.tenant, "name": name, "url": "https://example.com", "events": kinds, "filter": `type != "order.paid" || data.total > 10`,
		}).Id
	}
	for _, total := range []int{10, 11} {
		if err := event.Emit(s, &event.Event{Kind: "order.paid", TenantID: s.tenant, Contact: buyer, Data: map[string]int{"total": total}}); err != nil {
			t.Fatal(err)
		}
	}
	testkit.FanOut(t, s)
	for name, webhook := range webhooks {
		want := 0
		if name == "own" || name == "both" {
			want = 1
		}
		if got := testkit.Count(t, s, "SELECT count(*) FROM deliveries WHERE webhook = {:w}", dbx.Params{"w": webhook}); got != want {
			t.Errorf("the webhook for %s gets %d events", name, got)
		}
	}
	testkit.Execute(t, s, "DELETE FROM deliveries", nil)
	reopened := testkit.Reopen(t, s.App) // without the extension
	missed, err := testkit.Deliveries(reopened).Recover(t.Context(), webhooks["own"], recovery())
	if err != nil || missed.Count != 1 || missed.Types["order.paid"] != 1 {
		t.Errorf("recovered are %+v (%v)", missed, err)
	}
}

// The event goes with the contact that it names.
func TestOwnEventsAreErased(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	for _, contact := range []string{buyer, ""} {
		if err := event.Emit(s, &event.Event{Kind: "order.paid", TenantID: s.tenant, Contact: contact, Data: map[string]string{"name": "Ada"}}); err != nil {
			t.Fatal(err)
		}
	}
	testkit.FanOut(t, s)
	if err := testkit.Delete(s, buyer); err != nil {
		t.Fatal(err)
	}
	testkit.FanOut(t, s)
	testkit.Sweep(t, s)
	payloads := s.payloads(t)
	if !strings.Contains(payloads[0], `"data":{"id":"`+buyer+`"},"erased":true}`) || !strings.Contains(payloads[1], "Ada") {
		t.Errorf("after the deletion, stored are %q", payloads)
	}
}

// The feed has own kinds only where types names them.
func TestFeedOfOwnKinds(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	testkit.Write(t, s, s.tenant, buyer, event.ContactCreated)
	if err := s.emit(s, struct{}{}); err != nil {
		t.Fatal(err)
	}
	for query, want := range map[string]string{
		"": "contact.created", "types=order.paid": "order.paid", "types=contact.created,%20order.paid": "contact.created order.paid", "types=order.sent": "invalid",
	} {
		q, err := event.ParseQuery(s, values(t, query))
		got := "invalid"
		if err == nil {
			page, err := event.ReadPage(s, s.tenant, event.Oldest, q.Filter, 10)
			if err != nil {
				t.Fatal(err)
			}
			var kinds []string
			for _, sent := range page.Events {
				kinds = append(kinds, sent.Kind)
			}
			got = strings.Join(kinds, " ")
		}
		if got != want {
			t.Errorf("%q has %s (%v)", query, got, err)
		}
	}
}

func recovery() delivery.Recovery { return delivery.Recovery{Since: time.Now().Add(-time.Hour)} }
