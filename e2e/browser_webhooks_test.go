package e2e

import (
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/cdproto/input"

	"contactbase/internal/testenv"
)

// The life of a webhook: it is created with headers, edited, disabled and enabled, gets a new secret, and is deleted.
func TestBrowserWebhookLife(t *testing.T) {
	t.Parallel()
	testenv.Long(t, "walks through nine dialogs, which the tests of the API reach without a browser")
	i, _ := newTenant(t)
	s := i.serve()
	b := s.newBrowser().signIn(s)
	r := newReceiver(t)

	b.integrations("/webhooks", "Webhooks")
	b.click("New webhook")
	b.fill("URL", r.URL)
	b.fill("Name", "Billing")
	b.click("Selected events – only the types below.")
	b.click("Create webhook")
	b.sees("Choose at least one event type, or All contact events.")
	b.click("Contact created")
	b.fill("Filter", "data.company")
	b.click("Preview")
	b.sees("must be true or false")
	b.fill("Filter", " != 'x'")
	b.click("Insert a name")
	b.run(`document.querySelector("textarea[name=filter]").setSelectionRange(0, 0)`)
	b.click("Insert previous.company")
	b.wait("the inserted name", `document.activeElement.value === "previous.company != 'x'" && document.activeElement.selectionEnd === "previous.company".length`)
	b.fill("Filter", `type startsWith "contact."`)
	b.click("Preview")
	b.sees("The filter is valid. There are no events yet.")
	b.fill("Filter", `data.compny == "Acme"`)
	b.click("Preview")
	b.sees("Check the spelling: no event has data.compny.")
	b.look("webhook-form")
	b.click("Add a header")
	b.wait("the fields of a header", `document.querySelectorAll(".integrations-header-row input").length === 2`)
	b.run(`document.querySelectorAll(".integrations-header-row input").forEach((el, n) => { el.value = ["X-Signature", "mine"][n]; el.dispatchEvent(new Event("input")) })`)
	b.click("Create webhook")
	b.sees("is set by the sender")
	b.wait("the error in view", `((alert) => { const box = alert.getBoundingClientRect(); return alert.contains(document.elementFromPoint(box.x + 9, box.y + box.height / 2)) })(document.querySelector(".integrations-dialog .alert.danger"))`)
	b.run(`document.querySelectorAll(".integrations-header-row input").forEach((el, n) => { el.value = ["X-Team", "billing"][n]; el.dispatchEvent(new Event("input")) })`)
	b.click("Create webhook")
	secret := b.shown("Secret")
	r.set(secret, nil)
	b.click("I have stored it")
	b.closed()
	forgotten(b, &installation{t: t, data: t.TempDir()}, secret) // the database holds it: signing needs it

	b.click("Send test event to Billing")
	b.sees("204 accepted")
	b.choose("Event", "Contact updated")
	b.fill("Body", `{"data":{"name":"Sample"}`)
	b.click("Send again")
	b.sees("The body is not valid JSON.")
	b.fill("Body", `{"data":{"name":"Sample"}}`)
	b.look("webhook-test")
	b.click("Send again")
	r.await(t, "the sample", atLeast(2))
	b.sees("204 accepted")
	b.click("Close")
	b.closed()

	b.clickInMenu("More for Billing", "Edit")
	b.wait("the header without its value", `((name, value) => name.value === "X-Team" && value.value === "" && value.placeholder === "unchanged")(...document.querySelectorAll(".integrations-header-row input"))`)
	b.fill("Name", "Invoices")
	b.click("Save")
	b.closed()
	b.says("Invoices", "Events", "created")
	b.clickInMenu("More for Invoices", "Disable")
	b.says("Invoices", "Health", "Disabled")
	b.clickInMenu("More for Invoices", "Enable")
	b.says("Invoices", "Health", "Healthy") // as the test event tells
	b.click("More for Invoices")
	b.look("webhook-menu")
	b.clickInMenu("More for Invoices", "Rotate secret")
	b.click("Rotate secret")
	renewed := b.shown("Secret")
	if renewed == secret {
		t.Error("the secret is the old one")
	}
	r.set(renewed, func(w http.ResponseWriter, request *http.Request) {
		if request.Header.Get("X-Team") != "billing" { // the form has kept it unread
			w.WriteHeader(http.StatusBadRequest)
		}
	})
	b.click("I have stored it")
	b.closed()
	b.click("Send test event to Invoices")
	b.sees("200 accepted")
	b.click("Close")
	b.closed()
	b.clickInMenu("More for Invoices", "Delete")
	gone := evaluate[string](b, `document.querySelector(".integrations-table a[aria-label='Open Invoices']").getAttribute("href")`)
	b.click("Delete webhook")
	b.sees("No webhooks yet")
	b.look("webhooks-empty")
	b.forgiven = "404"
	b.open("/_/" + gone)
	b.sees("This webhook was deleted")
	b.look("webhook-gone")
}

