package e2e

import (
	"fmt"
	"net/http"
	"os/exec"
	"strings"
	"testing"

	"contactbase/internal/testenv"
)

// Charts show the results of a webhook's deliveries, and one line shows similar failures. A delivery shows what
// changed, when it is attempted, and a command that sends the same request.
func TestBrowserDeliveryPictures(t *testing.T) {
	t.Parallel()
	testenv.Long(t, "fills charts with failing deliveries, and runs the shown command in a shell")
	i, tenant, key := newKey(t)
	r := newReceiver(t)
	webhook := i.one("webhook", "create", tenant, r.URL)
	r.set(str(t, webhook, "secret"), nil)
	s := i.serve()
	c := s.client(key)
	contact := str(t, c.do("POST", contactsPath, `{"name":"Ada Lovelace","company":"Engines"}`).data(), "id")
	r.await(t, "the receiver", atLeast(1))
	c.do("PATCH", contactsPath+"/"+contact, `{"name":"Ada King","company":null}`)
	r.await(t, "the receiver", atLeast(2))
	r.set(str(t, webhook, "secret"), func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) })
	for n := range 5 {
		c.do("POST", contactsPath, fmt.Sprintf(`{"name":"Person %d"}`, n))
	}

	b := s.newBrowser().signIn(s)
	b.webhook(dashboardPages, str(t, webhook, "id"))
	rows := func(n int) {
		t.Helper()
		b.wait(fmt.Sprint(n, " rows"), fmt.Sprintf(`document.querySelectorAll(".integrations-table tbody tr[data-id]").length === %d`, n))
	}
	b.sees("502 Bad Gateway · 5 deliveries")
	rows(3)
	b.wait("the bars", `document.querySelectorAll(".integrations-chart rect.good").length && document.querySelectorAll(".integrations-chart rect.waits").length`)
	b.sees("2 delivered")
	b.sees("median (p50)")
	b.look("deliveries-pictures")
	b.run(`document.querySelector(".integrations-folded-charts > summary").click()`)
	b.click("Last 30 days")
	b.wait("30 bars", `document.querySelectorAll(".integrations-chart svg")[0].querySelectorAll("g").length === 30`)
	b.click("Show all 5")
	rows(7)
	b.look("deliveries-group")
	b.click("Hide others")
	rows(3)

	b.choose("Event", "Contact updated")
	rows(1)
	b.click("Details")
	b.sees("What changed")
	b.wait("the difference", `[...document.querySelectorAll(".integrations-dialog dl")].some((el) => el.innerText.replace(/\s+/g, " ").includes("name Ada Lovelace Ada King") && el.innerText.includes("no value"))`)
	b.look("delivery-changes")
	b.run(`window.copied = ""; navigator.clipboard.writeText = async (text) => { window.copied = text }`)
	copied := b.notices("Copied")
	b.click("Copy as curl")
	copied()
	r.set(str(t, webhook, "secret"), nil)
	_, before, _ := r.look(atLeast(0))
	line := evaluate[string](b, "window.copied")
	if findTool(t, "curl") == "" {
		t.Skip("there is no curl here")
	}
	if out, err := exec.CommandContext(t.Context(), "sh", "-c", line).CombinedOutput(); err != nil {
		t.Fatalf("%s\nreturns %v: %s", line, err, out)
	}
	all := r.await(t, "the receiver", atLeast(before+1))
	if last := all[len(all)-1]; last.Error != "" || !strings.Contains(line, "X-Signature") {
		t.Errorf("the request of the command does not verify: %+v\n%s", last, line)
	}
	b.click("Ada King")
	b.wait("the contact", `location.hash.endsWith("/contacts/" + `+quote(contact)+`)`)
}

// A chart shows the calls with a key, and refused calls are listed with details for an integrator.
func TestBrowserKeyCalls(t *testing.T) {
	t.Parallel()
	i, _, key := newKey(t)
	s := i.serve()
	b := s.newBrowser().signIn(s)
	b.integrations("/keys", "API keys")
	b.click("Calls with the key website")
	b.sees("No rejected or failed calls")
	c := s.client(key)
	c.do("GET", contactsPath, "")
	refused := c.do("GET", contactsPath+"/nobody?q=secret", "")
	c.do("POST", contactsPath, `{"phone":"secret"}`)
	s.client("").do("GET", contactsPath, "")
	b.sees(refused.header.Get("X-Request-Id"))
	b.sees("validation_failed")
	b.sees("1 succeeded, 2 rejected")
	b.sees("600 calls a minute, 100 of them at once")
	b.sees("Slowest in the last 24 hours")
	b.choose("Method", "POST")
	b.wait("only that call", `[...document.querySelectorAll(".integrations-table")].map((el) => el.querySelectorAll("tbody tr[data-id]").length).join() === "1,0"`)
	b.sees("No call matches these filters.")
	b.run("location.reload()")
	b.wait("the same filter", `document.querySelectorAll(".integrations-table tbody tr[data-id]").length === 1 && location.hash.includes("method=POST")`)
	b.choose("Method", "All")
	b.look("key-calls")
	if evaluate[bool](b, `document.body.innerText.includes("secret")`) {
		t.Error("the page shows data of a request")
	}
	b.click("API keys")
	b.click("Revoke the key website")
	b.click("Revoke key")
	b.closed()
	c.do("GET", contactsPath, "")
	b.click("Calls with the key website")
	b.matches(`The key was revoked (now|\d+ \w+ ago)\. Since then, calls with it are rejected`)
	b.sees("401 invalid_api_key")
	b.look("key-calls-revoked")
	b.click("API keys")
	b.click("Show them")
	b.sees("missing_api_key")
}
