package e2e

import (
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"
)

// dealsHook declares and emits events of an own collection, in its transaction and after it. Its routes emit many at
// once, and roll back.
const dealsHook = `$contactbase.declareEvent("deal.won", "A deal was won")
$contactbase.declareEvent("deal.seen", "A deal was seen")

onRecordCreateExecute((e) => {
	const app = e.app
	try {
		app.runInTransaction((tx) => {
			e.app = tx
			e.next()
			const deal = { id: e.record.id, name: e.record.getString("name"), total: e.record.getFloat("total") }
			$contactbase.emitEvent(tx, e.record.getString("tenant"), "deal.won", deal, { contact: e.record.getString("contact") })
			if (deal.name == "refused") throw new BadRequestError("not this one")
		})
	} finally {
		e.app = app
	}
}, "deals")
onRecordAfterCreateSuccess((e) => {
	$contactbase.emitEvent(e.app, e.record.getString("tenant"), "deal.seen", { id: e.record.id, name: "</script>" })
	e.next()
}, "deals")
routerAdd("POST", "/many/{tenant}/{end}", (e) => {
	$app.runInTransaction((tx) => {
		for (let i = 0; i < 500; i++) {
			$contactbase.emitEvent(tx, e.request.pathValue("tenant"), "deal.won", { id: "d" + i, total: 100 })
		}
		if (e.request.pathValue("end") == "back") throw new BadRequestError("all back")
	})
	return e.noContent(204)
})
`

const dealsMigration = `migrate((app) => {
	app.save(new Collection({ name: "deals", type: "base", fields: [
		{ name: "tenant", type: "text" }, { name: "contact", type: "text" }, { name: "name", type: "text" }, { name: "total", type: "number" },
	] }))
})
`

// A hook's own events reach a real receiver signed, filtered and once, whatever happens to the program: none of a
// transaction that is rolled back, all of one that was committed before kill -9. Without the hook, webhooks keep its
// types and say so.
func TestOwnEvents(t *testing.T) {
	t.Parallel()
	i := newInstallation(t).superuser()
	tenant := str(t, i.one("tenant", "create", "Acme"), "id")
	key := str(t, i.one("key", "create", "Acme"), "key")
	i.script("pb_migrations/1790000000_deals.js", dealsMigration)
	hook := i.script("pb_hooks/deals.pb.js", dealsHook)
	if got := i.run("migrate", "up"); got.code != 0 {
		t.Fatalf("the migration: %s", got.stderr)
	}
	s := i.serve()
	admin, c := s.signIn(), s.client(key)
	const webhooks, deals = "/api/collections/webhooks/records", "/api/collections/deals/records"
	add := func(events, filter string) (*receiver, string) {
		r := newReceiver(t)
		made := admin.expect(http.StatusOK, http.MethodPost, webhooks,
			fmt.Sprintf(`{"tenant":%q,"url":%q,"events":%s,"filter":%q}`, tenant, r.URL, events, filter)).json()
		r.set(str(t, made, "secret"), nil)
		return r, str(t, made, "id")
	}
	won, id := add(`["deal.won"]`, "data.total > 10")
	seen, _ := add(`["deal.seen","contact.created"]`, "")
	all, _ := add(`[]`, "")
	admin.expect(http.StatusBadRequest, http.MethodPost, webhooks, fmt.Sprintf(`{"tenant":%q,"url":%q,"events":["deal.lost"]}`, tenant, won.URL))

	contact := str(t, c.expect(http.StatusCreated, http.MethodPost, contactsPath, `{"name":"Ada"}`).data(), "id")
	deal := func(status int, name string, total int) {
		admin.expect(status, http.MethodPost, deals, fmt.Sprintf(`{"tenant":%q,"contact":%q,"name":%q,"total":%d}`, tenant, contact, name, total))
	}
	deal(http.StatusOK, "small", 10)
	deal(http.StatusBadRequest, "refused", 20)
	deal(http.StatusOK, "large", 11)
	admin.expect(http.StatusBadRequest, http.MethodPost, "/many/"+tenant+"/back", "")
	if got := won.await(t, "the large deal", atLeast(1)); got[0].Type != "deal.won" || got[0].Name != "large" || got[0].Error != "" {
		t.Errorf("the receiver of deals has %+v", got)
	}
	seen.await(t, "seen deals", atLeast(3))
	history := admin.expect(http.StatusOK, http.MethodGet, "/api/integrations/contacts/"+contact+"/events", "")
	if got := string(history.body); strings.Count(got, `"type":"deal.won"`) != 2 || !strings.Contains(got, `"source":{"type":"extension"}`) {
		t.Errorf("the history of the contact is %s", got)
	}
	if got := string(c.expect(http.StatusOK, http.MethodGet, "/api/ext/v1/events?after=", "").body); strings.Contains(got, "deal.") {
		t.Errorf("the feed has %s", got)
	}
	feed := string(c.expect(http.StatusOK, http.MethodGet, "/api/ext/v1/events?after=&types=deal.won", "").body)
	if strings.Count(feed, `"type":"deal.won"`) != 2 || strings.Contains(feed, "refused") {
		t.Errorf("the feed of deals has %s", feed)
	}

	// the answer comes after the commit
	admin.expect(http.StatusNoContent, http.MethodPost, "/many/"+tenant+"/commit", "")
	s.kill()
	s = s.again()
	got := won.await(t, "the deals before the kill", contacts(501))
	for _, d := range got {
		if d.Type != "deal.won" || d.Error != "" || d.Name == "refused" || d.Name == "small" {
			t.Errorf("the receiver of deals has %+v", d)
		}
	}
	for _, d := range all.await(t, "the contact", atLeast(1)) {
		if d.Type != "contact.created" {
			t.Errorf("the webhook without a list receives %+v", d)
		}
	}

	s.stop()
	if err := os.Remove(hook); err != nil {
		t.Fatal(err)
	}
	s = s.again()
	admin = s.signIn()
	webhook := admin.expect(http.StatusOK, http.MethodGet, webhooks+"/"+id, "")
	if got := string(webhook.body); !strings.Contains(got, `"events":["deal.won"]`) || !strings.Contains(got, `"undeclaredEvents":["deal.won"]`) {
		t.Errorf("without the hook, the webhook is %s", got)
	}
	admin.expect(http.StatusOK, http.MethodPatch, webhooks+"/"+id, `{"name":"Deals"}`)
	i.must("webhook", "rotate", id) // a command
}
