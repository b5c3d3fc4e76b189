package e2e

import (
	"database/sql"
	"net/http"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"contactbase/internal/replica/fakes3"
)

const (
	clusterLease   = 5 * time.Second // longer than a machine that is busy with other tests stalls
	clusterTimeout = 2 * time.Second // of an answer with the replica
	clusterWriters = 4
	// requestTime is how long a client waits for a machine before it tries another.
	requestTime = 3 * time.Second
)

// cluster is machines with a replica in one store, and clients that write to the one that serves.
type cluster struct {
	t        *testing.T
	store    *fakes3.Store
	mode     string
	lease    time.Duration
	timeout  time.Duration // of an answer with the replica
	key      string        // of the API
	machines []*machine
	receiver *receiver
	next     atomic.Int64
	pace     time.Duration // of each client, between two contacts

	stopWriting func() // ends the clients
	resume      func() // has them go on, nil where they do

	mu      sync.Mutex
	acked   map[int64]acknowledged // by the contact's number
	refused map[string]int         // how often, by the code of the error
	changed chan struct{}          // closed with the next answer
}

// acknowledged is the response about a contact that a client has created.
type acknowledged struct {
	id       string
	by       *machine
	sent     time.Time
	answered time.Time
}

// newCluster returns machines, of which the first serves.
func newCluster(t *testing.T, mode string, f fault) *cluster {
	t.Helper()
	var store *fakes3.Store
	if f.real {
		store = startS3(t)
	} else {
		store = fakes3.New()
		t.Cleanup(store.Close)
	}
	c := &cluster{
		t: t, store: store, mode: mode, lease: clusterLease, timeout: clusterTimeout, receiver: newReceiver(t),
		acked: map[int64]acknowledged{}, refused: map[string]int{}, changed: make(chan struct{}),
	}
	if f.lease != 0 {
		c.lease, c.timeout = f.lease, f.timeout
	}
	for n := range f.machines {
		m := c.newMachine(n)
		c.machines = append(c.machines, m)
		t.Cleanup(m.end)
	}
	if f.clock != 0 {
		c.machines[0].setClock(f.clock)
	}
	c.machines[0].start()
	c.awaitServing(c.machines[0])
	for _, m := range c.machines[1:] {
		m.start()
		m.await("standing by")
	}
	return c
}

// newMachine returns a machine. The first one has a tenant with a key and a webhook.
func (c *cluster) newMachine(number int) *machine {
	c.t.Helper()
	i := newInstallation(c.t).damaged("a machine that stands by has no complete one; " +
		"the audit examines the one that serves")
	i.env = []string{"AWS_ACCESS_KEY_ID=test", "AWS_SECRET_ACCESS_KEY=test"}
	if number == 0 {
		i.superuser()
		tenant := str(c.t, i.one("tenant", "create", "Acme", "--rateLimit", "1000000000"), "id")
		c.key = str(c.t, i.one("key", "create", tenant), "key")
		c.receiver.set(str(c.t, i.one("webhook", "create", tenant, c.receiver.URL), "secret"), nil)
	}
	i.env = append(i.env, "CONTACTBASE_REPLICA="+c.store.URL("crm"), "CONTACTBASE_REPLICA_MODE="+c.mode,
		"CONTACTBASE_LEASE="+c.lease.String(), "CONTACTBASE_REPLICA_PATIENCE="+c.timeout.String())
	return &machine{installation: i, name: string(rune('A' + number)), address: freeAddress(c.t)}
}

// awaitServing waits until a machine serves and its replica is complete.
func (c *cluster) awaitServing(m *machine) {
	c.t.Helper()
	if got := c.serving(func(found *machine) bool { return found == m }); got != m {
		c.t.Fatalf("machine %s does not serve", m.name)
	}
}

// serving waits until one of the machines is ready, and returns it.
func (c *cluster) serving(wanted func(*machine) bool) *machine {
	c.t.Helper()
	client := &http.Client{Timeout: requestTime}
	defer client.CloseIdleConnections()
	deadline := time.After(timeout)
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

// audit stops the machine that serves, and compares its data with the acknowledged contacts, with the store, and with
// the requests of the receiver.
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
	m.sound()
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
		c.t.Errorf("%d of %d contacts are lost although their creation was acknowledged", lost, len(c.acked))
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

// awaitCount waits until a query returns a number.
func awaitCount(t *testing.T, what string, db *sql.DB, query string, want int) {
	t.Helper()
	deadline := time.After(timeout)
	for count(t, db, query) != want {
		select {
		case <-deadline:
			t.Fatalf("%s: %d", what, count(t, db, query))
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// nothingAfter fails the test if a machine acknowledged a request that was sent after the first response
// of its successor.
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
