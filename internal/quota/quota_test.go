package quota_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/pocketbase/dbx"
	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/idempotency"
	"contactbase/internal/inbound"
	"contactbase/internal/quota"
	"contactbase/internal/sqlite"
	"contactbase/internal/testenv"
	"contactbase/internal/testkit"
)

// account is a tenant with an inbound webhook.
type account struct {
	t       *testing.T
	app     core.App
	tenant  string
	webhook *inbound.Webhook
	clock   time.Time
}

func newAccount(t *testing.T, app core.App) *account {
	t.Helper()
	a := &account{t: t, app: app, tenant: testkit.Tenant(t, app, "Acme"), clock: time.Now().Add(-time.Hour)}
	webhook, err := inbound.FindByToken(app, testkit.Inbound(t, app, a.tenant, inbound.AccessUpsert, nil))
	if err != nil {
		t.Fatal(err)
	}
	a.webhook = webhook
	return a
}

func (a *account) now() time.Time {
	a.clock = a.clock.Add(time.Millisecond)
	return a.clock
}

func (a *account) record(body string) {
	a.t.Helper()
	if err := inbound.Record(context.Background(), a.app, a.webhook, "application/json", []byte(body), 400, "refused", a.now()); err != nil {
		a.t.Fatal(err)
	}
}

func (a *account) remember(key, body string) {
	a.t.Helper()
	err := a.app.RunInTransaction(func(tx core.App) error {
		statements, err := idempotency.Remember(sqlite.ReaderOf(tx), key, "", &idempotency.Answer{Status: 201, Body: body, Tenant: a.tenant}, a.now())
		if err != nil {
			return err
		}
		_, err = sqlite.Run(tx, statements)
		return err
	})
	if err == nil {
		err = quota.TrimAll(context.Background(), a.app) // as the sweeper does
	}
	if err != nil {
		a.t.Fatal(err)
	}
}

// holds checks that the used quota is exact, and does not exceed the limit.
func (a *account) holds() (requests, answers int) {
	a.t.Helper()
	used, err := quota.Used(sqlite.ReaderOf(a.app), a.tenant)
	if err != nil {
		a.t.Fatal(err)
	}
	var counted int64
	for table, count := range map[string]*int{"inbound_requests": &requests, "_idempotency": &answers} {
		size := "octet_length(body)"
		if table == "inbound_requests" {
			size += " + octet_length(result)"
		}
		var bytes int64
		err := a.app.DB().NewQuery("SELECT count(*), COALESCE(SUM("+size+" + 384), 0) FROM "+table+
			" WHERE tenant = '"+a.tenant+"'").Row(count, &bytes)
		if err != nil {
			a.t.Fatal(err)
		}
		counted += bytes
	}
	var links int64
	err = a.app.DB().NewQuery("SELECT COALESCE(SUM(3 * octet_length(p.person) + 64), 0) " +
		"FROM _inboundPeople p JOIN inbound_requests r ON r.id = p.request WHERE r.tenant = '" + a.tenant + "'").Row(&links)
	if err != nil {
		a.t.Fatal(err)
	}
	counted += links
	if used != counted || used > quota.Limit {
		a.t.Errorf("the used quota is %d, the stored size %d, the limit %d", used, counted, quota.Limit)
	}
	return requests, answers
}

// expect checks whether a response is remembered.
func (a *account) expect(key string, remembered bool) {
	a.t.Helper()
	if found, err := idempotency.Find(sqlite.ReaderOf(a.app), a.tenant, key, "", a.clock); err != nil || (found != nil) != remembered {
		a.t.Errorf("the response %q: %+v, %v", key, found, err)
	}
}

// The oldest requests are evicted before responses. The latest requests stay, however many responses there are.
func TestEvictionOrder(t *testing.T) {
	t.Parallel()
	app := testkit.NewApp(t)
	a, other := newAccount(t, app), newAccount(t, app)
	other.record("{}")
	for i := range 1500 { // many small ones, which one large one drives out
		a.record(fmt.Sprintf(`{"first":%d}`, i))
	}
	a.remember("old", "{}")
	large, noise := strings.Repeat("é", 1<<19), testkit.Noise(1, 1_392_000) // both are stored in nearly 1 MiB
	for i := range 70 {
		a.record(noise)
		if i%10 == 0 {
			a.remember(fmt.Sprint("new ", i), large)
		}
		if i%10 == 9 || testenv.All() { // holds reads all of it
			a.holds()
		}
	}
	if requests, answers := a.holds(); requests != 57 || answers != 8 { // the older requests have made room
		t.Errorf("%d requests and %d responses are left", requests, answers)
	}
	a.expect("old", true)
	for i := range 70 {
		a.remember(fmt.Sprint("newest ", i), large)
	}
	a.expect("old", false)
	a.expect("newest 0", false)
	a.expect("newest 69", true)
	if requests, answers := a.holds(); requests != 10 || answers != 53 {
		t.Errorf("with many responses, %d requests and %d responses are left", requests, answers)
	}
	a.record(noise)
	if requests, _ := a.holds(); requests != 10 {
		t.Errorf("after another request, %d requests are left", requests)
	}
	if requests, _ := other.holds(); requests != 1 {
		t.Error("requests of another tenant were evicted")
	}
}

