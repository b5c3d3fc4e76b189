package notice_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pocketbase/dbx"
	"github.com/pocketbase/pocketbase/core"
	"github.com/tidwall/gjson"

	"contactbase/internal/contact"
	"contactbase/internal/credential"
	"contactbase/internal/event"
	"contactbase/internal/notice"
	"contactbase/internal/retention"
	"contactbase/internal/stamp"
	"contactbase/internal/testkit"
)

// A webhook fails when none of at least ten attempts succeeded for an hour, once until it works again.
func TestFailing(t *testing.T) {
	t.Parallel()
	i := newInstallation(t)
	i.member("ada", "admin", "")
	began := i.now
	few, many := i.webhook("few"), i.webhook("Orders")
	i.succeed(many, began.Add(-5*time.Minute))
	i.fail(few, began, 9)
	i.fail(many, began, 10)
	i.at(59 * time.Minute)
	i.expect("before the hour", i.find())
	i.at(time.Minute)
	i.expect("after the hour", i.find(), "webhook.failing")
	i.expect("the mail", i.send(), "ada@example.com: [CRM] Webhook Orders to hooks.example.com is failing")
	if body := i.smtp.Mails()[0].Text; strings.Contains(body, "T0K3N") || strings.Contains(body, "s3cret") || !strings.Contains(body, "crm.example.com/portal/") {
		t.Errorf("the mail is %s", body)
	}
	i.at(30 * time.Second)
	i.expect("again", i.find())

	i.at(time.Minute)
	i.succeed(many, i.now)
	i.expect("after a success", i.find(), "webhook.recovered")
	i.expect("once more", i.find())
	i.expect("within an hour of the last mail", i.send())
	i.at(time.Hour)
	i.expect("an hour after", i.send(), "ada@example.com: [CRM] Webhook Orders to hooks.example.com works again")

	i.at(time.Hour)
	i.fail(many, i.now, 10)
	i.at(time.Hour + time.Minute)
	i.expect("failing once more", i.find(), "webhook.failing")
	if n := testkit.Count(t, i, "SELECT count(*) FROM events WHERE type LIKE 'webhook.%'", nil); n != 3 {
		t.Errorf("there are %d events", n)
	}
}

// A key is noticed two weeks and a day before it expires, and by the nearer of both if it is that new.
func TestExpiringKeys(t *testing.T) {
	t.Parallel()
	i := newInstallation(t)
	key := func(name string, left time.Duration, more map[string]any) {
		values := map[string]any{"tenant": i.tenant, "name": name, "expires": stamp.Stored(i.now.Add(left))}
		for field, value := range more {
			values[field] = value
		}
		testkit.Record(t, i, "api_keys", values)
	}
	key("long", 15*day, nil)
	key("never", 0, map[string]any{"expires": ""})
	key("gone", time.Hour, map[string]any{"revoked": stamp.Stored(i.now)})
	i.expect("at first", i.find())
	key("short", 12*time.Hour, nil)
	i.expect("of the short one", i.find(), "key.expiring")
	i.expect("again", i.find())
	i.at(day)
	i.expect("two weeks before", i.find(), "key.expiring")
	i.at(13*day - time.Minute)
	i.expect("before the last day", i.find())
	i.at(time.Minute)
	i.expect("a day before", i.find(), "key.expiring")
	i.at(2 * day)
	i.expect("after", i.find())
	var payload string
	if err := i.DB().NewQuery("SELECT payload FROM events WHERE type = 'key.expiring' LIMIT 1").Row(&payload); err != nil {
		t.Fatal(err)
	}
	data := gjson.Get(payload, "data")
	if data.Get("key.name").String() != "short" || !strings.HasPrefix(data.Get("key.prefix").String(), "cmk_") || data.Get("key.id").String() == "" ||
		data.Get("expires").String() != stamp.Shown(i.now.Add(12*time.Hour-16*day)) {
		t.Errorf("the event is %s", payload)
	}
}