// A failing endpoint: requests and responses are visible, new deliveries appear, and failed ones can be redelivered,
// one by one or all at once.
func TestBrowserDeliveries(t *testing.T) {
	t.Parallel()
	testenv.Long(t, "walks through all states of deliveries; the test of the first delivery opens the same page")
	i, tenant, key := newKey(t)
	r := newReceiver(t)
	created := i.one("webhook", "create", tenant, r.URL)
	secret := str(t, created, "secret")
	refuse := func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("X-Reason", "maintenance")
		http.Error(w, `{"error":"down for maintenance"}`, http.StatusServiceUnavailable)
	}
	r.set(secret, refuse)
	s := i.serve()
	b := s.newBrowser().signIn(s)

	b.webhook(dashboardPages, str(t, created, "id"))
	b.sees("Nothing delivered yet")
	b.run("window.loadedOnce = true")
	c := s.client(key)
	var contact, refused string
	for n, name := range []string{"Ada Lovelace", "Grace Hopper"} {
		answer := c.do("POST", contactsPath, fmt.Sprintf(`{"name":%q,"email":"person%d@example.com"}`, name, n))
		refused, contact = contact, str(t, answer.data(), "id")
	}
	b.sees("503 Service Unavailable")
	b.sees("Failing")
	b.sees("Success rate (24 hours) 0%")
	b.wait("both", `document.querySelectorAll(".integrations-table tbody tr[data-id]").length === 2`)
	if !evaluate[bool](b, "window.loadedOnce") {
		t.Error("the page was loaded again")
	}
	b.sees("Pending")
	b.look("deliveries-failing")

	b.click("Details")
	b.sees("503 rejected")
	b.sees("down for maintenance")
	b.sees("Grace Hopper")
	b.click("Response headers (5)")
	b.sees("maintenance")
	b.sees("(next)")
	b.wait("the rest of the schedule", `document.querySelector(".integrations-timeline details")?.querySelectorAll("li").length >= 6`)
	b.look("delivery-details")
	r.set(secret, about("Ada Lovelace", refuse, nil)) // whatever attempts of the other delivery come due meanwhile
	b.click("Redeliver")
	b.sees("Sends the event “Contact created” for Grace Hopper")
	b.look("redeliver")
	b.click("Send now")
	b.sees("204 accepted")
	b.click("Close")
	b.closed()

	b.choose("Status", "Delivered")
	b.wait("the delivered one", `document.querySelectorAll(".integrations-table tbody tr[data-id]").length === 1`)
	b.choose("Event", "Contact deleted")
	b.sees("Nothing found")
	b.choose("Event", "Contact created")
	b.choose("Status", "All")
	for _, who := range []string{contact, "PERSON1@example.com"} {
		b.fill("Contact", who)
		b.wait("one of "+who, `document.querySelectorAll(".integrations-table tbody tr[data-id]").length === 1 && document.querySelector('.integrations-table [title*="'+`+quote(contact)+`+'"]')`)
	}
	b.fill("Contact", "")
	b.fill("From", "2039-01-01T00:00")
	b.sees("Nothing found")
	b.fill("From", "")
	b.wait("both", `document.querySelectorAll(".integrations-table tbody tr[data-id]").length === 2`)

	// deliveries that failed permanently: the endpoint is gone
	gone := func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusGone) }
	r.set(secret, about("Ada Lovelace", refuse, gone))
	before := time.Now()
	c.do("POST", contactsPath, `{"name":"Hedy Lamarr"}`)
	b.sees("This webhook is disabled")
	b.sees("once enabled")
	b.wait("a failed delivery", `document.querySelector(".integrations-table .label.danger")`)
	b.look("deliveries-disabled")
	r.set(secret, about("Ada Lovelace", refuse, nil))
	b.integrations("/webhooks", "Webhooks")
	b.says(r.URL, "Health", "Disabled")
	b.wait("the reason", `document.querySelector(".integrations-table .label[title*='410']")`)
	b.look("webhooks-disabled")
	b.click("Open " + r.URL)
	b.click("Enable")
	b.wait("that it is enabled", `document.querySelector(".integrations-head") && !document.querySelector(".integrations-head .alert")`)
	b.sees("1 pending delivery, the oldest from ")
	b.click("Retry 1 now")
	b.sees("1 failed, 0 never sent, 1 pending.")
	b.sees("1 delivery will be sent again (Contact created · 1), created ")
	b.sees("1 pending delivery will be sent now.")
	b.click("Send pending deliveries now, before their next scheduled attempt") // ticked, as there are some
	b.look("recover")
	b.click("Recover deliveries")
	b.closed()
	b.choose("Status", "Failed")
	b.sees("Nothing found")
	b.click("Recover…")
	b.sees("0 failed, 0 never sent, 1 pending. 1 pending delivery will be sent now.")
	b.click("Send pending deliveries now, before their next scheduled attempt")
	b.wait("a button that cannot be clicked", `[...document.querySelectorAll(".integrations-dialog button")].find((el) => el.innerText === "Recover deliveries").disabled`)
	b.look("recover-nothing")
	b.click("Cancel")
	b.closed()
	b.choose("Status", "Pending") // what has not failed permanently keeps its schedule, unless somebody is in a hurry
	b.wait("only what was never delivered", `document.querySelectorAll(".integrations-table tbody tr[data-id]").length === 1 && document.querySelector('.integrations-table [title*="'+`+quote(refused)+`+'"]')`)
	b.click("Redeliver")
	b.sees("Sends the event “Contact created” for Ada Lovelace")
	r.set(secret, nil)
	b.click("Send now")
	b.closed()
	b.sees("Nothing found")
	b.choose("Status", "All")
	b.wait("all delivered", `document.querySelectorAll(".integrations-table .label.success").length === 3`)
	t.Logf("disabled, enabled and recovered within %s", time.Since(before).Round(time.Millisecond))

	// while the pointer is over the buttons of a delivery, new ones do not move it away
	pointAt := func(x, y float64) {
		tell(b, input.DispatchMouseEvent, input.DispatchMouseEventParams{Type: input.DispatchMouseEventTypeMouseMoved, X: x, Y: y})
	}
	const polls = `performance.getEntriesByType("resource").filter((entry) => entry.name.includes("/deliveries?")).length`
	aimed := evaluate[[]float64](b, `(() => { const box = document.querySelector(".integrations-table [aria-label=Redeliver]").getBoundingClientRect(); return [box.x + 5, box.y + 5] })()`)
	pointAt(aimed[0], aimed[1])
	c.do("POST", contactsPath, `{"name":"Mary Jackson"}`)
	b.run("performance.clearResourceTimings()")
	b.wait("two polls", polls+" >= 2")
	if n := evaluate[int](b, `document.querySelectorAll(".integrations-table tbody tr[data-id]").length`); n != 3 {
		t.Errorf("below the pointer, the list has changed to %d deliveries", n)
	}
	pointAt(5, 5)
	b.sees("Mary Jackson")

	blocked := str(t, s.signIn().expect(http.StatusOK, http.MethodPost, "/api/collections/webhooks/records", `{"tenant":"`+tenant+`","url":"http://169.254.169.254/latest"}`).json(), "id")
	c.do("POST", contactsPath, `{"name":"Dorothy Vaughan"}`)
	b.webhook(dashboardPages, blocked)
	b.sees("is not a public address")
	b.look("deliveries-blocked")
	b.click("Details")
	b.sees("Request that was not sent (formatted for reading)")
	b.sees("Not sent Attempt 1")
	b.look("delivery-blocked")
}

