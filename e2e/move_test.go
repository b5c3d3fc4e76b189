package e2e

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// switchboard is nginx in front of installations: it sends the host name of a tenant to where that is.
type switchboard struct {
	t                   *testing.T
	tool, folder, where string
	everybody           *server // but for the tenant
	*process
}

// newSwitchboard has the proxy send everybody to a server.
func newSwitchboard(t *testing.T, everybody *server) *switchboard {
	t.Helper()
	tool := findTool(t, "nginx")
	if tool == "" {
		t.Skip("there is no nginx here")
	}
	b := &switchboard{t: t, tool: tool, folder: t.TempDir(), where: freeAddress(t), everybody: everybody}
	if err := os.Chmod(filepath.Dir(b.folder), 0o755); err != nil { //nolint:gosec // nginx gives its workers to another user
		t.Fatal(err)
	}
	b.lead(everybody)
	b.process = launch(t, b.command())
	t.Cleanup(b.stop) // with its workers, which would outlive it
	return b
}

// lead writes that the tenant is at a server, in the words of the guide.
func (b *switchboard) lead(acme *server) {
	b.t.Helper()
	block := strings.NewReplacer("http://10.0.0.1:8090", b.everybody.base, "http://10.0.0.2:8090", acme.base, "listen 443 ssl;", "listen "+b.where+";").
		Replace(guideBlock(b.t, "../docs/growing.md", "map $host $installation {"))
	if err := os.WriteFile(filepath.Join(b.folder, "configuration"), []byte(nginxConfiguration("worker_processes 1;\nworker_shutdown_timeout 1s;", block)), 0o600); err != nil {
		b.t.Fatal(err)
	}
}

// client returns a client of the tenant with that host name.
func (b *switchboard) client(name, key string) *client {
	c := b.everybody.client(key)
	_, port, _ := strings.Cut(b.where, ":")
	c.base = "http://" + name + ".crm.example.com:" + port
	c.http.Transport.(*http.Transport).DialContext = func(ctx context.Context, network, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, b.where)
	}
	return c
}

func (b *switchboard) command(more ...string) *exec.Cmd {
	return exec.Command(b.tool, append(nginxArguments(filepath.Join(b.folder, "configuration")), more...)...)
}

// reload tells the proxy to read its configuration.
func (b *switchboard) reload() {
	b.t.Helper()
	if said, err := b.command("-s", "reload").CombinedOutput(); err != nil {
		b.t.Errorf("telling nginx to reload: %v\n%s", err, said)
	}
}

// movers write through the proxy, each request until it succeeds.
type movers struct {
	t       *testing.T
	ended   chan struct{}
	group   sync.WaitGroup
	created atomic.Int64
	refused atomic.Int64 // answers 503 with tenant_moving
	changed atomic.Int64
}

func (m *movers) write(c *client, name string) {
	m.group.Go(func() {
		for n := 0; !m.isOver(); n++ {
			key := fmt.Sprintf("%s-%d", name, n)
			answer := m.insist(c, http.MethodPost, contactsPath, fmt.Sprintf(`{"name":"Zoë","externalId":%q}`, key), http.StatusCreated, "Idempotency-Key", key)
			if answer == nil {
				return
			}
			m.created.Add(1)
			if n%3 != 0 {
				continue
			}
			path := contactsPath + "/" + str(m.t, answer.data(), "id")
			if m.insist(c, http.MethodPatch, path, `{"company":"Firma"}`, http.StatusOK) == nil {
				return
			}
			m.changed.Add(1)
		}
	})
}

func (m *movers) isOver() bool {
	select {
	case <-m.ended:
		return true
	default:
		return false
	}
}

