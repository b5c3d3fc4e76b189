package e2e

import (
	"context"
	"database/sql"
	"fmt"
	"net/http"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"contactbase/internal/replica/fakes3"
)

const (
	clusterLease   = 2 * time.Second
	clusterWriters = 4
	// requestTime is how long a client waits for a machine that does not answer, before it asks another.
	requestTime = 3 * time.Second
)

// cluster is machines with a replica in one store, and clients that write to whichever serves.
type cluster struct {
	t        *testing.T
	store    *fakes3.Store
	mode     string
	key      string // of the API
	machines []*machine
	receiver *receiver
	next     atomic.Int64

	mu      sync.Mutex
	acked   map[int64]acknowledged // by the contact's number
	changed chan struct{}          // closed with the next acknowledgement
}

// acknowledged is what a client was told of a contact that it created.
type acknowledged struct {
	id       string
	by       *machine
	sent     time.Time
	answered time.Time
}

// machine is a data folder and the program that a supervisor starts again whenever another machine has taken over.
type machine struct {
	*installation
	name    string
	address string

	mu      sync.Mutex
	process *server // nil before the first
	held    bool    // whether it is not started again
	exits   []int   // with which code it ended by itself
	over    sync.WaitGroup
}

// newCluster returns so many machines, of which the first serves.
func newCluster(t *testing.T, mode string, machines int) *cluster {
	t.Helper()
	store := fakes3.New()
	t.Cleanup(store.Close)
	c := &cluster{t: t, store: store, mode: mode, acked: map[int64]acknowledged{}, changed: make(chan struct{}), receiver: newReceiver(t)}
	for n := range machines {
		i := newInstallation(t)
		i.env = []string{"AWS_ACCESS_KEY_ID=test", "AWS_SECRET_ACCESS_KEY=test"}
		if n == 0 {
			i.superuser()
			tenant := str(t, i.one("tenant", "create", "Acme", "--rateLimit", "1000000000"), "id")
			c.key = str(t, i.one("key", "create", tenant), "key")
			c.receiver.set(str(t, i.one("webhook", "create", tenant, c.receiver.URL), "secret"), nil)
		}
		i.args = []string{"--replica=" + store.URL("crm"), "--replicaMode=" + mode, "--lease=" + clusterLease.String(), "--replicaPatience=2s"}
		m := &machine{installation: i, name: string(rune('A' + n)), address: freeAddress(t)}
		c.machines = append(c.machines, m)
		t.Cleanup(m.end)
	}
	c.machines[0].start()
	c.awaitServing(c.machines[0])
	for _, m := range c.machines[1:] {
		m.start()
		m.await("standing by")
	}
	return c
}

// start starts the program, and again each time it ends with the code of a machine that another has taken over from.
func (m *machine) start() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.held = false
	m.launch()
}

// launch is start for who holds mu.
func (m *machine) launch() {
	p := m.serveAt(m.address)
	m.process = p
	m.over.Go(func() {
		<-p.ended
		m.mu.Lock()
		defer m.mu.Unlock()
		code := p.command.ProcessState.ExitCode()
		if m.process != p || m.held {
			return
		}
		m.exits = append(m.exits, code)
		m.launch()
	})
}

// signal sends a signal to the program. After SIGKILL it is not started again.
func (m *machine) signal(s syscall.Signal) {
	m.t.Helper()
	m.mu.Lock()
	defer m.mu.Unlock()
	m.held = s == syscall.SIGKILL
	if err := m.process.command.Process.Signal(s); err != nil {
		m.t.Fatal(err)
	}
}

func (m *machine) end() {
	m.mu.Lock()
	m.held = true
	p := m.process
	m.mu.Unlock()
	if p != nil {
		_ = p.command.Process.Kill() // it may have ended
		<-p.ended
		if m.t.Failed() {
			m.t.Logf("%s printed:\n%s", m.name, p.output)
		}
	}
	m.over.Wait()
}

// close ends the program as a supervisor does, and waits for that.
func (m *machine) close() {
	m.t.Helper()
	m.mu.Lock()
	m.held = true
	p := m.process
	m.mu.Unlock()
	p.stop()
}

func (m *machine) await(text string) {
	m.t.Helper()
	m.mu.Lock()
	p := m.process
	m.mu.Unlock()
	p.await(text)
}

func (m *machine) exited(code int) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, exit := range m.exits {
		if exit == code {
			return true
		}
	}
	return false
}

// write has clients create contacts until stop is called, each until it is told of its success.
func (c *cluster) write() (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var writers sync.WaitGroup
	for range clusterWriters {
		writers.Go(func() {
			clients := c.clients()
			for at := 0; ctx.Err() == nil; {
				at = c.create(ctx, clients, at, c.next.Add(1))
			}
		})
	}
	return func() {
		cancel()
		writers.Wait()
	}
}

// clients returns a client of each machine.
func (c *cluster) clients() (all []*client) {
	for _, m := range c.machines {
		s := &server{process: &process{t: c.t}, base: "http://" + m.address}
		one := s.client(c.key)
		one.http.Timeout = requestTime
		all = append(all, one)
	}
	return all
}