// Pages say why and since when an endpoint fails, that a pending delivery is paused, and that an endpoint works again.
// The overview lists the latest notices.
func TestBrowserFailing(t *testing.T) {
	t.Parallel()
	i, tenant, key := newKey(t)
	s := i.serve("--allowPrivateWebhooks")
	down := newReceiver(t)
	webhook := i.one("webhook", "create", tenant, down.URL, "--name", "Billing", "--allowPrivateWebhooks")
	var works atomic.Bool
	down.set(str(t, webhook, "secret"), func(w http.ResponseWriter, _ *http.Request) {
		if !works.Load() {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	})
	gone := newReceiver(t)
	gone.set(str(t, i.one("webhook", "create", tenant, gone.URL, "--name", "Shop"), "secret"),
		func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusGone) })
	c := s.client(key)
	for n := range 4 {
		c.expect(http.StatusCreated, http.MethodPost, contactsPath, fmt.Sprintf(`{"name":"Ada %d"}`, n))
	}
	id := str(t, webhook, "id")
	b := s.newBrowser().signIn(s)
	b.integrations("/webhooks", "Webhooks")
	b.sees("503 Service Unavailable since")
	b.look("webhooks-failing")
	listed := i.many("webhook", "list")
	if listed[0]["lastError"] != "503 Service Unavailable" || listed[0]["failingSince"] == nil {
		t.Errorf("the command lists %v", listed)
	}
	b.webhook(dashboardPages, id)
	b.sees("503 Service Unavailable · all attempts failed since")
	b.sees("paused")
	b.look("webhook-failing")
	b.integrations("", "Overview")
	b.matches("attempts? failed in the last 24 hours; all since .*: 503 Service Unavailable")
	b.matches("Latest notices.* Webhook Shop to 127.0.0.1:[0-9]+ was disabled")
	b.sees("No recipients")
	b.look("overview-notices")

	works.Store(true)
	i.must("event", "redeliver", down.await(t, "an attempt", atLeast(1))[0].ID)
	b.sees("; the last one succeeded")
	b.integrations("/webhooks", "Webhooks")
	b.sees("Last attempt succeeded")
	b.webhook(dashboardPages, id)
	b.sees("The last attempt succeeded. The webhook still counts as failing")
	b.look("webhook-repaired")
}
