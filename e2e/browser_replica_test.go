package e2e

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"contactbase/internal/testenv"
)

// The dashboard shows the state of the replica, and its problems.
func TestBrowserReplica(t *testing.T) {
	t.Parallel()
	testenv.Long(t, "waits for a replica only to look at its page; the tests of replicas need no browser")
	folder, kept := t.TempDir(), t.TempDir()
	place, next := filepath.Join(folder, "replica"), filepath.Join(folder, "next")
	point := func(target string) {
		t.Helper()
		if err := errors.Join(os.Symlink(target, next), os.Rename(next, place)); err != nil {
			t.Fatal(err)
		}
	}
	point(kept)
	i, _ := newTenant(t)
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
	point(os.DevNull) // the server would write a deleted replica again
	if got := i.run("replica", "drill"); got.code == 0 {
		t.Errorf("a restore test of a lost replica succeeds: %+v", got)
	}
	b.sees("the last restore test failed")
	b.look("replica-fault")
	point(kept) // a server stops once its replica is complete
}
