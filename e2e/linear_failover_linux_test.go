package e2e

import (
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"
)

// pair is two machines, of which one serves in sync mode, with clients that send to both.
type pair struct {
	*lab
	cluster        *cluster
	leader, second *machine
}

func newPair(t *testing.T) *pair {
	t.Helper()
	c := newCluster(t, "sync", fault{machines: 2})
	p := &pair{newLab(t), c, c.machines[0], c.machines[1]}
	p.dirty = true
	p.prepare(p.leader.installation)
	p.sendTo("http://"+p.leader.address, "http://"+p.second.address)
	return p
}

// takenOver waits until the second machine serves.
func (p *pair) takenOver() {
	p.t.Helper()
	p.cluster.awaitServing(p.second)
	p.leader, p.second = p.second, p.leader
}

// fails kills the leader, which becomes the standby.
func (p *pair) fails() {
	p.t.Helper()
	p.leader.signal(syscall.SIGKILL)
	p.takenOver()
	p.second.start()
	p.awaitStandby()
}

func (p *pair) awaitStandby() {
	p.t.Helper()
	client := &http.Client{Timeout: requestTime}
	defer client.CloseIdleConnections()
	await(p.t, "the standby", func() bool {
		response, err := client.Get("http://" + p.second.address + "/readyz")
		if err != nil {
			return false
		}
		defer response.Body.Close()
		body, err := io.ReadAll(response.Body)
		return err == nil && strings.Contains(string(body), `"check":"standby"`)
	})
}

// exitCount returns how often the program has exited without being killed.
func (m *machine) exitCount() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.exits)
}

// pairFaults are those of two machines and their store.
var pairFaults = []struct {
	name    string
	quick   bool // whether it happens where not all tests run, too
	happens func(*pair)
}{
	{"kill", true, (*pair).fails},
	{"long pause", false, func(p *pair) {
		p.leader.signal(syscall.SIGSTOP)
		p.takenOver()
		p.second.signal(syscall.SIGCONT)
		p.awaitStandby()
	}},
	{"short pause", false, func(p *pair) {
		p.leader.signal(syscall.SIGSTOP)
		<-time.After(rand.N(clusterLease / 4))
		p.leader.signal(syscall.SIGCONT)
	}},
	{"stop", false, func(p *pair) {
		p.leader.close()
		p.takenOver()
		p.second.start()
		p.awaitStandby()
	}},
	{"stalled store, and a kill", true, func(p *pair) {
		p.cluster.store.Stall()
		<-time.After(rand.N(clusterTimeout + clusterTimeout/4)) // which some responses wait for
		p.leader.signal(syscall.SIGKILL)
		p.cluster.store.Resume()
		p.takenOver()
		p.second.start()
		p.awaitStandby()
	}},
	{"unreachable store", false, func(p *pair) { // until the leader has lost its lease, perhaps while writes wait
		before := p.leader.exitCount()
		p.cluster.store.Stall()
		await(p.t, "the end of the leader", func() bool { return p.leader.exitCount() > before })
		p.cluster.store.Resume()
		if p.cluster.serving(func(*machine) bool { return true }) == p.second {
			p.leader, p.second = p.second, p.leader
		}
		p.awaitStandby()
	}},
	{"faulty store, and a long pause", false, func(p *pair) {
		broken := p.cluster.breakStore(storeFaults[rand.IntN(len(storeFaults))].fault)
		await(p.t, "faults of the store", func() bool { return broken.Load() >= 20 })
		p.leader.signal(syscall.SIGSTOP)
		p.cluster.store.Break(nil)
		p.takenOver()
		p.second.signal(syscall.SIGCONT)
		p.awaitStandby()
	}},
}

// play records a lap in which each fault happens once, and a takeover at its end.
func (p *pair) play(all bool) (problems []string) {
	return p.lap(func() {
		for _, n := range rand.Perm(len(pairFaults)) {
			if f := pairFaults[n]; all || f.quick {
				p.await(50 + rand.IntN(200))
				p.t.Log(f.name)
				f.happens(p)
			}
		}
		p.await(50)
	}, p.fails)
}

// Across failovers in sync mode, writes and their errors are linearizable. A read may show a write that is not
// acknowledged and is lost later.
func TestLinearizableFailover(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	p.linearizable(p.play)
}