// insist repeats a request until it is answered with the status, as Retry-After says but sooner. It returns nil where it is answered with something
// that nobody should see.
func (m *movers) insist(c *client, method, path, body string, status int, header ...string) *answer {
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		answer, err := c.try(method, path, body, header...)
		switch {
		case err != nil: // the proxy closes connections when it reads its configuration
			continue
		case answer.status == status:
			return answer
		case answer.status == http.StatusServiceUnavailable && strings.Contains(string(answer.body), `"tenant_moving"`) && answer.header.Get("Retry-After") == "5":
			m.refused.Add(1)
		default:
			m.t.Errorf("%s %s gives %s", method, path, answer)
			return nil
		}
	}
	m.t.Errorf("%s %s has no success", method, path)
	return nil
}

// follower reads a feed through the proxy, by its cursor.
type follower struct {
	c      *client
	cursor string
	seen   []string
}

// read reads what there is, and returns false at the end of it.
func (f *follower) read(t *testing.T, wait int) (more bool) {
	answer, err := f.c.try(http.MethodGet, fmt.Sprintf("/api/ext/v1/events?limit=200&wait=%d&after=%s", wait, url.QueryEscape(f.cursor)), "")
	if err != nil {
		return true
	}
	if answer.status == http.StatusServiceUnavailable {
		time.Sleep(50 * time.Millisecond)
		return true
	}
	var page struct {
		Data   []struct{ ID string }
		Cursor string
	}
	if err := json.Unmarshal(answer.body, &page); err != nil || answer.status != http.StatusOK {
		t.Errorf("the feed is answered %s", answer)
		return false
	}
	for _, event := range page.Data {
		f.seen = append(f.seen, event.ID)
	}
	f.cursor = page.Cursor
	return len(page.Data) > 0
}