// A rotated key causes no notice, unless it is extended. Its successor causes one.
func TestRotatedKeys(t *testing.T) {
	t.Parallel()
	i := newInstallation(t)
	i.member("ada", "admin", "")
	old := testkit.Record(t, i, "api_keys", map[string]any{"tenant": i.tenant, "name": "old", "expires": stamp.Stored(i.now.Add(15 * day))})
	later := i.now.Add(30 * day)
	if _, err := credential.Rotate(i, old.Id, credential.Rotation{OverlapHours: 1, Expires: &later}, i.now); err != nil {
		t.Fatal(err)
	}
	i.expect("in the overlap", i.find())
	i.at(16*day + time.Minute)
	i.expect("of the successor", i.find(), "key.expiring")
	if sent := i.send(); len(sent) != 1 {
		t.Errorf("sent %q", sent)
	}
	if body := i.smtp.Mails()[0].Text; !strings.Contains(body, later.UTC().Format("2 January 2006, 15:04 UTC")) || !strings.Contains(body, "open your account") {
		t.Errorf("the mail is %s", body)
	}
	testkit.Execute(t, i, "UPDATE api_keys SET expires = {:at} WHERE id = {:id}", dbx.Params{"at": stamp.Stored(time.Now().Add(31 * day)), "id": old.Id})
	i.at(4 * day)
	i.expect("of the extended one", i.find(), "key.expiring")
}

// Who gets a mail, and when, depends on the role and on what the member chose.
func TestRecipients(t *testing.T) {
	t.Parallel()
	i := newInstallation(t)
	testkit.SuperuserToken(t, i)
	i.member("now", "admin", "immediately")
	i.member("daily", "admin", "daily")
	i.member("never", "admin", "never")
	i.member("viewer", "viewer", "immediately")
	leaving := i.member("leaving", "admin", "")
	testkit.Execute(t, i, "INSERT INTO tenant_members (id, tenant, role, link, email, password, tokenKey) VALUES ('l1', {:tenant}, 'admin', 1, 'l@portal.invalid', 'x', 'x')",
		dbx.Params{"tenant": i.tenant})
	i.disable(i.webhook("one"))
	testkit.Execute(t, i, "UPDATE tenant_members SET role = 'viewer' WHERE id = {:id}", dbx.Params{"id": leaving})
	const one, two = "Webhook one to hooks.example.com was disabled", "Webhook two to hooks.example.com was disabled"
	i.expect("at once", i.send(), "now@example.com: [CRM] "+one)
	i.expect("again", i.send())
	i.at(time.Minute)
	i.disable(i.webhook("two"))
	i.expect("of another webhook, at once", i.send(), "now@example.com: [CRM] "+two)
	i.at(18 * time.Hour)
	i.expect("before the digest", i.send())
	i.at(time.Hour)
	i.expect("the digest", i.send(), "daily@example.com: [CRM] "+one+", and 1 more")
	mails := i.smtp.Mails()
	if digest := mails[len(mails)-1].Text; !strings.Contains(digest, two) {
		t.Errorf("the digest is %s", digest)
	}
}

// The operator hears of a check once, until it succeeds in between.
func TestChecks(t *testing.T) {
	t.Parallel()
	var fault error
	check := notice.Check{Kind: notice.DiskLow, Look: func(context.Context) error { return fault }}
	i := newInstallation(t, check)
	testkit.SuperuserToken(t, i)
	i.member("ada", "admin", "")
	i.expect("while all is well", i.find())
	fault = errors.New("the disk has 3 MiB left")
	i.expect("when it fails", i.find(), "disk.low")
	i.expect("the mail", i.send(), "root@example.com: [CRM] The disk is filling up")
	i.start(check)
	i.at(2 * time.Hour)
	i.expect("after a restart", i.find())
	fault = nil
	i.expect("when it succeeds", i.find())
	fault = errors.New("the disk has 2 MiB left")
	i.expect("when it fails again", i.find(), "disk.low")
	if n := testkit.Count(t, i, "SELECT count(*) FROM events", nil); n != 0 {
		t.Errorf("there are %d events", n)
	}
}