// fill stores requests with bodies of a length.
func (a *account) fill(prefix string, count, length int) {
	a.t.Helper()
	testkit.Execute(a.t, a.app, "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {:count}) "+
		"INSERT INTO inbound_requests (id, inbound, tenant, body, result, created) SELECT {:prefix} || printf('%014d', i), "+
		"{:inbound}, {:tenant}, substr(hex(zeroblob({:length})), 1, {:length}), '{}', {:prefix} || printf('%020d', i) FROM n",
		dbx.Params{
			"prefix": prefix, "count": count, "length": length, "inbound": a.webhook.ID, "tenant": a.tenant,
		})
}

// A write that stores much evicts a few rows only, for which others wait. The rest follows in chunks of their own,
// except while the tenant moves.
func TestEvictionInChunks(t *testing.T) {
	t.Parallel()
	app := testkit.NewApp(t)
	a := newAccount(t, app)
	a.fill("1", 300, 2000)
	a.fill("2", 63, 1<<20-384)
	if err := quota.TrimAll(context.Background(), app); err != nil {
		t.Fatal(err)
	}
	before, _ := a.holds()
	err := app.RunInTransaction(func(tx core.App) error {
		_, err := tx.DB().NewQuery("UPDATE inbound_requests SET body = body || body " +
			"WHERE rowid = (SELECT max(rowid) FROM inbound_requests)").Execute()
		if err != nil {
			return err
		}
		return quota.Keep(tx, a.tenant)
	})
	if err != nil {
		t.Fatal(err)
	}
	left, err := app.CountRecords("inbound_requests")
	if err != nil || before < 250 || int(left) != before-50 {
		t.Errorf("the write leaves %d of %d requests (%v)", left, before, err)
	}
	for _, statement := range []string{
		"INSERT INTO _moves (tenant, state, created) SELECT id, 'frozen', '' FROM tenants", "", "DELETE FROM _moves",
	} {
		if statement != "" {
			testkit.Execute(t, app, statement, nil)
		} else if still, err := app.CountRecords("inbound_requests"); err != nil || still != left {
			t.Errorf("while the tenant moves, %d of %d requests are left (%v)", still, left, err)
		}
		if err := quota.TrimAll(context.Background(), app); err != nil {
			t.Fatal(err)
		}
	}
	a.holds()
}

// The used quota is exact after every way to write and delete.
func TestUsageIsExact(t *testing.T) {
	t.Parallel()
	app := testkit.NewApp(t)
	a := newAccount(t, app)
	a.record(`{"a":"é"}`)
	a.record(`{"b":"ada@example.com"}`)
	a.remember("k", "first")
	a.remember("k", "the second, which is longer")
	a.remember("l", "x")
	if requests, answers := a.holds(); requests != 2 || answers != 2 {
		t.Errorf("%d requests, %d answers", requests, answers)
	}
	for _, statement := range []string{
		"UPDATE inbound_requests SET body = '' WHERE body LIKE '%é%'",
		"DELETE FROM _idempotency WHERE key = 'k'",
	} {
		if _, err := app.NonconcurrentDB().NewQuery(statement).Execute(); err != nil {
			t.Fatal(err)
		}
		a.holds()
	}
	record, err := app.FindFirstRecordByFilter("inbound_requests", "body != ''")
	if err != nil {
		t.Fatal(err)
	}
	if err := app.Delete(record); err != nil {
		t.Fatal(err)
	}
	if _, err := idempotency.Prune(app, 10, time.Now().Add(2*idempotency.Window)); err != nil {
		t.Fatal(err)
	}
	if requests, answers := a.holds(); requests != 1 || answers != 0 {
		t.Errorf("%d requests, %d answers", requests, answers)
	}
}