// move is a tenant that moves from one installation to another, with clients that come through a proxy.
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
		archive: filepath.Join(folder, "acme.zip"), secret: filepath.Join(folder, "passphrase"),
		movers: &movers{t: t, ended: make(chan struct{})}, stranger: &movers{t: t, ended: make(chan struct{})},
	}
	if err := os.WriteFile(m.secret, []byte("a long passphrase\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	m.key = str(t, a.one("key", "create", m.tenant, "--name", "website"), "key")
	m.strangersKey = str(t, a.one("key", "create", str(t, a.one("tenant", "create", "Other", unlimited), "id"), "--name", "website"), "key")
	b.must("tenant", "create", "Resident")
	m.ill.Store(true)
	count := atomic.Int64{}
	m.receiver.set(str(t, a.one("webhook", "create", m.tenant, m.receiver.URL), "secret"), func(w http.ResponseWriter, _ *http.Request) {
		status := http.StatusNoContent
		if count.Add(1)%20 == 0 && m.ill.Load() { // some wait for another attempt when the tenant moves
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

// run runs a command of an installation beside its server.
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

// A tenant moves to another installation under load, behind a proxy: nothing that was answered is lost, nothing is there twice, the feed goes on by
// the cursor, and each event is delivered.
func TestTenantMovesUnderLoad(t *testing.T) {
	t.Parallel()
	m := newMove(t)
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
	await(t, "contacts", func() bool { return m.movers.created.Load() > 500 })
	strangers := m.stranger.created.Load()
	m.run(m.from, "tenant", "export", m.tenant, m.archive, "--freeze")
	exported := m.events(m.from)
	m.run(m.to, "tenant", "import", m.archive)
	m.proxy.lead(m.to)
	m.proxy.reload()
	here := m.movers.created.Load()
	await(t, "contacts at the new place", func() bool { return m.movers.created.Load() > here+500 })
	if m.stranger.created.Load() == strangers {
		t.Error("nobody else could write meanwhile")
	}
	close(m.movers.ended)
	close(m.stranger.ended)
	m.movers.group.Wait()
	m.stranger.group.Wait()
	following.Wait()
	for m.follower.read(t, 0) {
	}
	if m.movers.refused.Load() == 0 || m.stranger.refused.Load() > 0 {
		t.Errorf("%d writes were refused, and %d of the tenant that stays", m.movers.refused.Load(), m.stranger.refused.Load())
	}
	if left := m.events(m.from); len(left) != len(exported) {
		t.Errorf("%d events were written at the old place since the export", len(left)-len(exported))
	}
	m.ill.Store(false)
	m.check()
	m.delivered()
	m.from.installation.must("tenant", "delete", m.tenant, "--yes")
	if left := m.events(m.from); len(left) > 0 {
		t.Errorf("%d events are left at the old place", len(left))
	}
}

func (m *move) events(s *server) []string {
	m.t.Helper()
	return column(m.t, openData(m.t, s.installation.data), "SELECT 'evt_' || id FROM events WHERE tenant = '"+m.tenant+"' ORDER BY rowid")
}

// check counts contacts and events, and compares them with what was answered, and what the feed has shown.
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
			m.t.Errorf("%s is %d and not %d", what, got, want)
		}
	}
	events := m.events(m.to)
	if strings.Join(events, " ") != strings.Join(m.follower.seen, " ") {
		m.t.Errorf("the feed showed %d events, and there are %d, or in another order", len(m.follower.seen), len(events))
	}
	m.t.Logf("%d contacts, %d changes, %d events; %d requests were refused on the way", created, changed, len(events), m.movers.refused.Load())
}

// delivered awaits the delivery of each event, and counts those that came twice although they were taken.
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
	// nothing was killed, so that nothing comes again but what was refused
	if refused := int(m.ills.Load()); again != refused {
		m.t.Errorf("%d deliveries were repeated, and %d had been refused", again, refused)
	}
	m.t.Logf("%d of %d deliveries were refused and came again", again, len(all))
}

// passphraseFile returns a file with a passphrase.
func passphraseFile(t *testing.T, passphrase string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "passphrase")
	if err := os.WriteFile(file, []byte(passphrase+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return "--passphraseFile=" + file
}

// refuses runs a command that has to fail with the words.
func (i *installation) refuses(words string, args ...string) {
	i.t.Helper()
	if got := i.run(args...); got.code != 1 || got.stdout != "" || !strings.Contains(got.stderr, words) {
		i.t.Errorf("%v exits with %d: %s%s, without %q", args, got.code, got.stdout, got.stderr, words)
	}
}

// exported returns an installation with a tenant of so many contacts, its archive, and the argument with the passphrase.
func exported(t *testing.T, contacts int) (i *installation, tenant, archive, passphrase string) {
	t.Helper()
	i, folder := newInstallation(t), t.TempDir()
	tenant = str(t, i.one("tenant", "create", "Acme"), "id")
	i.must("key", "create", tenant)
	i.must("webhook", "create", tenant, nowhere)
	sheet := filepath.Join(folder, "contacts.csv")
	if err := os.WriteFile(sheet, []byte(sheetOf(contacts)), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := i.run("contact", "import", tenant, sheet, "--column", "Nachname=name"); got.code != 0 {
		t.Fatal(got)
	}
	archive, passphrase = filepath.Join(folder, "acme.zip"), passphraseFile(t, "a long passphrase")
	i.refuses("--freeze", "tenant", "export", "Acme", archive, passphrase)
	if got := i.run("tenant", "export", "Acme", archive, passphrase, "--freeze"); got.code != 0 {
		t.Fatal(got)
	}
	return i, tenant, archive, passphrase
}

// A kill leaves an import that goes on, with everything once, or that is deleted.
func TestMoveSurvivesKills(t *testing.T) {
	t.Parallel()
	const contacts = 20_000
	a, tenant, archive, passphrase := exported(t, contacts)
	b := newInstallation(t)
	b.must("tenant", "create", "Resident")
	s, db := b.serve(), openData(t, b.data)
	kill := func(more ...string) {
		t.Helper()
		const place = "SELECT coalesce(max(100000000 * step + row), 0) FROM _moves"
		before := count(t, db, place)
		p := launch(t, b.command(t.Context(), append([]string{"tenant", "import", archive, passphrase, "--dir=" + b.data}, more...)...))
		await(t, "more of the import", func() bool { return count(t, db, place) > before+2_000 })
		p.kill()
		if count(t, db, place) == 0 {
			t.Fatalf("it was too fast: %s", p.output)
		}
	}
	kill()
	b.refuses("--resume", "tenant", "import", archive, passphrase)
	b.refuses("has not arrived", "tenant", "unfreeze", tenant)
	b.must("tenant", "delete", tenant, "--yes")
	kill()
	kill("--resume")
	s.kill()
	s = s.again()
	kill("--resume")
	if got := b.run("tenant", "import", archive, passphrase, "--resume"); got.code != 0 {
		t.Fatal(got)
	}
	sameRows(t, openData(t, a.data), db, tenant, contacts-contacts/100)
	if faults := integrity(t, db); len(faults) > 0 {
		t.Error(faults)
	}
	s.stop()
	if got := b.run("doctor"); got.code != 0 {
		t.Error(got)
	}
}

// sameRows compares what a tenant has here and there: so many contacts, each with an event and a delivery.
func sameRows(t *testing.T, there, here *sql.DB, tenant string, want int) {
	t.Helper()
	for _, query := range []string{
		"SELECT id || name || email || externalId || created || updated FROM contacts WHERE tenant = '" + tenant + "' ORDER BY id",
		"SELECT contact || text FROM _contactSearch WHERE tenant = '" + tenant + "' ORDER BY seq",
		"SELECT id || payload FROM events WHERE tenant = '" + tenant + "' ORDER BY rowid",
		"SELECT id || event || webhook FROM deliveries WHERE tenant = '" + tenant + "' ORDER BY rowid",
	} {
		before, after := column(t, there, query), column(t, here, query)
		if len(after) != want || strings.Join(before, "\n") != strings.Join(after, "\n") {
			t.Errorf("%s gives %d rows and not the same %d", query, len(after), len(before))
		}
	}
}

// The commands say what is wrong, and change nothing then.
func TestMoveCommands(t *testing.T) {
	t.Parallel()
	a, tenant, archive, passphrase := exported(t, 200)
	a.refuses("is there already", "tenant", "export", "Acme", archive, passphrase)
	a.refuses("12 characters", "tenant", "export", "Acme", archive+"2", passphraseFile(t, "short"))
	a.refuses("no terminal", "tenant", "export", "Acme", archive+"2")
	a.refuses("is closed for writes", "key", "create", tenant)
	a.refuses("is closed for writes", "webhook", "create", tenant, nowhere)
	a.refuses("is here already", "tenant", "import", archive, passphrase)
	if got := a.many("tenant", "list"); got[0]["state"] != "frozen" {
		t.Errorf("the list has %v", got)
	}
	b := newInstallation(t)
	b.must("tenant", "create", "Resident")
	b.refuses("does not open this archive", "tenant", "import", archive, passphraseFile(t, "another passphrase"))
	whole, err := os.ReadFile(archive)
	if err != nil {
		t.Fatal(err)
	}
	cut := filepath.Join(t.TempDir(), "cut.zip")
	if err := os.WriteFile(cut, whole[:len(whole)-100], 0o600); err != nil {
		t.Fatal(err)
	}
	b.refuses("is damaged", "tenant", "import", cut, passphrase)
	if got := b.many("tenant", "list"); len(got) != 1 {
		t.Errorf("the list has %v", got)
	}
	said := b.one("tenant", "import", archive, passphrase, "--frozen")
	if said["state"] != "frozen" || said["contacts"] != 198.0 || said["events"] != 198.0 || said["deliveries"] != 198.0 || said["keys"] != 1.0 {
		t.Errorf("the import did %v", said)
	}
	b.refuses("is closed for writes", "key", "create", tenant)
	if got := b.one("tenant", "unfreeze", tenant); got["state"] != "open" {
		t.Errorf("it is %v", got)
	}
	b.must("key", "create", tenant)
	if info, err := os.Stat(archive); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the archive is %v, %v", info, err)
	}
	newInstallation(t).must("tenant", "import", archive, passphrase) // which makes the folder
}
