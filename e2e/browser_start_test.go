package e2e

import (
	"os/exec"
	"regexp"
	"testing"

	"contactbase/internal/testenv"
)

// From an empty directory to the first delivered and verified event, with only a browser and the command that
// its window shows.
func TestBrowserFirstDelivery(t *testing.T) {
	t.Parallel()
	s := newInstallation(t).serve()
	b := s.newBrowser()

	s.await("/_/#/pbinstall/")
	b.open(regexp.MustCompile(`/_/#/pbinstall/\S+`).FindString(s.output.String()))
	b.fill("Email", superuserEmail)
	b.fill("Password", superuserPassword)
	b.fill("Password confirm", superuserPassword)
	b.click("Create superuser and login")
	b.wait("the dashboard", `document.querySelector(".app-header")`)

	b.integrations("/keys", "API keys") // every page offers the steps while there is no tenant
	b.sees("Four steps to your first event")
	b.wait("the version", `document.querySelector(".page-footer")?.innerText.includes("Contactbase dev")`)
	b.look("start")
	b.fill("Name", "Acme")
	b.click("Create tenant")
	b.click("Create key")
	line := b.shown("Try it in a terminal")
	b.look("start-key")
	b.click("I have stored it")
	b.click("Inspect events")
	b.sees("Waiting for the first contact")
	paste(t, line)
	b.sees("Your first event has arrived")
	b.sees("Contact created Signature verified")
	b.wait("the verified event in view", `(() => {
		const box = document.querySelector(".integrations-first-event .label.success").getBoundingClientRect();
		return box.top >= 0 && box.bottom <= innerHeight;
	})()`)
	b.wait("steps that are folded", `[...document.querySelectorAll(".integrations-step.done")].filter((el) => el.getBoundingClientRect().height < 60).length === 4`)
	b.look("start-done")

	r := newReceiver(t)
	b.click("Webhooks")
	b.sees("Inspect, in the browser")
	b.click("New webhook")
	b.fill("URL", "ftp://example.com")
	b.sees("The URL must begin with https:// or http://.")
	b.wait("a form without NATS", "!"+scope+`.innerText.includes("NATS")`) // which the server does not have
	b.fill("URL", r.URL)
	b.sees("--allowPrivateWebhooks")
	b.look("webhook-form")
	b.click("Create webhook")
	r.set(b.shown("Secret"), nil)
	b.click("I have stored it")
	b.closed()
	b.click("Send test event to " + r.URL)
	b.sees("204 accepted")
	b.look("webhook-test")
	b.click("Close")
	b.closed()

	paste(t, line)
	all := r.await(t, "the receiver", contacts(2)) // the test event is about no contact
	for _, d := range all {
		if d.Error != "" {
			t.Errorf("a delivery does not verify: %+v", d)
		}
	}
	b.says(r.URL, "Error rate", "0%")
	b.says(r.URL, "Health", "Healthy")
	b.wait("rows of one line, with their menus in view", `[...document.querySelectorAll(".integrations-table tbody tr[data-id]")].every((el) =>
		el.getBoundingClientRect().height < 70 && el.querySelector("[popovertarget]").getBoundingClientRect().right <= innerWidth)`)
	b.look("webhooks")
	b.click("Open " + r.URL)
	b.sees("Contact created")
	b.look("deliveries")
	if foreign := b.foreign(); len(foreign) > 0 {
		t.Errorf("the dashboard requests other hosts: %v", foreign)
	}
}

// From an empty directory to the first event on the screen, without leaving the browser.
func TestBrowserFirstEvent(t *testing.T) {
	t.Parallel()
	testenv.Long(t, "repeats in a browser what the test of the first event does without one")
	i := newInstallation(t).superuser()
	s := i.serve()
	b := s.newBrowser().signIn(s)
	b.integrations("", "Overview")
	b.fill("Name", "Acme")
	busy := evaluate[bool](b, `(async () => {
		const button = document.querySelector(".integrations-inline-form button");
		button.click();
		await new Promise((resolve) => setTimeout(resolve));
		return button.disabled;
	})()`)
	if !busy {
		t.Error("a button can be clicked while its action runs")
	}
	b.click("Create key")
	b.click("I have stored it")
	b.closed()
	b.click("Inspect events")
	b.click("Create a contact here")
	b.sees("Your first event has arrived")
	b.sees("Contact created Signature verified")
	b.sees("contact.created")
	b.sees("X-Signature")
	b.look("start-event")

	b.integrations("/webhooks", "Webhooks")
	b.says("First look", "Error rate", "0%")
	b.click("Inspect First look")
	b.sees("Contact created Signature verified")
	b.click("Send test event")
	b.sees("Test event Signature verified")
	b.look("inspect")

	b.integrations("/webhooks", "Webhooks")
	b.click("New webhook")
	b.click("Inspect – events are shown in the browser, as a receiver gets them.")
	b.fill("Name", "Second look")
	b.look("webhook-form-inspect")
	b.click("Create webhook")
	b.closed()
	b.click("Inspect Second look")
	b.sees("Nothing has arrived yet")
	b.look("inspect-empty")

	b.integrations("/webhooks", "Webhooks")
	b.clickInMenu("More for Second look", "Edit")
	b.click("HTTP – events are sent to a URL.")
	b.sees("choose Rotate secret in the webhook's menu")
	b.look("webhook-form-after-inspect")
}

// paste runs a copied line in a shell.
func paste(t *testing.T, line string) {
	t.Helper()
	if findTool(t, "curl") == "" {
		t.Skip("there is no curl here")
	}
	out, err := exec.CommandContext(t.Context(), "sh", "-c", line).CombinedOutput()
	if err != nil || !regexp.MustCompile(`^\{"data":\{"id":"`).Match(out) {
		t.Fatalf("%s\nreturns %v: %s", line, err, out)
	}
}
