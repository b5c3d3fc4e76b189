package e2e

import (
	"context"
	crand "crypto/rand"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"contactbase/internal/testenv"
)

// candidateEnv is the environment variable with the duration of the soak of a release candidate, in minutes.
const candidateEnv = "CANDIDATE_MINUTES"

// killEvery is how often that soak kills the leader, or four times if it is short.
const killEvery = 5 * time.Minute

// candidate is two machines with a replica in sync mode, and all kinds of load on them.
type candidate struct {
	*cluster
	ctx    context.Context //nolint:containedctx // it is the length of the run
	admin  map[string]string
	tenant string     // of the clients that write
	calm   sync.Mutex // held by commands on the leader's data directory, and by a kill

	memory                                  []float64 // bytes of the machine that serves, the oldest first
	kills, imports, moves, visits, offended atomic.Int64
}

// The soak of a release candidate. In sync mode, clients write, members sign in, files are imported, tenants move
// here and away, and receivers are hostile, while the store fails and the leader is killed: nothing that was
// acknowledged is lost or doubled, and memory does not grow.
func TestCandidate(t *testing.T) {
	t.Parallel()
	length := shortSoak
	if os.Getenv(candidateEnv) != "" {
		length = time.Duration(envCount(t, candidateEnv, 1)) * time.Minute
	} else {
		testenv.Long(t, "puts a release candidate under load for minutes")
	}
	every := min(killEvery, length/4)
	hostile := newHostile(t)
	t.Cleanup(func() { hostile.well.Store(true) })
	c := &candidate{cluster: newCluster(t, "sync", fault{machines: 2, real: true})}
	first := &server{process: &process{t: t}, base: "http://" + c.machines[0].address}
	c.admin = first.signIn().header
	c.tenant = str(t, c.machines[0].many("tenant", "list")[0], "id")
	first.member(c.tenant, "ada@example.com", "admin")
	stranger := c.newTenant(hostile.urls...)
	strangersKey := map[string]string{"X-API-Key": str(t, c.record("api_keys", `{"tenant":"`+stranger+`","name":"key"}`), "key")}

	var cancel context.CancelFunc
	c.ctx, cancel = context.WithTimeout(t.Context(), length)
	defer cancel()
	c.pace = 100 * time.Millisecond
	c.stopWriting = c.write()
	defer func() { c.stopWriting() }()
	var group sync.WaitGroup
	repeat := func(every time.Duration, do func()) { group.Go(func() { c.repeat(every, do) }) }
	repeat(every, c.kill)
	repeat(every/3, c.move)
	repeat(20*time.Second, c.visit)
	repeat(10*time.Second, c.importFile)
	repeat(2*time.Second, c.measure)
	repeat(time.Second, func() {
		c.insist(strangersKey, http.MethodPost, contactsPath, `{"name":"Stranger"}`)
		c.offended.Add(1)
	})
	group.Wait()
	serving := c.serving(func(*machine) bool { return true })
	c.awaitMore(20, serving)
	c.stopWriting()
	hostile.well.Store(true)
	c.insist(c.admin, http.MethodDelete, "/api/collections/tenants/records/"+stranger, "")
	c.audit(serving)
	c.report(serving, length)
}

// repeat repeats a function at that rate, or slower if it takes longer.
func (c *candidate) repeat(every time.Duration, do func()) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-c.ctx.Done():
			return
		}
		if c.t.Failed() {
			return
		}
		do()
	}
}

// insist sends a request to the machines in turn until one of them serves it, and returns the response.
func (c *candidate) insist(header map[string]string, method, path, body string) *answer {
	c.t.Helper()
	clients := c.clients()
	for deadline := time.Now().Add(timeout); time.Now().Before(deadline); {
		for _, one := range clients {
			one.header = header
			got, err := one.try(method, path, body)
			if err == nil && got.status != http.StatusServiceUnavailable && got.status != http.StatusTooManyRequests {
				return got
			}
		}
		c.wait(100 * time.Millisecond)
	}
	c.t.Fatalf("no machine serves %s %s", method, path)
	return nil
}

// record creates a record as the superuser.
func (c *candidate) record(collection, body string) map[string]any {
	c.t.Helper()
	got := c.insist(c.admin, http.MethodPost, "/api/collections/"+collection+"/records", body)
	if got.status != http.StatusOK {
		c.t.Fatalf("creating %s in %s returns %s", body, collection, got)
	}
	return got.json()
}

// newTenant creates a tenant with webhooks to these URLs, and returns its ID.
func (c *candidate) newTenant(urls ...string) string {
	c.t.Helper()
	tenant := str(c.t, c.record("tenants", `{"name":"Guest `+crand.Text()+`","apiEnabled":true,"rateLimit":1000000}`), "id")
	for _, url := range urls {
		c.record("webhooks", `{"tenant":"`+tenant+`","url":"`+url+`"}`)
	}
	return tenant
}

// total returns the number of a tenant's records.
func (c *candidate) total(header map[string]string, collection, tenant string) any {
	c.t.Helper()
	return c.insist(header, http.MethodGet, "/api/collections/"+collection+`/records?perPage=1&fields=id&filter=(tenant="`+tenant+`")`, "").json()["totalItems"]
}

