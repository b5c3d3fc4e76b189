package e2e

import (
	"syscall"
	"testing"
	"time"
)

// failoverRoundsEnv says how often each of the faults comes to pass.
const failoverRoundsEnv = "FAILOVER_ROUNDS"

// fault is something that happens to machines, or to their store, while clients write. It returns the machine that serves
// afterwards.
type fault struct {
	name     string
	machines int
	cheap    bool // whether it is tried in continuous integration
	happens  func(c *cluster) *machine
}

var faults = []fault{
	{"kill", 2, true, func(c *cluster) *machine {
		a, b := c.machines[0], c.machines[1]
		a.signal(syscall.SIGKILL)
		c.awaitMore(50, b)
		a.start() // which stands by
		a.await("standing by")
		return b
	}},
	{"stop and go on", 2, true, func(c *cluster) *machine {
		a, b := c.machines[0], c.machines[1]
		a.signal(syscall.SIGSTOP)
		c.awaitMore(50, b)
		a.signal(syscall.SIGCONT)
		c.awaitExit(a, 3)
		a.await("standing by")
		c.awaitMore(50, b)
		c.nothingAfter(a, b)
		return b
	}},
	{"the store stalls for less than the lease", 2, false, func(c *cluster) *machine {
		c.store.Stall()
		c.wait(clusterLease / 3)
		c.store.Resume()
		c.awaitMore(50, nil)
		return c.serving(func(*machine) bool { return true })
	}},
	{"the store stalls for longer than the lease", 2, false, func(c *cluster) *machine {
		c.store.Stall()
		c.awaitExit(c.machines[0], 3)
		c.store.Resume()
		c.awaitMore(50, nil)
		return c.serving(func(*machine) bool { return true })
	}},
	{"the store is away", 2, false, func(c *cluster) *machine {
		c.store.SetAway(true)
		c.awaitExit(c.machines[0], 3)
		c.wait(2 * clusterLease)
		c.store.SetAway(false)
		c.awaitMore(50, nil)
		return c.serving(func(*machine) bool { return true })
	}},
	{"two standbys race", 3, false, func(c *cluster) *machine {
		c.machines[0].signal(syscall.SIGKILL)
		c.awaitMore(50, nil)
		return c.serving(func(m *machine) bool { return m != c.machines[0] })
	}},
	{"killed in its first snapshot", 2, false, func(c *cluster) *machine {
		a, b := c.machines[0], c.machines[1]
		a.signal(syscall.SIGKILL)
		b.await("took over")
		c.store.Stall()
		b.signal(syscall.SIGKILL)
		c.store.Resume()
		a.start()
		c.awaitMore(50, a)
		return a
	}},
	{"killed while it catches up", 2, false, func(c *cluster) *machine {
		a, b := c.machines[0], c.machines[1]
		a.signal(syscall.SIGKILL)
		b.await("taking over")
		b.signal(syscall.SIGKILL)
		b.start()
		c.awaitMore(50, b)
		return b
	}},
	{"back and forth", 2, false, func(c *cluster) *machine {
		a, b := c.machines[0], c.machines[1]
		for _, next := range []*machine{b, a, b} {
			before := map[*machine]*machine{a: b, b: a}[next]
			before.signal(syscall.SIGKILL)
			c.awaitMore(50, next)
			c.awaitServing(next)
			before.start()
			before.await("standing by")
		}
		return b
	}},
}

// Whatever happens to a machine or to the store, a machine serves in the end. In sync mode it has every contact whose creation was
// answered; nothing is created twice, no delivery is left, the database is sound and the store has the same.
func TestFailover(t *testing.T) {
	t.Parallel()
	rounds := envCount(t, failoverRoundsEnv, 0)
	for _, f := range faults {
		for _, mode := range []string{"async", "sync"} {
			if rounds == 0 && (!f.cheap || mode == "async" || testing.Short() && f.name != "kill") {
				continue
			}
			for range max(1, rounds) {
				t.Run(mode+"/"+f.name, func(t *testing.T) {
					if rounds == 0 {
						t.Parallel()
					}
					c := newCluster(t, mode, f.machines)
					stop := c.write()
					defer stop()
					c.awaitMore(100, c.machines[0])
					serving := f.happens(c)
					c.awaitServing(serving)
					c.awaitMore(20, serving)
					stop()
					c.audit(serving)
				})
			}
		}
	}
}

// wait lets a fault last.
func (c *cluster) wait(d time.Duration) { <-time.After(d) }

// awaitExit waits until a machine has ended by itself with a code.
func (c *cluster) awaitExit(m *machine, code int) {
	c.t.Helper()
	deadline := time.After(patience)
	for !m.exited(code) {
		select {
		case <-deadline:
			c.t.Fatalf("machine %s does not end with %d", m.name, code)
		case <-time.After(20 * time.Millisecond):
		}
	}
}
