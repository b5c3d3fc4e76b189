package cmd

import (
	"bytes"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"contactbase/internal/event"
	"contactbase/internal/safehttp"
	"contactbase/internal/testkit"
)

// output runs a command, and returns what it prints, also as notes and warnings.
func output(command *cobra.Command, args ...string) (string, error) {
	var out bytes.Buffer
	command.SetArgs(args)
	command.SetOut(&out)
	command.SetErr(&out)
	err := command.Execute()
	return out.String(), err
}

// An event is sent again by its ID, as receivers know it, to all its webhooks or to one.
func TestEventRedeliver(t *testing.T) {
	t.Parallel()
	app := testkit.NewApp(t)
	acme, beta := testkit.Tenant(t, app, "Acme"), testkit.Tenant(t, app, "Beta")
	webhook := func(owner string) string {
		return testkit.Record(t, app, "webhooks", map[string]any{"tenant": owner, "url": "https://example.com/hook"}).Id
	}
	first, foreign := webhook(acme), webhook(beta)
	testkit.Execute(t, app, "UPDATE webhooks SET created = '', updated = ''", nil)
	id := testkit.Emit(t, app, acme, "", event.ContactUpdated)
	testkit.Execute(t, app, "UPDATE deliveries SET status = 'delivered', attempts = 3", nil)
	second := webhook(acme)
	redeliver := func(args ...string) (string, error) {
		return output(NewEventCommand(app, testkit.Deliveries(app)), append([]string{"redeliver"}, args...)...)
	}
	pending := func(webhook string) int {
		return testkit.Count(t, app, "SELECT count(*) FROM deliveries WHERE status = 'pending' AND webhook = '"+webhook+"'", nil)
	}
	if out, err := redeliver("evt_" + id); err != nil || !strings.Contains(out, "count  1") || pending(first) != 1 || pending(second) != 0 {
		t.Errorf("to all it prints %s (%v)", out, err)
	}
	testkit.Execute(t, app, "UPDATE webhooks SET disabled = 1", nil)
	if out, err := redeliver(id, "--webhook", second); err != nil || pending(second) != 1 || !strings.Contains(out, "warning: the webhook is disabled") {
		t.Errorf("to one it prints %s (%v)", out, err)
	}
	if n := testkit.Count(t, app, "SELECT count(*) FROM audit_log WHERE action = 'redelivered'", nil); n != 2 {
		t.Errorf("the audit log has %d entries", n)
	}
	for says, args := range map[string]string{
		`no event has the ID "evt_none"`: "evt_none", `no webhook has the ID "none"`: id + " --webhook none",
		"belongs to another tenant": id + " --webhook " + foreign,
	} {
		if out, err := redeliver(strings.Fields(args)...); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s ends with %v: %s", args, err, out)
		}
	}
}

// An update changes what its flags name, and nothing else.
func TestWebhookUpdate(t *testing.T) {
	t.Parallel()
	app := testkit.NewApp(t)
	id := testkit.Record(t, app, "webhooks", map[string]any{
		"tenant": testkit.Tenant(t, app, "Acme"), "name": "Orders", "url": "https://example.com/old",
		"events": []string{"contact.created"}, "maxPerSecond": 7,
	}).Id
	update := func(args ...string) (string, error) {
		command := NewWebhookCommand(app, testkit.Deliveries(app), nil, safehttp.Options{})
		return output(command, append([]string{"update", id}, args...)...)
	}
	state := func() string {
		record, err := app.FindRecordById("webhooks", id)
		if err != nil {
			t.Fatal(err)
		}
		return strings.Join([]string{
			record.GetString("name"), record.GetString("url"), strings.Join(record.GetStringSlice("events"), "+"),
			record.GetString("filter"), record.GetString("maxPerSecond"), record.GetString("disabled"),
		}, " ")
	}
	for _, step := range []struct {
		args []string
		want string
	}{
		{[]string{"--url", "https://example.com/new"}, "Orders https://example.com/new contact.created  7 false"},
		{[]string{"--event", "contact.deleted,webhook.failing", "--disabled"}, "Orders https://example.com/new contact.deleted+webhook.failing  7 true"},
		{[]string{"--event", "", "--disabled=false", "--maxPerSecond", "0", "--name", ""}, " https://example.com/new   0 false"},
		{[]string{"--filter", "data.name != nil"}, " https://example.com/new  data.name != nil 0 false"},
	} {
		if out, err := update(step.args...); err != nil || state() != step.want {
			t.Errorf("%q: %q, not %q (%v): %s", step.args, state(), step.want, err, out)
		}
	}
	if out, err := update("--url", "http://127.0.0.1/hook"); err != nil || !strings.Contains(out, "warning: 127.0.0.1 is a private address") {
		t.Errorf("a private address: %s (%v)", out, err)
	}
	before := state()
	for says, args := range map[string][]string{
		"nothing to change: set --url": nil, "--event must be": {"--event", "contact.none"}, "the URL must begin": {"--url", "nonsense"},
		"--header must be a name": {"--header", "none"},
	} {
		if out, err := update(args...); err == nil || !strings.Contains(err.Error(), says) || state() != before {
			t.Errorf("%q ends with %v: %s", args, err, out)
		}
	}
}
