package activity_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/pocketbase/dbx"

	"contactbase/internal/activity"
	"contactbase/internal/stamp"
	"contactbase/internal/testkit"
)

// A webhook fails from the first failure after its last success on. The log has a line when ten attempts in a row have
// failed, and one when an attempt succeeds again.
func TestFailures(t *testing.T) {
	t.Parallel()
	app := testkit.NewApp(t)
	var lines bytes.Buffer
	*app.Logger() = *slog.New(slog.NewTextHandler(&lines, nil))
	tenant := testkit.Tenant(t, app, "Acme")
	id := testkit.Webhook(t, app, tenant, "https://example.com/T0K3N", "")
	at := noon
	attempts := func(statuses ...int) {
		t.Helper()
		for _, status := range statuses {
			at = at.Add(time.Minute)
			store(t, app, at, attempt{webhook: id, status: status})
		}
		countAll(t, app)
	}
	logged := func() (says []string) {
		for line := range strings.Lines(lines.String()) {
			if strings.Contains(line, "T0K3N") || !strings.Contains(line, "tenant="+tenant) || !strings.Contains(line, "webhook="+id) {
				t.Errorf("a line is %s", line)
			}
			_, after, _ := strings.Cut(line, `msg="`)
			message, _, _ := strings.Cut(after, `"`)
			_, reason, _ := strings.Cut(strings.TrimSpace(line), "attempts=")
			says = append(says, message+" "+reason)
		}
		lines.Reset()
		return says
	}
	expect := func(what, since string, log ...string) {
		t.Helper()
		failures, err := activity.Failures(app, []string{id, "other"})
		if got := fmt.Sprint(failures[id].Since, " ", failures[id].Attempts, " ", failures[id].Reason); err != nil || got != since {
			t.Errorf("%s: failing since %s, not %s (%v)", what, got, since, err)
		}
		if got := logged(); fmt.Sprint(got) != fmt.Sprint(log) {
			t.Errorf("%s: the log has %q, not %q", what, got, log)
		}
	}
	down := []int{503, 503, 503, 503}
	attempts(204)
	expect("while it works", " 0 ")
	attempts(204, 500)
	since := stamp.Stored(at)
	expect("once", since+" 1 500 Internal Server Error")
	attempts(down...)
	attempts(down...)
	expect("nine times", since+" 9 503 Service Unavailable")
	attempts(404)
	expect("ten times", since+" 10 404 Not Found", `a webhook is failing 10 reason="404 Not Found"`)
	attempts(down...)
	expect("on and on", since+" 14 503 Service Unavailable")
	attempts(200, 500)
	expect("with a success between", stamp.Stored(at)+" 1 500 Internal Server Error", `a webhook works again 14 reason="503 Service Unavailable"`)
	attempts(200)
	expect("a short failure", " 0 ")

	store(t, app, at, attempt{webhook: id})
	testkit.Execute(t, app, "UPDATE delivery_attempts SET error = {:long} WHERE status = 0", dbx.Params{"long": "dns:\n" + strings.Repeat("é", 300)})
	countAll(t, app)
	failures, err := activity.Failures(app, []string{id})
	if reason := []rune(failures[id].Reason); err != nil || len(reason) != 200 || string(reason[:6]) != "dns: é" {
		t.Errorf("the reason is %q (%v)", string(reason), err)
	}
	testkit.Execute(t, app, "DELETE FROM webhooks", nil)
	if n := testkit.Count(t, app, "SELECT count(*) FROM _failingWebhooks", nil); n != 0 {
		t.Errorf("%d rows outlive their webhook", n)
	}
}
