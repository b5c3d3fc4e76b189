package member_test

import (
	"testing"
	"time"

	"github.com/pocketbase/dbx"

	"contactbase/internal/member"
	"contactbase/internal/stamp"
	"contactbase/internal/testkit"
)

// The creation of a link costs the same with thousands of links that have ended, and deletes some of them.
func TestEndedLinksCostNothing(t *testing.T) {
	t.Parallel()
	connect, pages := testkit.ConnectCounting()
	app := testkit.NewAppOn(t, connect)
	tenant, now := testkit.Tenant(t, app, "Acme"), time.Now()
	cost := func() int {
		t.Helper()
		before := pages()
		options := member.LinkOptions{Role: member.RoleViewer, Duration: time.Hour}
		if _, err := member.NewLink(app, tenant, options, now); err != nil {
			t.Fatal(err)
		}
		return pages() - before
	}
	cost() // which fills caches
	least := cost()
	const ended = 30_000
	testkit.Execute(t, app, `INSERT INTO tenant_members (id, tenant, role, name, link, email, tokenKey, password, expires)
		WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {:n})
		SELECT printf('l%014d', i), {:tenant}, 'viewer', '', 1, printf('%d@portal.invalid', i), printf('%050d', i), '!', {:at} FROM n`,
		dbx.Params{"n": ended, "tenant": tenant, "at": stamp.Stored(now.Add(-time.Minute))})
	if got := cost(); got > least+ended/25 { // it deletes ten of them, in all indexes
		t.Errorf("with %d ended links, a new one reads %d pages instead of %d", ended, got, least)
	}
	left := testkit.Count(t, app, "SELECT count(*) FROM tenant_members WHERE expires < {:now}", dbx.Params{"now": stamp.Stored(now)})
	if left >= ended || left < ended-20 {
		t.Errorf("%d of %d ended links are left", left, ended)
	}
}
