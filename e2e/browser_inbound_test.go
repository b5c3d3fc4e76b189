package e2e

import (
	"os/exec"
	"strings"
	"testing"
)

// An inbound webhook, from its creation to the contact, with the command that its window shows; the Try panel; a replay.
func TestBrowserInbound(t *testing.T) {
	t.Parallel()
	i := newInstallation(t).superuser()
	i.must("tenant", "create", "Acme")
	s := i.serve()
	b := s.newBrowser().signIn(s)

	b.integrations("/inbound", "Inbound webhooks")
	b.sees("No inbound webhooks yet")
	b.look("inbound-empty")
	b.click("New inbound webhook")
	b.fill("Name", "Website")
	b.look("inbound-form")
	b.click("Create")
	address, line := b.shown("Address"), b.shown("Try it in a terminal")
	b.look("inbound-address")
	b.click("I have stored it")
	b.closed()
	forgotten(b, i, address[strings.LastIndex(address, "/")+1:])
	out, err := exec.CommandContext(t.Context(), "sh", "-c", line).CombinedOutput()
	if err != nil || !strings.Contains(string(out), `"created":1`) {
		t.Fatalf("%s\nreturns %v: %s", line, err, out)
	}

	b.click("New inbound webhook")
	b.fill("Name", "Survey")
	b.choose("Sender", "Typeform")
	b.sees("What Typeform sends")
	b.click("Create")
	b.click("I have stored it")
	b.closed()
	b.sees("Typeform")
	b.click("Try Survey")
	b.wait("what Typeform sends", labelled("Request body")+`.value.includes('"form_response"')`)
	b.click("Try")
	b.sees("Ada Lovelace")
	b.choose("Sender", "Jotform")
	b.wait("what Jotform sends", labelled("Request body")+`.value.includes("rawRequest")`)
	b.click("Try")
	b.sees("Analytical Engines")
	b.choose("Sender", "Typeform")
	b.fill("Request body", `{"form_response":{"answers":[{"type":"email","email":"ada@example.com"},{"type":"text","text":"Analytical Engines","field":{"ref":"company"}}]}}`)
	b.click("Try")
	b.sees("updated")
	b.sees("Analytical Engines")
	b.look("inbound-try")
	b.fill("Request body", `{"form_response":`)
	b.click("Try")
	b.wait("what is wrong, in words", `document.querySelector(".integrations-try-result .alert.danger")?.innerText.length > 10`)
	b.click("Close")
	b.closed()

	b.look("inbound")
	b.fill("Search by name or prefix", "surv")
	b.wait("one of the two", `document.querySelectorAll(".integrations-table tbody tr[data-id]").length === 1 && `+scope+`.innerText.includes("Survey")`)
	b.fill("Search by name or prefix", "")
	b.choose("Tenant", "Acme")
	b.wait("both", `document.querySelectorAll(".integrations-table tbody tr[data-id]").length === 2`)
	b.click("Requests to Website")
	b.sees("1 created")
	b.look("inbound-requests")
	b.click("Details")
	b.sees("Ada Lovelace")
	b.look("inbound-request")
	b.click("Replay")
	b.sees("Applies the request again")
	applied := b.notices("1 unchanged")
	b.click("Replay")
	applied()
	b.closed()
	b.sees("1 unchanged")

	b.integrations("/inbound", "Inbound webhooks")
	b.clickInMenu("More for Website", "Rotate address")
	b.click("Rotate address")
	renewed := b.shown("Address")
	b.click("I have stored it")
	b.closed()
	c := s.client("")
	send := func(to string) int {
		return c.do("POST", strings.TrimPrefix(to, s.base), `{"email":"ada@example.com"}`).status
	}
	if send(address) != 401 || send(renewed) != 200 {
		t.Errorf("after the rotation the old address returns %d, the new one %d", send(address), send(renewed))
	}
	b.clickInMenu("More for Website", "Disable")
	b.sees("Disabled")
	if status := send(renewed); status != 401 {
		t.Errorf("the disabled address returns %d", status)
	}
}
