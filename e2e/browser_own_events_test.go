package e2e

import (
	"net/http"
	"os"
	"testing"
)

// The pages offer the event types of extensions by their sentence. Without the extension, a webhook keeps its type, and
// the page says that no events of it are sent.
func TestBrowserOwnEvents(t *testing.T) {
	t.Parallel()
	i, tenant := newTenant(t)
	hook := i.script("pb_hooks/deals.pb.js", `$contactbase.declareEvent("deal.won", "A deal was <b>won</b>")
routerAdd("POST", "/won/{tenant}", (e) => {
	$contactbase.emitEvent($app, e.request.pathValue("tenant"), "deal.won", { name: "</script><script>document.body.remove()</script>" })
	return e.noContent(204)
})
`)
	s := i.serve()
	r := newReceiver(t)
	b := s.newBrowser().signIn(s)
	b.integrations("/webhooks", "Webhooks")
	b.click("New webhook")
	b.fill("URL", r.URL)
	b.fill("Name", "Deals")
	b.click("Selected events – only the types below.")
	b.click("A deal was <b>won</b> (deal.won)")
	b.look("own-events-form")
	b.click("Create webhook")
	r.set(b.shown("Secret"), nil)
	b.click("I have stored it")
	b.closed()
	b.says("Deals", "Events", "deal.won")
	b.click("Send test event to Deals")
	b.sees("204 accepted")
	b.choose("Event", "A deal was <b>won</b> (deal.won)")
	b.fill("Body", `{"data":{"total":5}}`)
	b.click("Send again")
	if got := r.await(t, "the sample", atLeast(2))[1]; got.Type != "deal.won" || got.Error != "" {
		t.Errorf("the receiver has %+v", got)
	}
	b.click("Close")
	b.closed()
	s.client("").expect(http.StatusNoContent, http.MethodPost, "/won/"+tenant, "")
	r.await(t, "the deal", atLeast(3))
	b.integrations("/events", "Events")
	b.choose("Event", "A deal was <b>won</b> (deal.won)")
	b.sees("deal.won")
	b.run(`document.querySelector("[aria-label^='Details of ']").click()`)
	b.sees("document.body.remove")
	b.look("own-events-event")

	s.stop()
	if err := os.Remove(hook); err != nil {
		t.Fatal(err)
	}
	s = s.again()
	b.forgiven = "404"
	b.integrations("/webhooks", "Webhooks")
	b.clickInMenu("More for Deals", "Edit")
	b.wait("the type that is kept", `[...document.querySelectorAll(".integrations-dialog label")].some((el) => el.innerText === "deal.won (no longer declared)" && document.getElementById(el.htmlFor).checked)`)
	b.click("Save")
	b.closed()
	b.click("Open Deals")
	b.sees("No extension declares deal.won any more, so no new events of this type are sent.")
	b.look("own-events-undeclared")
	page := s.newBrowser()
	page.open(s.link(tenant, "admin"))
	page.arrived("Overview")
	page.portal("/webhooks", "Webhooks")
	page.click("Open Deals")
	page.sees("No extension declares deal.won any more")
	page.look("own-events-portal")
}
