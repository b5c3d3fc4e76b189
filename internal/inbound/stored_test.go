package inbound_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/inbound"
	"contactbase/internal/inbound/payload"
	"contactbase/internal/quota"
	"contactbase/internal/sqlite"
	"contactbase/internal/testkit"
)

// addresses returns different addresses, separated by spaces.
func addresses(from, count int) string {
	var b strings.Builder
	for i := range count {
		fmt.Fprintf(&b, "%x@a.eu ", from+i)
	}
	return b.String()
}

// noise is a body that takes more than is stored of one.
var noise = sync.OnceValue(func() string { return testkit.Noise(0, 3<<19) })

// shapes are bodies of many kinds. Some are applied, the others are refused.
var shapes = map[string]struct {
	count   int
	applied bool
	body    func(n int) string
}{
	"tiny and refused": {1000, false, func(int) string { return `{}` }},
	"a contact":        {400, true, func(n int) string { return fmt.Sprintf(`{"name":"A","email":"a%d@example.com"}`, n) }},
	"a contact and a friend": {400, true, func(n int) string {
		return fmt.Sprintf(`{"name":"A","email":"a%d@example.com","friend":"b%d@example.com"}`, n, n)
	}},
	"three friends": {400, false, func(n int) string {
		return fmt.Sprintf(`{"friends":"a%d@example.com b%d@example.com c%d@example.com"}`, n, n, n)
	}},
	"five contacts": {150, true, func(n int) string {
		var items []string
		for i := range 5 {
			items = append(items, fmt.Sprintf(`{"name":"A","email":"a%d@example.com"}`, n*5+i))
		}
		return "[" + strings.Join(items, ",") + "]"
	}},
	"a crowd": {40, false, func(n int) string { return `{"friends":"` + addresses(n*2000, 2000) + `"}` }},
	"a crowd of a contact": {40, true, func(n int) string {
		return fmt.Sprintf(`{"name":"A","email":"a%d@example.com","friends":"%s"}`, n, addresses(n*2000, 1900))
	}},
	"more than a crowd": {400, false, func(n int) string { return `{"friends":"` + addresses(n*2100, 2100) + `"}` }},
	"half a page":       {400, false, func(int) string { return `{"text":"` + strings.Repeat("e", 1900) + `"}` }},
	"large":             {8, false, func(n int) string { return testkit.Noise(uint64(n), 1_300_000) }},
	"too large":         {100, false, func(int) string { return noise() }},
	"much of the same":  {40, false, func(int) string { return "[" + strings.Repeat(`"eeeeeeee",`, 90_000) + "0]" }},
	"an attachment": {100, true, func(n int) string {
		return fmt.Sprintf(`{"name":"A","email":"a%d@example.com","file":"%s"}`, n, strings.Repeat("e", 100<<10))
	}},
	"a full list": {3, true, func(n int) string {
		var items []string
		for i := range payload.MaxItems {
			items = append(items,
				fmt.Sprintf(`{"name":"A","email":"a%d@example.com","friend":"b%d@example.com"}`, n*1000+i, n*1000+i))
		}
		return "[" + strings.Join(items, ",") + "]"
	}},
}

const (
	onDiskSQL = "SELECT coalesce(sum(`pgsize`), 0) FROM dbstat WHERE `aggregate` = TRUE AND `name` IN " +
		"(SELECT `name` FROM sqlite_schema WHERE `tbl_name` IN ('inbound_requests', '_inboundPeople', '_inboundCrowds'))"
	mostLinkedSQL = "SELECT coalesce(max(`n`), 0) FROM (SELECT count(*) AS `n` " +
		"FROM `_inboundPeople` WHERE length(`person`) > 15 GROUP BY `request`)"
)

