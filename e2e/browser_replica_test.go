package e2e

import (
	"os"
	"path/filepath"
	"testing"
)

// The dashboard shows the state of the replica, and its problems.
func TestBrowserReplica(t *testing.T) {
	t.Parallel()
	place := t.TempDir()
	i := newInstallation(t).superuser()
	i.must("tenant", "create", "Acme")
	i.env = []string{"CONTACTBASE_REPLICA=file://" + place}
	s := i.serve()
	b := s.newBrowser().signIn(s)
	b.integrations("", "Overview")
	b.sees("Replica: up to date, no restore test yet.")
	i.must("replica", "drill")
	b.wait("the restore test", `/up to date, last restore test .* ago, \d+ rows compared\./.test(document.body.innerText)`)
	b.look("replica")
	b.integrations("/tenants", "Tenants") // on which only faults stand
	if evaluate[bool](b, `document.body.innerText.includes("Replica")`) {
		t.Error("the page shows a healthy replica")
	}
	await(t, "the loss of the replica", func() bool { // the server continues sending to it
		return os.RemoveAll(filepath.Join(place, "1", "data.db")) == nil
	})
	if got := i.run("replica", "drill"); got.code == 0 {
		t.Errorf("a restore test of a lost replica succeeds: %+v", got)
	}
	b.sees("the last restore test failed")
	b.look("replica-fault")
}
