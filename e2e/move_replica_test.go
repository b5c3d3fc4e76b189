package e2e

import (
	"syscall"
	"testing"

	"contactbase/internal/testenv"
)

// A tenant that was imported to a machine with a replica is on the standby when the command ends.
func TestTenantMovesToReplica(t *testing.T) {
	t.Parallel()
	contacts := testenv.Count(100, 2_000)
	from, tenant, archive, passphrase := exported(t, contacts)
	c := newCluster(t, "sync", fault{machines: 2})
	serving, standby := c.machines[0], c.machines[1]
	if got := serving.run("tenant", "import", archive, passphrase); got.code != 0 {
		t.Fatal(got)
	}
	serving.signal(syscall.SIGKILL)
	c.awaitServing(standby)
	sameRows(t, openData(t, from.data), openData(t, standby.data), tenant, contacts-contacts/100)
	if got := standby.many("tenant", "list"); len(got) != 2 || got[1]["state"] != "open" {
		t.Errorf("the list has %v", got)
	}
}
