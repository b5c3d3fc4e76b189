package contact_test

import (
	"testing"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/contact"
	"contactbase/internal/testkit"
)

// PocketBase makes a change of the fields known in its own process before it is committed.
func TestReadsWhileFieldsChange(t *testing.T) {
	t.Parallel()
	b := newBook(t)
	c := b.Add(map[string]any{"name": "Ada"})
	err := b.App.RunInTransaction(func(tx core.App) error {
		testkit.AddFields(t, tx, &core.TextField{Name: "note"})
		if found, err := contact.Find(b.App, b.Tenant, c.ID); err != nil || property(t, found, "note") != "absent" {
			t.Errorf("before the commit: %v (%v)", found, err)
		}
		if got := len(b.List("q=ada")); got != 1 {
			t.Errorf("%d contacts are listed before the commit", got)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if found, err := contact.Find(b.App, b.Tenant, c.ID); err != nil || property(t, found, "note") != "null" {
		t.Errorf("after the commit: %v (%v)", found, err)
	}
}