// kill makes the store fail, kills the leader, and waits until the other machine serves.
func (c *candidate) kill() {
	c.calm.Lock()
	defer c.calm.Unlock()
	leader := c.serving(func(*machine) bool { return true })
	fault := storeFaults[rand.IntN(len(storeFaults))]
	broken := c.breakStore(fault.fault)
	await(c.t, "faults", func() bool { return broken.Load() >= 20 })
	leader.signal(syscall.SIGKILL)
	c.wait(clusterLease)
	c.store.Break(nil)
	next := c.serving(func(m *machine) bool { return m != leader })
	leader.start()
	leader.await("standing by")
	c.awaitMore(20, next)
	c.t.Logf("%s was killed while the store had %s; %s serves", leader.name, fault.name, next.name)
	c.kills.Add(1)
}

// move moves a tenant to the machine that serves, and from there to another installation.
func (c *candidate) move() {
	const contacts = 300
	from, tenant, archive, passphrase := exported(c.t, contacts)
	to := newInstallation(c.t)
	c.calm.Lock()
	defer c.calm.Unlock()
	m := c.serving(func(*machine) bool { return true })
	must := func(i *installation, args ...string) {
		c.t.Helper()
		if got := i.run(args...); got.code != 0 {
			c.t.Fatalf("%v exits with %d: %s%s", args, got.code, got.stdout, got.stderr)
		}
	}
	must(m.installation, "tenant", "import", archive, passphrase)
	sameRows(c.t, openData(c.t, from.data), openData(c.t, m.data), tenant, contacts-contacts/100)
	must(m.installation, "tenant", "export", tenant, archive+"2", passphrase, "--freeze")
	must(m.installation, "tenant", "delete", tenant, "--yes")
	must(to, "tenant", "import", archive+"2", passphrase)
	sameRows(c.t, openData(c.t, from.data), openData(c.t, to.data), tenant, contacts-contacts/100)
	c.moves.Add(1)
}

// visit signs a member in, who sees the webhook of their tenant, and no other tenant's.
func (c *candidate) visit() {
	got := c.insist(nil, http.MethodPost, "/api/collections/tenant_members/auth-with-password", `{"identity":"ada@example.com","password":"`+memberPassword+`"}`)
	token, _ := got.json()["token"].(string)
	member := map[string]string{"Authorization": token}
	if seen := c.insist(member, http.MethodGet, "/api/collections/webhooks/records", "").json()["totalItems"]; seen != 1.0 {
		c.t.Errorf("a member who signs in with %s sees %v webhooks", got, seen)
	}
	c.visits.Add(1)
}

// importFile imports a file into a tenant of its own: each valid row becomes a contact and an event, once.
func (c *candidate) importFile() {
	const size, valid = 1000, 990.0
	tenant := c.newTenant()
	csv := map[string]string{"Authorization": c.admin["Authorization"], "Content-Type": "text/csv"}
	uploaded := c.insist(csv, http.MethodPost, "/api/integrations/imports?name=contacts.csv&tenant="+tenant, sheetOf(size))
	path := "/api/integrations/imports/" + str(c.t, uploaded.data(), "id")
	c.insist(c.admin, http.MethodPost, path+"/start", `{"mapping":["name","email","externalId"],"match":"externalId"}`)
	await(c.t, "the end of an import", func() bool { return c.insist(c.admin, http.MethodGet, path, "").data()["status"] == "done" })
	if contacts, events := c.total(c.admin, "contacts", tenant), c.total(c.admin, "events", tenant); contacts != valid || events != valid {
		c.t.Errorf("an import of %v contacts leaves %v contacts and %v events", valid, contacts, events)
	}
	c.insist(c.admin, http.MethodDelete, "/api/collections/tenants/records/"+tenant, "")
	c.imports.Add(1)
}

// measure measures the memory of the machine that serves.
func (c *candidate) measure() {
	m := c.serving(func(*machine) bool { return true })
	m.mu.Lock()
	pid := m.process.command.Process.Pid
	m.mu.Unlock()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	if err != nil {
		return // it has just ended
	}
	var size, resident float64
	if _, err := fmt.Sscan(string(text), &size, &resident); err == nil { // a zombie has none
		c.memory = append(c.memory, resident*float64(os.Getpagesize()))
	}
}

// report prints what was counted, and fails the test if the receiver lacks an event or memory has grown. The
// server has ended.
func (c *candidate) report(m *machine, length time.Duration) {
	c.t.Helper()
	events := map[string]bool{}
	for _, id := range column(c.t, openData(c.t, m.data), "SELECT 'evt_' || id FROM events WHERE tenant = '"+c.tenant+"'") {
		events[id] = true
	}
	arrived, _, _ := c.receiver.look(atLeast(0))
	missing := absent(events, c.receiver)
	if missing > 0 || len(events) == 0 {
		c.t.Errorf("the receiver lacks %d of %d events", missing, len(events))
	}
	c.t.Logf("%s: %d kills, %d moves, %d imports, %d sign-ins, %d events to hostile receivers, refusals %v", length, c.kills.Load(), c.moves.Load(), c.imports.Load(), c.visits.Load(), c.offended.Load(), c.refused)
	c.t.Logf("%d events: %d did not arrive, %d arrived again", len(events), missing, len(arrived)-(len(events)-missing))
	quarter := max(1, len(c.memory)/4)
	before, after := median(c.memory[:quarter]), median(c.memory[len(c.memory)-quarter:])
	c.t.Logf("memory: median %.0f MB in the first quarter, %.0f MB in the last, at most %.0f MB", before/1e6, after/1e6, slices.Max(c.memory)/1e6)
	if length >= longSoak*3 && after > before*1.15+flat["process_resident_memory_bytes"] {
		c.t.Error("memory grows")
	}
}
