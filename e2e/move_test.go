package e2e

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"contactbase/internal/testenv"
)

// move is a tenant that moves from one installation to another, with clients behind a proxy.
type move struct {
	t            *testing.T
	from, to     *server
	proxy        *switchboard
	tenant, key  string
	archive      string       // the file
	secret       string       // the file with the passphrase
	ill          atomic.Bool  // whether the receiver refuses some
	ills         atomic.Int64 // how many it has refused
	receiver     *receiver
	movers       *movers
	stranger     *movers // of a tenant that stays
	follower     *follower
	strangersKey string
}

func newMove(t *testing.T) *move {
	t.Helper()
	const unlimited = "--rateLimit=1000000000"
	a, b, folder := newInstallation(t), newInstallation(t), t.TempDir()
	m := &move{
		t: t, tenant: str(t, a.one("tenant", "create", "Acme", unlimited), "id"), receiver: newReceiver(t),
		archive: filepath.Join(folder, "acme.age"), secret: filepath.Join(folder, "passphrase"),
		movers: &movers{t: t, ended: make(chan struct{})}, stranger: &movers{t: t, ended: make(chan struct{})},
	}
	if err := os.WriteFile(m.secret, []byte("a long passphrase\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	m.key = str(t, a.one("key", "create", m.tenant, "--name", "website"), "key")
	m.strangersKey = str(t, a.one("key", "create", str(t, a.one("tenant", "create", "Other", unlimited), "id"), "--name", "website"), "key")
	b.must("tenant", "create", "Resident")
	m.ill.Store(true)
	count, refused := atomic.Int64{}, sync.Map{}
	m.receiver.set(str(t, a.one("webhook", "create", m.tenant, m.receiver.URL), "secret"), func(w http.ResponseWriter, request *http.Request) {
		status := http.StatusNoContent
		if count.Add(1)%20 != 0 || !m.ill.Load() {
			w.WriteHeader(status)
			return
		}
		// some deliveries wait for another attempt when the tenant moves; a third attempt would be minutes away
		if _, before := refused.LoadOrStore(request.Header.Get("webhook-id"), true); !before {
			status = http.StatusInternalServerError
			m.ills.Add(1)
		}
		w.WriteHeader(status)
	})
	m.from, m.to = a.serve(), b.serve()
	m.proxy = newSwitchboard(t, m.from)
	m.follower = &follower{c: m.proxy.client("acme", m.key)}
	await(t, "the proxy", func() bool {
		_, err := m.follower.c.try(http.MethodGet, contactsPath, "")
		return err == nil
	})
	return m
}

// run runs a command of an installation while its server is running.
func (m *move) run(s *server, args ...string) map[string]any {
	m.t.Helper()
	began := time.Now()
	got := s.installation.run(append(args, "--passphraseFile="+m.secret, "--json")...)
	if got.code != 0 {
		m.t.Fatalf("%v exits with %d: %s%s", args, got.code, got.stdout, got.stderr)
	}
	m.t.Logf("%v took %s", args[:2], time.Since(began))
	return parse[map[string]any](m.t, got.stdout)
}

// A tenant moves to another installation under load, behind a proxy: nothing that was acknowledged is lost, nothing
// is duplicated, the feed continues at the cursor, and each event is delivered.
func TestTenantMovesUnderLoad(t *testing.T) {
	t.Parallel()
	m, enough := newMove(t), int64(testenv.Count(75, 500))
	for n := range 4 {
		m.movers.write(m.proxy.client("acme", m.key), fmt.Sprint("mover", n))
	}
	m.stranger.write(m.proxy.client("other", m.strangersKey), "stranger")
	var following sync.WaitGroup
	following.Go(func() {
		for !m.movers.isOver() {
			m.follower.read(t, 1)
		}
	})
	await(t, "contacts", func() bool { return m.movers.created.Load() > enough })
	strangers := m.stranger.created.Load()
	m.run(m.from, "tenant", "export", m.tenant, m.archive, "--freeze")
	exported := m.events(m.from)
	m.run(m.to, "tenant", "import", m.archive)
	m.proxy.lead(m.to)
	m.proxy.reload()
	here := m.movers.created.Load()
	await(t, "contacts at the new place", func() bool { return m.movers.created.Load() > here+enough })
	if m.stranger.created.Load() == strangers {
		t.Error("no other tenant could write meanwhile")
	}
	close(m.movers.ended)
	close(m.stranger.ended)
	m.movers.group.Wait()
	m.stranger.group.Wait()
	following.Wait()
	await(t, "the end of the feed", func() bool { // the proxy may have led the last look to the old place
		for m.follower.read(t, 0) {
		}
		return len(m.follower.seen) >= len(m.events(m.to))
	})
	if m.movers.refused.Load() == 0 || m.stranger.refused.Load() > 0 {
		t.Errorf("%d writes were refused, and %d of the tenant that stays", m.movers.refused.Load(), m.stranger.refused.Load())
	}
	if left := m.events(m.from); len(left) != len(exported) {
		t.Errorf("%d events were written in the old installation since the export", len(left)-len(exported))
	}
	m.ill.Store(false)
	m.check()
	m.delivered()
	m.from.installation.must("tenant", "delete", m.tenant, "--yes")
	if left := m.events(m.from); len(left) > 0 {
		t.Errorf("%d events are left in the old installation", len(left))
	}
}

func (m *move) events(s *server) []string {
	m.t.Helper()
	return column(m.t, openData(m.t, s.installation.data), "SELECT 'evt_' || id FROM events WHERE tenant = '"+m.tenant+"' ORDER BY rowid")
}

// check counts contacts and events, and compares them with the responses and the feed.
func (m *move) check() {
	m.t.Helper()
	db := openData(m.t, m.to.installation.data)
	of := func(what string) int { return count(m.t, db, "SELECT "+what+" AND tenant = '"+m.tenant+"'") }
	created, changed := int(m.movers.created.Load()), int(m.movers.changed.Load())
	for what, want := range map[string]int{
		"count(*) FROM contacts WHERE true":                                  created,
		"count(DISTINCT externalId) FROM contacts WHERE true":                created,
		"count(*) FROM contacts WHERE company != ''":                         changed,
		"count(*) FROM events WHERE type = 'contact.created'":                created,
		"count(DISTINCT contact) FROM events WHERE type = 'contact.created'": created,
		"count(*) FROM events WHERE type = 'contact.updated'":                changed,
	} {
		if got := of(what); got != want {
			m.t.Errorf("%s is %d, want %d", what, got, want)
		}
	}
	events := m.events(m.to)
	if strings.Join(events, " ") != strings.Join(m.follower.seen, " ") {
		m.t.Errorf("the feed showed %d events, and there are %d, or in another order", len(m.follower.seen), len(events))
	}
	m.t.Logf("%d contacts, %d changes, %d events; %d requests were refused on the way", created, changed, len(events), m.movers.refused.Load())
}

// delivered waits for the delivery of each event, and counts events that arrived again after they were accepted.
func (m *move) delivered() {
	m.t.Helper()
	events := map[string]int{}
	for _, id := range m.events(m.to) {
		events[id] = 0
	}
	db := openData(m.t, m.to.installation.data)
	await(m.t, "the deliveries", func() bool { return count(m.t, db, "SELECT count(*) FROM deliveries WHERE status = 'pending'") == 0 })
	if n := count(m.t, db, "SELECT count(*) FROM deliveries WHERE status != 'delivered'"); n > 0 {
		m.t.Errorf("%d deliveries have failed", n)
	}
	all := m.receiver.await(m.t, "deliveries", atLeast(len(events)))
	for _, d := range all {
		if _, known := events[d.ID]; !known || d.Error != "" {
			m.t.Errorf("there is no event %s: %s", d.ID, d.Error)
		}
		events[d.ID]++
	}
	again := 0
	for id, times := range events {
		if times == 0 {
			m.t.Errorf("%s was not delivered", id)
		}
		again += times - 1
	}
	// nothing was killed, so only refused deliveries may arrive again
	if refused := int(m.ills.Load()); again != refused {
		m.t.Errorf("%d deliveries were repeated, and %d had been refused", again, refused)
	}
	m.t.Logf("%d of %d deliveries were refused and came again", again, len(all))
}