// What the quota counts is what stored requests take on disk, to a factor of 2, whatever is in them. Each links to two
// addresses an item at most.
func TestStoredBytes(t *testing.T) {
	t.Parallel()
	for name, shape := range shapes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			app := testkit.NewApp(t)
			webhook := newWebhook(t, app)
			read := func(query string) int64 {
				value, err := sqlite.Value[int64](sqlite.ReaderOf(app), query)
				if err != nil {
					t.Fatal(err)
				}
				return value
			}
			empty := read(onDiskSQL)
			for n := range shape.count {
				body := shape.body(n)
				if !shape.applied {
					store(t, app, webhook, body)
					continue
				}
				receive(t, app, webhook, body)
			}
			onDisk := read(onDiskSQL) - empty
			counted, err := quota.Used(sqlite.ReaderOf(app), webhook.TenantID)
			if err != nil || counted > 2*onDisk || onDisk > 2*counted {
				t.Errorf("%d bytes on disk count as %d (%v)", onDisk, counted, err)
			}
			if linked := read(mostLinkedSQL); linked > 2*max(1, int64(strings.Count(shape.body(0), `"name"`))) {
				t.Errorf("a request is linked to %d addresses", linked)
			}
			testkit.Execute(t, app, "DELETE FROM inbound_requests", nil)
			if left, err := quota.Used(sqlite.ReaderOf(app), webhook.TenantID); err != nil || left != 0 {
				t.Errorf("%d bytes are left of nothing (%v)", left, err)
			}
			t.Logf("%d of %d, %.2f", counted, onDisk, float64(counted)/float64(onDisk))
		})
	}
}

func newWebhook(t *testing.T, app core.App) *inbound.Webhook {
	t.Helper()
	webhook, err := inbound.FindByToken(app,
		testkit.Inbound(t, app, testkit.Tenant(t, app, "Acme"), inbound.AccessFull, nil))
	if err != nil {
		t.Fatal(err)
	}
	return webhook
}

// store stores a request that is refused.
func store(t *testing.T, app core.App, webhook *inbound.Webhook, body string) {
	t.Helper()
	err := inbound.Record(context.Background(), app, webhook, "application/json", []byte(body), 400, map[string]any{},
		time.Now())
	if err != nil {
		t.Fatal(err)
	}
}

// receive applies a request.
func receive(t *testing.T, app core.App, webhook *inbound.Webhook, body string) {
	t.Helper()
	request, err := inbound.Read(app, webhook, "application/json", []byte(body))
	if err == nil {
		err = request.Transact(context.Background(), app, func(tx core.App) error {
			_, err := request.Receive(tx, time.Now())
			return err
		})
	}
	if err != nil {
		t.Fatal(err)
	}
}

// A deleted contact is erased from requests with more people than are linked, whether these were applied or not, and
// only from those.
func TestErasedFromCrowds(t *testing.T) {
	t.Parallel()
	app := testkit.NewApp(t)
	webhook, other := newWebhook(t, app), newWebhook(t, app)
	crowd := `{"name":"Ada","email":"ada@example.com","friends":"` + addresses(0, 1500) + `"}`
	receive(t, app, webhook, crowd)
	store(t, app, webhook, crowd)
	store(t, app, webhook, `["`+addresses(1400, 300)+`"]`)
	store(t, app, webhook, `["`+addresses(5000, 300)+`"]`)
	store(t, app, other, crowd)
	receive(t, app, webhook, `{"name":"Bob","email":"5dB@a.eu"}`) // 1499
	receive(t, app, webhook, `{"email":"5db@a.eu","action":"delete"}`)
	testkit.Sweep(t, app)
	for tenant, want := range map[string]int{webhook.TenantID: 1, other.TenantID: 1} { // the delete request keeps none
		whole, err := sqlite.Value[int](sqlite.ReaderOf(app),
			"SELECT count(*) FROM `inbound_requests` WHERE `tenant` = ? AND `body` != ''", tenant)
		if err != nil || whole != want {
			t.Errorf("%d requests of %s are whole, not %d (%v)", whole, tenant, want, err)
		}
		crowds, err := sqlite.Value[int](sqlite.ReaderOf(app), "SELECT count(*) FROM `_inboundCrowds` WHERE `tenant` = ?",
			tenant)
		if err != nil || crowds != want {
			t.Errorf("%d crowds of %s are left, not %d (%v)", crowds, tenant, want, err)
		}
	}
}
