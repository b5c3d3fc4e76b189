package e2e

import (
	"database/sql"
	"path/filepath"
	"testing"
	"time"

	"contactbase/internal/testenv"

	_ "modernc.org/sqlite" // fills the database faster than any door of the program
)

const (
	loadDeliveries = 100_000
	loadKeys       = 1_000
	largePage      = 100_000 // bytes; far less than loading all of it
)

// The pages are usable with 100,000 deliveries of a webhook and 1,000 keys of a tenant.
func TestBrowserUnderLoad(t *testing.T) {
	t.Parallel()
	testenv.Long(t, "fills a database with 100,000 deliveries")
	i, tenant := newTenant(t)
	webhook := str(t, i.one("webhook", "create", tenant, "https://example.com/hook"), "id")
	fill(t, i, tenant, webhook)
	s := i.serve()
	b := s.newBrowser().signIn(s)
	b.integrations("/tenants", "Tenants") // the dashboard itself is loaded

	timed := func(what string, act func()) {
		t.Helper()
		before := time.Now()
		act()
		t.Logf("%s: %d ms", what, time.Since(before).Milliseconds())
	}
	rows := func(n string) {
		b.wait(n+" rows", `document.querySelectorAll(".integrations-table tr[data-id]").length === `+n)
	}
	timed("keys", func() { b.integrations("/keys", "API keys"); rows("25") })
	timed("the next page of keys", func() { b.click("Next page"); b.sees("Page 2 of 40") })
	timed("one key by its name", func() { b.fill("Search by name or prefix", "key 777"); rows("1") })
	timed("overview", func() { b.integrations("", "Overview"); b.sees("Activity") })
	timed("webhooks with their health", func() { b.integrations("/webhooks", "Webhooks"); b.sees("9,999+") })
	b.shot("load-webhooks")
	timed("deliveries", func() { b.webhook(dashboardPages, webhook); rows("30") })
	timed("older deliveries", func() { b.clickTwice("Older deliveries"); b.sees("Page 2") })
	timed("the few failed ones", func() { b.choose("Status", "Failed"); rows("1"); b.sees("204 No Content · 10 deliveries") })
	timed("each of them", func() { b.click("Show all 10"); rows("10") })
	b.choose("Status", "All")
	timed("those of a contact", func() { b.fill("Contact", "contact00000777"); rows("1") })
	b.fill("Contact", "")
	timed("those of a kind that never came", func() { b.choose("Event", "Contact deleted"); b.sees("Nothing found") })
	b.choose("Event", "All")
	rows("30")
	b.shot("load-deliveries")
	timed("the attempts of one", func() { b.click("Details"); b.sees("204 accepted") })

	if size, address := b.largest(); size > largePage {
		t.Errorf("%s returns %d bytes: lists have to be paged", address, size)
	}

	api := s.signIn()
	for what, path := range map[string]string{
		"overview":           "/overview",
		"charts":             "/webhooks/" + webhook + "/activity?period=month",
		"groups":             "/deliveries?grouped=true&webhook=" + webhook,
		"health":             "/webhooks/health?ids=" + webhook,
		"deliveries":         "/deliveries?webhook=" + webhook,
		"failed deliveries":  "/deliveries?status=failed&webhook=" + webhook,
		"contact's":          "/deliveries?contact=contact00000777&webhook=" + webhook,
		"a kind without any": "/deliveries?type=contact.deleted&webhook=" + webhook,
		"counts of a tenant": "/tenants/counts?ids=" + tenant,
	} {
		before := time.Now()
		if answer := api.do("GET", "/api/integrations"+path, ""); answer.status != 200 {
			t.Errorf("%s returns %s", path, answer)
		}
		t.Logf("the server's part, %s: %.1f ms", what, float64(time.Since(before).Microseconds())/1000)
	}
}

// fill writes the rows while the server is not running.
func fill(t *testing.T, i *installation, tenant, webhook string) {
	t.Helper()
	db, err := sql.Open("sqlite", filepath.Join(i.data, "data.db")+"?_pragma=synchronous(off)&_pragma=cache_size(-200000)")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	const numbers = "WITH RECURSIVE numbers(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM numbers WHERE n + 1 < ?1) "
	const when = "strftime('%Y-%m-%d %H:%M:%fZ', 'now', '-' || ((?1 - n) * 0.5) || ' seconds')"
	for _, statement := range []string{
		numbers + `INSERT INTO events (id, tenant, type, contact, payload, created)
			SELECT printf('event%010d', n), ?2, iif(n % 2, 'contact.created', 'contact.updated'), printf('contact%08d', n), '{}', ` + when + ` FROM numbers`,
		numbers + `INSERT INTO deliveries (id, event, webhook, tenant, status, attempts, nextAttempt, lastStatus, lastError, created, updated)
			SELECT printf('deliv%010d', n), printf('event%010d', n), ?3, ?2, iif(n % 10000 = 5000, 'failed', 'delivered'), 1, '', 204, '', ` + when + `, ` + when + ` FROM numbers`,
		numbers + `INSERT INTO delivery_attempts (id, delivery, number, started, durationMs, status, error, requestHeaders, responseHeaders, responseBody)
			SELECT printf('tried%010d', n), printf('deliv%010d', n), 1, ` + when + `, 12, 204, '', '{}', '{}', '' FROM numbers`,
	} {
		if _, err := db.Exec(statement, loadDeliveries, tenant, webhook); err != nil {
			t.Fatal(err)
		}
	}
	// or they were sent again
	if _, err := db.Exec("UPDATE _fanOutCursor SET event = (SELECT max(id) FROM events)"); err != nil {
		t.Fatal(err)
	}
	_, err = db.Exec(numbers+`INSERT INTO api_keys (id, tenant, name, permissions, prefix, hash, expires, revoked, lastUsed, created, updated)
		SELECT printf('keyid%010d', n), ?2, 'key ' || n, '[]', printf('cmk_%08d', n), printf('%064d', n), '', '', '', `+when+`, `+when+` FROM numbers`, loadKeys, tenant)
	if err != nil {
		t.Fatal(err)
	}
}