// A backup that fails is noticed.
func TestBackup(t *testing.T) {
	t.Parallel()
	i := newInstallation(t)
	testkit.SuperuserToken(t, i)
	i.OnBackupCreate().BindFunc(func(*core.BackupEvent) error { return errors.New("no space left") })
	if err := i.CreateBackup(t.Context(), "b.zip"); err == nil {
		t.Fatal("the backup did not fail")
	}
	i.at(day)
	if sent := i.send(); len(sent) != 1 || !strings.Contains(i.smtp.Mails()[0].Text, "no space left") {
		t.Errorf("sent %q", sent)
	}
}

// A mail server that refuses or hangs loses no notice, and delays no other. A mail has the same Message-ID every time.
func TestMailServer(t *testing.T) {
	t.Parallel()
	i := newInstallation(t)
	i.member("ada", "admin", "")
	i.Settings().SMTP.Enabled = false
	i.disable(i.webhook("one"))
	i.expect("without a server", i.send())
	i.Settings().SMTP.Enabled = true

	i.smtp.Set("hang")
	i.At(i.now, 50*time.Millisecond)
	for range 5 { // more than may wait for the server
		i.now = i.now.Add(2 * time.Hour)
		i.At(i.now, 50*time.Millisecond)
		_ = i.SendDue(t.Context())
	}
	i.smtp.Set("refuse")
	i.start() // again, so that nothing waits
	i.at(2 * time.Hour)
	if err := i.SendDue(t.Context()); err == nil || !strings.Contains(err.Error(), "451") {
		t.Errorf("a refusal is %v", err)
	}
	var id string
	if err := i.DB().NewQuery("SELECT mail FROM _noticeMails").Row(&id); err != nil {
		t.Fatal(err)
	}
	i.smtp.Set("accept")
	i.expect("at once after a refusal", i.send())
	i.start()
	i.at(time.Hour)
	i.expect("later", i.send(), "ada@example.com: [CRM] Webhook one to hooks.example.com was disabled")
	if got := i.smtp.Mails()[0].ID; got != "<notice."+id+"@example.com>" {
		t.Errorf("the id of the mail is %s", got)
	}
	i.start()
	i.at(5 * time.Hour)
	i.expect("after a restart", i.send())
}

// A mail is given up after three days, and a notice is deleted with the retention, or with its tenant.
func TestPrune(t *testing.T) {
	t.Parallel()
	i := newInstallation(t)
	i.member("ada", "admin", "")
	i.disable(i.webhook("one"))
	prune := func() {
		t.Helper()
		if err := notice.Prune(t.Context(), i, i.now.Add(-time.Hour), i.now); err != nil {
			t.Fatal(err)
		}
	}
	rows := func() int {
		return testkit.Count(t, i, "SELECT (SELECT count(*) FROM _notices) + (SELECT count(*) FROM _noticeMails)", nil)
	}
	i.at(4 * day)
	prune()
	i.expect("after three days", i.send())
	if n := rows(); n != 2 {
		t.Errorf("%d rows are left", n)
	}
	i.at(30 * day)
	prune()
	if n := rows(); n != 0 {
		t.Errorf("%d rows are left after the retention", n)
	}
	i.disable(i.webhook("two"))
	record, err := i.FindRecordById("tenants", i.tenant)
	if err != nil {
		t.Fatal(err)
	}
	if err := i.Delete(record); err != nil {
		t.Fatal(err)
	}
	i.expect("of a deleted tenant", i.send())
	if err := retention.Sweep(t.Context(), i, testkit.Deliveries(i)); err != nil {
		t.Fatal(err)
	}
	if n := rows(); n != 0 {
		t.Errorf("%d rows are left of a deleted tenant", n)
	}
}

