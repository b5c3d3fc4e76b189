package e2e

import (
	"testing"
)

// Two servers on one data directory, each with its own clients: no attempt is made twice, whichever server sends, and
// the other one takes over when that is stopped.
func TestTwoProcessesSendEachAttemptOnce(t *testing.T) {
	t.Parallel()
	c := newCrew(t)
	c.release() // an attempt that hangs until the server gives up on it when it stops is made again
	first, second := c.serve(), c.serve()
	waitFirst, waitSecond := c.start(first), c.start(second)
	c.await(150)
	terminate(first)
	waitFirst()
	c.await(50)
	terminate(second)
	waitSecond()
	c.settle()
	for name, r := range map[string]*receiver{"healthy": c.healthy, "failing": c.failing, "hanging": c.hanging} {
		attempts := map[string]bool{}
		all, _, _ := r.look(atLeast(0))
		for _, d := range all {
			attempt := d.Delivery + " " + d.Attempt
			if attempts[attempt] {
				t.Errorf("the %s receiver gets the attempt %s twice", name, attempt)
			}
			attempts[attempt] = true
		}
	}
}
