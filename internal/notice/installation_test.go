package notice_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/pocketbase/dbx"
	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/event"
	"contactbase/internal/notice"
	"contactbase/internal/sqlite"
	"contactbase/internal/stamp"
	"contactbase/internal/testkit"
)

const day = 24 * time.Hour

// installation is an app with a tenant, a mail server and a service whose rounds the test calls.
type installation struct {
	core.App
	*notice.Service
	t      *testing.T
	tenant string
	smtp   *testkit.MailServer
	now    time.Time
}

func newInstallation(t *testing.T, checks ...notice.Check) *installation {
	t.Helper()
	i := &installation{t: t, now: time.Now().UTC().Truncate(day).Add(12 * time.Hour)}
	i.App = testkit.NewMailingApp(t)
	i.smtp = testkit.NewMailServer(t, i)
	i.tenant = testkit.Tenant(t, i, "Acme")
	i.start(checks...)
	return i
}

// start starts the program again.
func (i *installation) start(checks ...notice.Check) {
	settings := i.Settings()
	settings.Meta.AppName, settings.Meta.AppURL, settings.Meta.SenderAddress = "CRM", "https://crm.example.com", "crm@example.com"
	i.Service = notice.New(i.App, checks, func() {})
	i.at(0)
}

// at moves the clock forward.
func (i *installation) at(d time.Duration) {
	i.now = i.now.Add(d)
	i.At(i.now, 20*time.Second)
}

func (i *installation) member(name, role, notify string) string {
	return testkit.Record(i.t, i, "tenant_members", map[string]any{
		"tenant": i.tenant, "email": name + "@example.com", "password": "a long password", "role": role, "notify": notify,
	}).Id
}

func (i *installation) webhook(name string) string {
	id := testkit.Record(i.t, i, "webhooks", map[string]any{"tenant": i.tenant, "name": name, "url": "https://hooks.example.com/T0K3N?key=s3cret"}).Id
	testkit.Execute(i.t, i, "UPDATE webhooks SET created = '', updated = '' WHERE id = {:id}", dbx.Params{"id": id})
	return id
}

// find runs a round of the finder, and returns the kinds of the new notices.
func (i *installation) find() (kinds []string) {
	i.t.Helper()
	found, err := i.Find(i.t.Context())
	if err != nil {
		i.t.Fatal(err)
	}
	for _, n := range found {
		kinds = append(kinds, string(n.Kind))
	}
	return kinds
}

// disable writes the notice that the program disables a webhook.
func (i *installation) disable(webhook string) {
	i.t.Helper()
	_, err := sqlite.Write(i.App, func(tx sqlite.Reader) ([]sqlite.Statement, error) {
		return notice.Disabled(tx, webhook, "The endpoint responded with 410 Gone.", i.now)
	})
	if err != nil {
		i.t.Fatal(err)
	}
}

// send runs a round of the mailer, and returns the new mails as "recipient: subject".
func (i *installation) send() (sent []string) {
	i.t.Helper()
	before := len(i.smtp.Mails())
	if err := i.SendDue(i.t.Context()); err != nil {
		i.t.Error(err)
	}
	for _, mail := range i.smtp.Mails()[before:] {
		sent = append(sent, mail.To+": "+mail.Subject)
	}
	slices.Sort(sent)
	return sent
}

func (i *installation) expect(what string, got []string, want ...string) {
	i.t.Helper()
	if !slices.Equal(got, want) {
		i.t.Errorf("%s: %q, want %q", what, got, want)
	}
}

// fail stores attempts at a delivery that failed, the first at a time and one a minute after it.
func (i *installation) fail(webhook string, first time.Time, n int) {
	i.t.Helper()
	id := testkit.Emit(i.t, i, i.tenant, "", event.ContactUpdated)
	testkit.Execute(i.t, i, "UPDATE deliveries SET attempts = {:n} WHERE event = {:id} AND webhook = {:webhook}", dbx.Params{"n": n, "id": id, "webhook": webhook})
	for number := range n {
		testkit.Execute(i.t, i, "INSERT INTO delivery_attempts (id, delivery, number, started, status, error) "+
			"SELECT {:attempt}, id, {:number}, {:at}, 500, '' FROM deliveries WHERE event = {:id} AND webhook = {:webhook}", dbx.Params{
			"attempt": fmt.Sprint(id, number), "number": number + 1, "id": id, "webhook": webhook, "at": stamp.Stored(first.Add(time.Duration(number) * time.Minute)),
		})
	}
}

// succeed counts a delivery that the webhook accepted.
func (i *installation) succeed(webhook string, at time.Time) {
	i.t.Helper()
	for grain, layout := range map[int]string{3600: "2006-01-02 15", 60: "2006-01-02 15:04"} {
		testkit.Execute(i.t, i, "INSERT INTO _activity (kind, grain, start, of, done) VALUES ('webhook', {:grain}, {:start}, {:webhook}, 1) ON CONFLICT DO NOTHING",
			dbx.Params{"grain": grain, "start": at.UTC().Format(layout), "webhook": webhook})
	}
}