// receiver answers with a status, and keeps the types of the events.
type receiver struct {
	mu    sync.Mutex
	types []string
	last  string
}

func (r *receiver) serve(t *testing.T, status int) string {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		body, _ := io.ReadAll(request.Body)
		r.mu.Lock()
		r.types, r.last = append(r.types, request.Header.Get("X-Event")), string(body)
		r.mu.Unlock()
		w.WriteHeader(status)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

func (r *receiver) got() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.types)
}

// A webhook that the program disables is noticed in the same transaction, once. The event reaches the webhooks and
// the readers of the feed that name its kind, and no others. A webhook that a person disables is not noticed.
func TestDisabledByTheProgram(t *testing.T) {
	t.Parallel()
	app := testkit.NewDeliveringApp(t)
	tenant, other := testkit.Tenant(t, app, "Acme"), testkit.Tenant(t, app, "Other")
	var gone, asks, all, foreign receiver
	webhook := testkit.Record(t, app, "webhooks", map[string]any{"tenant": tenant, "name": "Orders", "url": gone.serve(t, http.StatusGone) + "/hook?key=s3cret"})
	named := map[string]any{"tenant": tenant, "url": asks.serve(t, http.StatusOK), "events": []string{"webhook.disabled"}}
	testkit.Record(t, app, "webhooks", named)
	byHand := testkit.Record(t, app, "webhooks", map[string]any{"tenant": tenant, "url": "https://hooks.example.com"})
	testkit.Webhook(t, app, tenant, all.serve(t, http.StatusOK), "")
	testkit.Record(t, app, "webhooks", map[string]any{"tenant": other, "url": foreign.serve(t, http.StatusOK), "events": []string{"webhook.disabled"}})
	byHand, err := app.FindRecordById("webhooks", byHand.Id)
	if err != nil {
		t.Fatal(err)
	}
	byHand.Set("disabled", true)
	if err := app.Save(byHand); err != nil {
		t.Fatal(err)
	}
	if _, err := testkit.Create(app, tenant, contact.Changes{"name": "Ada"}); err != nil {
		t.Fatal(err)
	}
	testkit.Eventually(t, "the event", func() bool { return len(asks.got()) > 0 })
	if body := asks.last; gjson.Get(body, "type").String() != "webhook.disabled" || gjson.Get(body, "data.webhook.id").String() != webhook.Id ||
		gjson.Get(body, "data.webhook.name").String() != "Orders" || gjson.Get(body, "data.reason").String() == "" ||
		!strings.HasSuffix(gjson.Get(body, "data.webhook.url").String(), "/hook") || !strings.HasPrefix(gjson.Get(body, "id").String(), "evt_") {
		t.Errorf("the event is %s", body)
	}
	if _, err := testkit.Create(app, tenant, contact.Changes{"name": "Bob"}); err != nil {
		t.Fatal(err)
	}
	testkit.Eventually(t, "the later event", func() bool { return slices.Equal(all.got(), []string{"contact.created", "contact.created"}) })
	if types := append(asks.got(), foreign.got()...); !slices.Equal(types, []string{"webhook.disabled"}) {
		t.Errorf("the others got %q", types)
	}
	if n := testkit.Count(t, app, "SELECT count(*) FROM _notices", nil); n != 1 {
		t.Errorf("there are %d notices", n)
	}
	for query, want := range map[string]int{"after=": 2, "after=&types=webhook.disabled": 1, "after=&types=webhook.disabled,contact.created": 3, "after=&types=key.expiring": 0} {
		values, _ := url.ParseQuery(query)
		q, err := event.ParseQuery(app, values)
		if err != nil {
			t.Fatal(err)
		}
		page, err := event.ReadPage(app, tenant, "", q.Filter, q.Limit)
		if err != nil || len(page.Events) != want {
			t.Errorf("the feed %q has %d events, want %d (%v)", query, len(page.Events), want, err)
		}
	}
}
