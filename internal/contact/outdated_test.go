package contact_test

import (
	"testing"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/contact"
	"contactbase/internal/contact/custom"
	"contactbase/internal/testkit"
)

// PocketBase makes a change of the fields known in its own process before it is committed.
func TestReadsWhileFieldsChange(t *testing.T) {
	t.Parallel()
	b := newBook(t)
	c := b.Add(map[string]any{"name": "Ada"})
	note := func() (shown string) {
		t.Helper()
		err := custom.RetryOutdated(b.App, func(app core.App) error {
			found, err := contact.Find(app, b.Tenant, c.ID)
			if err == nil {
				shown = property(t, found, "note")
			}
			return err
		})
		if err != nil {
			t.Error(err)
		}
		return shown
	}
	err := b.App.RunInTransaction(func(tx core.App) error {
		testkit.AddFields(t, tx, &core.TextField{Name: "note"})
		if shown := note(); shown != "absent" {
			t.Errorf("before the commit: %s", shown)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if shown := note(); shown != "null" {
		t.Errorf("after the commit: %s", shown)
	}
}
