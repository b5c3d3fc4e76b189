package e2e

import (
	"fmt"
	"strings"
	"testing"

	"contactbase/internal/testenv"
)

// Events are found by their ID, show their payload and deliveries, and are sent again to one webhook. The address keeps
// the search and the open event.
func TestBrowserEvents(t *testing.T) {
	t.Parallel()
	testenv.Long(t, "walks through the page of events, whose answers the tests of the API check")
	i, tenant, key := newKey(t)
	receivers := []*receiver{newReceiver(t), newReceiver(t)}
	for _, r := range receivers {
		r.set(str(t, i.one("webhook", "create", tenant, r.URL), "secret"), nil)
	}
	s := i.serve()
	for n := range 3 {
		s.client(key).do("POST", contactsPath, fmt.Sprintf(`{"name":"Person %d"}`, n))
	}
	b := s.newBrowser().signIn(s)

	b.integrations("/events", "Events")
	b.wait("all events with their deliveries", `[...document.querySelectorAll(".integrations-table tbody tr[data-id]")].filter((row) => row.innerText.includes("2 delivered")).length === 3`)
	head := func() string {
		return evaluate[string](b, `document.querySelector(".integrations-table thead").innerText`)
	}
	if !strings.Contains(head(), "Tenant") {
		t.Errorf("the events of all tenants have the columns %s", head())
	}
	b.look("events")
	b.choose("Tenant", "Acme")
	b.wait("no column of the tenant", `!document.querySelector(".integrations-table thead").innerText.includes("Tenant")`)
	b.choose("Tenant", "All tenants")
	id := evaluate[string](b, `document.querySelector(".integrations-table tbody tr[data-id]:last-child").dataset.id`)
	b.fill("Event ID", id)
	b.wait("only that event", `document.querySelectorAll(".integrations-table tbody tr[data-id]").length === 1`)
	b.click("Details of " + id)
	b.sees(`"name": "Person 0"`)
	b.sees("2 delivered")
	b.look("event")
	b.run("location.reload()")
	b.sees(`"name": "Person 0"`)
	if address := evaluate[string](b, "location.hash"); !strings.Contains(address, "event="+id) || !strings.Contains(address, "id="+id) {
		t.Errorf("the address of the page is %s", address)
	}

	b.click("Redeliver…")
	b.choose("Webhook", receivers[1].URL)
	b.look("event-redeliver")
	sent := b.notices("1 delivery queued.")
	b.click("Send now")
	sent()
	b.wait("the drawer", `document.querySelectorAll(".integrations-dialog").length === 1`)
	receivers[1].await(t, "the event again", atLeast(4))
	b.click("Close")
	b.closed()
	b.wait("an address without the event", `!location.hash.includes("event=")`)
	b.fill("Event ID", "evt_000000000000000")
	b.sees("No event matches these filters.")
	b.look("events-nothing")
}