// create asks one machine after the other, with one idempotency key, until one of them has created the contact. It begins with
// the one that answered last, and returns which does.
func (c *cluster) create(ctx context.Context, clients []*client, at int, number int64) int {
	body := fmt.Sprintf(`{"name":"Person %d","email":"p%d@example.com"}`, number, number)
	for ctx.Err() == nil {
		for range clients {
			m, sent := c.machines[at], time.Now()
			a, err := clients[at].try(http.MethodPost, contactsPath, body, "Idempotency-Key", fmt.Sprint("p", number))
			switch {
			case err != nil || a.status == http.StatusServiceUnavailable:
			case a.status == http.StatusCreated:
				id, _ := a.data()["id"].(string)
				c.acknowledge(number, acknowledged{id, m, sent, time.Now()})
				return at
			default:
				c.t.Errorf("machine %s answers %s", m.name, a)
				return at
			}
			at = (at + 1) % len(clients)
		}
		select {
		case <-ctx.Done():
		case <-time.After(20 * time.Millisecond):
		}
	}
	return at
}

func (c *cluster) acknowledge(number int64, a acknowledged) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.acked[number] = a
	close(c.changed)
	c.changed = make(chan struct{})
}

// awaitMore waits until clients were told of so many more contacts, by one of the machines, or by any where it is nil.
func (c *cluster) awaitMore(more int, by *machine) {
	c.t.Helper()
	count := func() (n int) {
		for _, a := range c.acked {
			if by == nil || a.by == by {
				n++
			}
		}
		return n
	}
	deadline := time.After(patience)
	c.mu.Lock()
	want := count() + more
	for count() < want {
		changed := c.changed
		c.mu.Unlock()
		select {
		case <-changed:
		case <-deadline:
			c.t.Fatalf("no machine creates contacts any more")
		}
		c.mu.Lock()
	}
	c.mu.Unlock()
}

// awaitServing waits until a machine serves and its replica is complete.
func (c *cluster) awaitServing(m *machine) {
	c.t.Helper()
	if got := c.serving(func(found *machine) bool { return found == m }); got != m {
		c.t.Fatalf("machine %s does not serve", m.name)
	}
}

// serving waits until a machine of those that are wanted is ready, and returns it.
func (c *cluster) serving(wanted func(*machine) bool) *machine {
	c.t.Helper()
	client := &http.Client{Timeout: requestTime}
	defer client.CloseIdleConnections()
	deadline := time.After(patience)
	for {
		for _, m := range c.machines {
			if !wanted(m) {
				continue
			}
			response, err := client.Get("http://" + m.address + "/readyz")
			if err != nil {
				continue
			}
			response.Body.Close()
			if response.StatusCode == http.StatusOK {
				return m
			}
		}
		select {
		case <-deadline:
			c.t.Fatal("no machine is ready")
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// audit ends the machine that serves, and compares what it holds with what clients were told, with what the store holds, and
// with what the receiver got.
func (c *cluster) audit(m *machine) {
	c.t.Helper()
	db := openData(c.t, m.data)
	awaitCount(c.t, "deliveries that are not over", db, "SELECT count(*) FROM deliveries WHERE status != 'delivered'", 0)
	awaitCount(c.t, "events without deliveries", db, "SELECT count(*) FROM events e WHERE NOT EXISTS (SELECT 1 FROM deliveries d WHERE d.event = e.id)", 0)
	for _, other := range c.machines {
		if other != m {
			other.end() // else it takes over
		}
	}
	m.close()
	if faults := integrity(c.t, db); faults != nil {
		c.t.Errorf("the database is damaged: %q", faults)
	}
	ids, byEmail := map[string]bool{}, map[string]int{}
	rows(c.t, db, "SELECT id, email FROM contacts", func(row []string) {
		ids[row[0]] = true
		byEmail[row[1]]++
	})
	lost := 0
	for _, a := range c.acked {
		if !ids[a.id] {
			lost++
		}
	}
	if lost > 0 && c.mode == "sync" {
		c.t.Errorf("%d of %d contacts are lost whose creation was answered", lost, len(c.acked))
	}
	for email, times := range byEmail {
		if times > 1 {
			c.t.Errorf("%s was created %d times", email, times)
		}
	}
	c.t.Logf("%s: %d contacts answered, %d of them lost", c.mode, len(c.acked), lost)
	restored := filepath.Join(c.t.TempDir(), "restored")
	m.must("replica", "restore", restored)
	copied := openData(c.t, restored)
	for _, table := range column(c.t, db, "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' AND sql NOT LIKE 'CREATE VIRTUAL%'") {
		query := `SELECT count(*) FROM "` + table + `"`
		if here, there := count(c.t, db, query), count(c.t, copied, query); here != there {
			c.t.Errorf("%s has %d rows, and %d in the store", table, here, there)
		}
	}
}

// awaitCount waits until a query gives a number.
func awaitCount(t *testing.T, what string, db *sql.DB, query string, want int) {
	t.Helper()
	deadline := time.After(patience)
	for count(t, db, query) != want {
		select {
		case <-deadline:
			t.Fatalf("%s: %d", what, count(t, db, query))
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// nothingAfter fails where a machine has acknowledged a request that was sent after its successor had answered one.
func (c *cluster) nothingAfter(fenced, successor *machine) {
	c.t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	var takeover time.Time
	for _, a := range c.acked {
		if a.by == successor && (takeover.IsZero() || a.answered.Before(takeover)) {
			takeover = a.answered
		}
	}
	for number, a := range c.acked {
		if a.by == fenced && a.sent.After(takeover) {
			c.t.Errorf("machine %s acknowledged contact %d after machine %s had taken over", fenced.name, number, successor.name)
		}
	}
}
