package e2e

import (
	"slices"
	"syscall"
	"time"
)

// fault is a fault of machines or of their store, while clients write. It returns the machine that serves afterwards.
type fault struct {
	name     string
	machines int
	cheap    bool // whether it is tried where not all tests run, too
	happens  func(c *cluster) *machine

	real           bool          // whether its store is a real server of S3
	sampled        bool          // whether a single round has it although its store is real
	long           bool          // whether it lasts for so long that only long runs have it
	mode           string        // in which alone it can happen, "" for both
	clock          time.Duration // by which the first machine's is wrong
	lease, timeout time.Duration // 0 for the usual ones
}

// faults are those of machines and of the store, then those of a machine that takes over, and those of a real store.
var faults = slices.Concat(outerFaults, takeoverFaults, realStoreFaults())

var outerFaults = []fault{
	{name: "kill", machines: 2, cheap: true, happens: func(c *cluster) *machine {
		a, b := c.machines[0], c.machines[1]
		a.signal(syscall.SIGKILL)
		c.awaitMore(50, b)
		a.start() // which stands by
		a.await("standing by")
		return b
	}},
	{name: "stop and go on", machines: 2, cheap: true, happens: func(c *cluster) *machine {
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
	{name: "the store stalls for less than the lease", machines: 2, happens: func(c *cluster) *machine {
		c.store.Stall()
		c.wait(clusterLease / 3)
		c.store.Resume()
		c.awaitMore(50, nil)
		return c.serving(func(*machine) bool { return true })
	}},
	{name: "the store stalls for longer than the lease", machines: 2, happens: func(c *cluster) *machine {
		c.store.Stall()
		c.awaitExit(c.machines[0], 3)
		c.store.Resume()
		c.awaitMore(50, nil)
		return c.serving(func(*machine) bool { return true })
	}},
	{name: "the store is away", machines: 2, happens: func(c *cluster) *machine {
		c.store.SetAway(true)
		c.awaitExit(c.machines[0], 3)
		c.wait(2 * clusterLease)
		c.store.SetAway(false)
		c.awaitMore(50, nil)
		return c.serving(func(*machine) bool { return true })
	}},
	{name: "two standbys race", machines: 3, happens: func(c *cluster) *machine {
		c.machines[0].signal(syscall.SIGKILL)
		c.awaitMore(50, nil)
		return c.serving(func(m *machine) bool { return m != c.machines[0] })
	}},
	{name: "back and forth", machines: 2, happens: func(c *cluster) *machine {
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
	{name: "stopped, again and again", machines: 2, happens: func(c *cluster) *machine {
		for range 4 {
			for _, m := range c.machines {
				other := c.machines[0]
				if m == other {
					other = c.machines[1]
				}
				m.close() // whatever it does at that moment: it exits with 0
				c.awaitMore(5, other)
				m.start()
			}
		}
		return c.machines[0]
	}},
	{name: "the store is away for ten minutes", machines: 2, long: true, happens: func(c *cluster) *machine {
		c.store.SetAway(true)
		c.awaitExit(c.machines[0], 3)
		c.wait(10 * time.Minute)
		c.store.SetAway(false)
		c.awaitMore(50, nil)
		return c.serving(func(*machine) bool { return true })
	}},
	{name: "a clock that is an hour ahead", machines: 2, clock: time.Hour, happens: thereAndBack},
	{name: "a clock that is an hour behind", machines: 2, clock: -time.Hour, happens: thereAndBack},
	{name: "repeated after 503", machines: 2, mode: "sync", lease: 6 * time.Second, timeout: 300 * time.Millisecond, happens: func(c *cluster) *machine {
		_, release := c.store.Hold(sends("/1/data.db/"))
		defer release()
		c.awaitRefused(20, "unreplicated")
		release()
		c.awaitMore(50, c.machines[0])
		c.machines[0].signal(syscall.SIGKILL)
		c.awaitMore(50, c.machines[1])
		return c.machines[1]
	}},
	{name: "killed after 503", machines: 2, mode: "sync", lease: 6 * time.Second, timeout: 300 * time.Millisecond, happens: func(c *cluster) *machine {
		_, release := c.store.Hold(sends("/1/data.db/"))
		defer release()
		c.awaitRefused(20, "unreplicated")
		c.machines[0].signal(syscall.SIGKILL)
		release()
		c.awaitMore(50, c.machines[1])
		return c.machines[1]
	}},
}

// takenOver kills the first machine, so that the second takes over and the first becomes the standby.
func (c *cluster) takenOver() (a, b *machine) {
	c.t.Helper()
	a, b = c.machines[0], c.machines[1]
	a.signal(syscall.SIGKILL)
	c.awaitMore(50, b)
	c.awaitServing(b)
	a.start()
	a.await("standing by")
	return a, b
}

// thereAndBack kills the first machine, and then makes it take over again.
func thereAndBack(c *cluster) *machine {
	a, b := c.takenOver()
	b.signal(syscall.SIGKILL)
	c.awaitMore(50, a)
	return a
}
