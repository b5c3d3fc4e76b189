package e2e

import (
	"fmt"
	"testing"
	"time"

	"contactbase/internal/testenv"
)

// failoverRoundsEnv is the environment variable with the number of rounds for each fault.
const failoverRoundsEnv = "FAILOVER_ROUNDS"

// longRounds is the number of rounds from which long faults are included.
const longRounds = 10

// After any fault of a machine or the store, a machine serves in the end. In sync mode it has every
// acknowledged contact, nothing is created twice, no delivery is left, the database is not corrupt, and the
// store has the same data.
func TestFailover(t *testing.T) {
	t.Parallel()
	rounds := envCount(t, failoverRoundsEnv, 0)
	all := rounds > 0 || testenv.All()
	for _, f := range faults {
		for _, mode := range []string{"async", "sync"} {
			if f.mode != "" && f.mode != mode || f.long && rounds < longRounds {
				continue
			}
			if rounds == 0 && f.clock != 0 { // its program is compiled apart, which takes minutes
				continue
			}
			if rounds == 0 && f.real && !f.sampled {
				continue
			}
			if !all && (!f.cheap || mode == "async") {
				continue
			}
			if rounds == 0 && mode == "async" && f.mode == "" && !f.cheap { // the whole matrix is `task failover:matrix`
				continue
			}
			for round := range max(1, rounds) {
				t.Run(fmt.Sprintf("%s/%s/%d", mode, f.name, round+1), func(t *testing.T) {
					if rounds == 0 || f.long {
						t.Parallel()
					}
					c := newCluster(t, mode, f)
					c.stopWriting = c.write()
					defer func() { c.stopWriting() }()
					c.awaitMore(100, c.machines[0])
					serving := f.happens(c)
					c.awaitServing(serving)
					c.awaitMore(20, serving)
					c.stopWriting()
					c.audit(serving)
				})
			}
		}
	}
}

// wait waits while a fault lasts.
func (c *cluster) wait(d time.Duration) { <-time.After(d) }

// awaitExit waits until a machine has exited with a code.
func (c *cluster) awaitExit(m *machine, code int) {
	c.t.Helper()
	deadline := time.After(timeout)
	for !m.exited(code) {
		select {
		case <-deadline:
			c.t.Fatalf("machine %s did not end with %d", m.name, code)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// awaitClosed waits until a channel is closed.
func (c *cluster) awaitClosed(what string, passed <-chan struct{}) {
	c.t.Helper()
	select {
	case <-passed:
	case <-time.After(timeout):
		c.t.Fatalf("there is no %s", what)
	}
}
