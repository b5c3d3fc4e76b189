package migrations_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/pocketbase/pocketbase/core"
)

// The people of a request with many are packed into one row, and all that is stored is counted again. Reverted, such a
// request is erased: nothing would find it.
func TestStoredLinks(t *testing.T) {
	t.Parallel()
	app := newFolder(t)
	var migration *core.Migration
	for _, m := range core.AppMigrations.Items() {
		if strings.HasSuffix(m.File, "_stored_links.go") {
			migration = m
		}
	}
	if err := app.RunInTransaction(migration.Down); err != nil {
		t.Fatal(err)
	}
	digest := strings.Repeat("0123456789abcdef", 4)
	execute(t, app, "INSERT INTO inbound_requests (id, inbound, tenant, body, result, created) "+
		"VALUES ('crowd', 'i', 't', 'xyz', '{}', ''), ('pair', 'i', 't', 'x', '{}', '')")
	execute(t, app, "INSERT INTO _idempotency (key, request, status, location, body, contact, created, tenant) "+
		"VALUES ('k', 'r', 201, '/', '{}', '', '', 't')")
	execute(t, app, "INSERT INTO _inboundPeople VALUES ('contact00000001', 'pair'), ('"+digest+"', 'pair')")
	for i := range 17 {
		execute(t, app, fmt.Sprintf("INSERT INTO _inboundPeople VALUES ('%02d%s', 'crowd')", i, digest[2:]))
	}
	execute(t, app, "INSERT INTO events (id, tenant, type, contact, payload) "+
		"VALUES ('e', 't', 'contact.deleted', 'gone', '{}')")
	execute(t, app, "INSERT INTO _deletions "+
		"VALUES ('contacts', 'gone', 'gone 0123', ''), ('contacts', 'unknown', 'unknown', ''), ('tenants', 'o', '', '')")
	expect := func(query, want string) {
		t.Helper()
		var got string
		if err := app.DB().NewQuery(query).Row(&got); err != nil || got != want {
			t.Errorf("%s gives %q, not %q (%v)", query, got, want, err)
		}
	}
	const stored = "SELECT coalesce(sum(bytes), 0) FROM _stored"
	expect(stored, fmt.Sprint(3*1024+3+2+1+2+2))
	if err := app.RunInTransaction(migration.Up); err != nil {
		t.Fatal(err)
	}
	links := (3*15 + 64) + (3*64 + 64)
	expect(stored, fmt.Sprint(3*384+3+2+1+2+2+links+17*15+128))
	expect("SELECT group_concat(request) FROM _inboundPeople", "pair,pair")
	expect("SELECT tenant || request || substr(people, 1, 30) || length(people) FROM _inboundCrowds",
		"tcrowd0023456789abcde0123456789abcde255")
	expect("SELECT group_concat(detail, ',') FROM (SELECT detail FROM _deletions ORDER BY record)",
		"gone 0123 crowds:t,,unknown")
	execute(t, app, "DELETE FROM inbound_requests WHERE id = 'pair'")
	expect(stored, fmt.Sprint(2*384+3+2+2+17*15+128))
	execute(t, app, "INSERT INTO inbound_requests (id, inbound, tenant, body, result, created) "+
		"VALUES ('late', 'i', 't', '', '', '')")
	execute(t, app, "INSERT INTO _inboundPeople VALUES ('contact00000001', 'late')")

	if err := app.RunInTransaction(migration.Down); err != nil {
		t.Fatal(err)
	}
	expect("SELECT group_concat(id || erased || body || result) FROM (SELECT * FROM inbound_requests ORDER BY id)",
		"crowd1{},late0")
	expect(stored, fmt.Sprint(3*1024+2+2))
	execute(t, app, "DELETE FROM inbound_requests")
	expect("SELECT count(*) FROM _inboundPeople", "0")
	expect(stored, fmt.Sprint(1024+2))
}
