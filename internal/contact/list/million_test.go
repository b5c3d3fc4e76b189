package list_test

import (
	"net/url"
	"syscall"
	"testing"
	"time"

	"github.com/pocketbase/dbx"

	"contactbase/internal/contact/list"
	"contactbase/internal/testkit"
)

func cpu() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func TestMillion(t *testing.T) {
	app := testkit.NewApp(t)
	tenant := testkit.Tenant(t, app, "Large")
	began := time.Now()
	for _, q := range []string{
		"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000000) INSERT INTO contacts (id, tenant, name, email, phone, company, externalId, created, updated) " +
			"SELECT printf('%015d', i), {:t}, 'Anna ' || (abs(random()) % 600000), iif(i % 1000 = 0, 'Dup' || (i / 3000), 'u' || (abs(random()) % 30000000)) || '@example.com', '+49' || (1000000000 + abs(random()) % 9000000000), 'Firma ' || (abs(random()) % 2000), '', printf('2026-01-01 00:%02d:%02d.%03dZ', i / 60000 % 60, i / 1000 % 60, i % 1000), printf('2026-01-01 00:%02d:%02d.%03dZ', i / 60000 % 60, i / 1000 % 60, i % 1000) FROM n",
		"INSERT INTO _contactSearch (contact, tenant, email, text) SELECT id, tenant, lower(email), name || char(10) || email FROM contacts WHERE tenant = {:t}",
	} {
		if _, err := app.NonconcurrentDB().NewQuery(q).Bind(dbx.Params{"t": tenant}).Execute(); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("filled in %s", time.Since(began))
	for _, by := range []string{"email", "phone", "name"} {
		pages, groups, start := 0, 0, cpu()
		var worst, worstWall, total time.Duration
		for cursor := ""; ; {
			q, err := list.ParseDuplicatesQuery(url.Values{"by": {by}, "cursor": {cursor}})
			if err != nil {
				t.Fatal(err)
			}
			at, wall := cpu(), time.Now()
			page, err := list.Duplicates(app, tenant, q)
			if err != nil {
				t.Fatal(err)
			}
			worst, worstWall = max(worst, cpu()-at), max(worstWall, time.Since(wall))
			total += time.Since(wall)
			pages++
			groups += len(page.Groups)
			if page.Next == nil || pages == 60 {
				break
			}
			cursor = *page.Next
		}
		t.Logf("%s: %d pages, %d groups, worst page %s CPU, %s wall, all %s CPU, %s wall", by, pages, groups, worst, worstWall, cpu()-start, total)
	}
}
