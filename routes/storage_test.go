package routes_test

import (
	"fmt"
	"strings"
	"testing"

	"contactbase/internal/testkit"
)

const contactRecords = "/api/collections/contacts/records"

// On a full disk, writes fail in a way that clients may retry; reads work. Once there is space again, everything works.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	client, f := newAPI(t)
	admin := newAdmin(t, f)
	token := testkit.Inbound(t, f.App, f.tenant, "upsert", nil)
	pages := func(most int) {
		t.Helper()
		if _, err := f.App.NonconcurrentDB().NewQuery(fmt.Sprintf("PRAGMA max_page_count = %d", most)).Execute(); err != nil {
			t.Fatal(err)
		}
	}
	body := fmt.Sprintf(`{"tenant":%q,"name":%q}`, f.tenant, strings.Repeat("a", 200))
	written := 0
	write := func(c *testkit.Client, path, body string) *testkit.Answer {
		t.Helper()
		pages(1) // SQLite accepts no limit below the current size; a new connection, as after a failed commit, has none
		var got *testkit.Answer
		for range 90 {
			if got = c.Do("POST", path, body); got.Status != 200 && got.Status != 201 {
				break
			}
			written++
		}
		return got
	}
	for path, c := range map[string]*testkit.Client{contactsPath: client, contactRecords: admin, "/api/hooks/" + token: client} {
		sent := body
		if c == client {
			sent = strings.Replace(body, fmt.Sprintf(`"tenant":%q,`, f.tenant), "", 1)
		}
		got := write(c, path, sent)
		if got.Status != 503 || got.Header.Get("Retry-After") == "" || !ownShape(path, got) {
			t.Errorf("writing to %s gives %d %v %s", path, got.Status, got.Header, got.Body)
		}
	}
	for path, c := range map[string]*testkit.Client{contactsPath: client, contactRecords: admin, "/api/health": client} {
		if got := c.Do("GET", path, ""); got.Status != 200 {
			t.Errorf("reading %s gives %d %s", path, got.Status, got.Body)
		}
	}
	if count, err := f.App.CountRecords("contacts"); err != nil || int(count) != written {
		t.Errorf("%d writes made %d contacts (%v)", written, count, err)
	}
	pages(1 << 30)
	if got := client.Do("POST", contactsPath, `{"name":"Ada"}`); got.Status != 201 {
		t.Errorf("with room again, writing gives %d %s", got.Status, got.Body)
	}
	if got := admin.Do("POST", contactRecords, body); got.Status != 200 {
		t.Errorf("with room again, the dashboard's write gives %d %s", got.Status, got.Body)
	}
}
