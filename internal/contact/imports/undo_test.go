package imports_test

import (
	"context"
	"errors"
	"testing"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/contact"
	"contactbase/internal/contact/imports"
	"contactbase/internal/fault"
	"contactbase/internal/testkit"
)

// An undo deletes what the import has created and nothing has changed since, says so before, and keeps the rest. A
// repeat changes nothing.
func TestUndo(t *testing.T) {
	t.Parallel()
	app := testkit.NewApp(t)
	acme := testkit.Tenant(t, app, "Acme")
	testkit.AddRelated(t, app, "orders", "contacts", core.RelationField{Name: "contacts", Required: true, MaxSelect: 1})
	before := testkit.Record(t, app, "contacts", map[string]any{"tenant": acme, "externalId": "old", "name": "Old"})
	stored := store(t, app, acme, "externalId,name,email\nold,New,\na,Ann,\nb,Bob,\nc,Cleo,\nd,Dan,\ne,Eve,\nf,Fay,\na,Ann,ann@example.com\ng,,nonsense\n")
	if err := imports.BeginUndo(app, stored.ID); !isFault(err) {
		t.Errorf("before the import, undoing it gives %v", err)
	}
	begin(t, app, stored, "", start)
	if done := work(t, app, stored.ID); done.RowsCreated != 6 || done.RowsUpdated != 2 {
		t.Fatalf("the import is %+v", done.Counts)
	}
	id := func(externalID string) string {
		t.Helper()
		found, err := app.FindFirstRecordByData("contacts", "externalId", externalID)
		if err != nil {
			t.Fatal(err)
		}
		return found.Id
	}
	if _, _, err := testkit.Update(app, acme, id("b"), contact.Changes{"name": "Robert"}); err != nil {
		t.Fatal(err)
	}
	testkit.Record(t, app, "orders", map[string]any{"contacts": id("c")})
	if err := app.RunInTransaction(func(tx core.App) error {
		_, err := (&contact.Merge{ID: id("d"), From: []string{id("f")}, Fields: map[string]string{"externalId": id("d")}}).Apply(tx, acme)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	want := imports.Undo{Deleted: 2, Kept: 3} // Ann and Eve; Bob has changed, Cleo has an order, and Dan is Fay, too
	if got, err := imports.PreviewUndo(t.Context(), app, stored.ID); err != nil || got != want {
		t.Errorf("announced are %+v (%v)", got, err)
	}
	for round := range 2 {
		if err := errors.Join(imports.BeginUndo(app, stored.ID), imports.BeginUndo(app, stored.ID)); err != nil {
			t.Fatal(err)
		}
		undone := work(t, app, stored.ID)
		if undone.Status != imports.Undone || *undone.Undone != want {
			t.Errorf("round %d: the import is %s, %+v", round, undone.Status, undone.Undone)
		}
		want.Deleted = 0
	}
	if left := testkit.Count(t, app, "SELECT count(*) FROM contacts", nil); left != 4 {
		t.Errorf("%d contacts are left", left)
	}
	if kept, err := app.FindRecordById("contacts", before.Id); err != nil || kept.GetString("name") != "New" {
		t.Errorf("a contact that the import has changed is %v (%v)", kept, err)
	}
	if entries := testkit.Count(t, app, "SELECT count(*) FROM audit_log WHERE action = 'undone'", nil); entries != 2 {
		t.Errorf("the audit log has %d entries", entries)
	}
}

func isFault(err error) bool {
	var wrong *fault.Error
	return errors.As(err, &wrong)
}

// An undo that was interrupted continues, also where several work on it, and ends when its tenant is deleted.
func TestUndoIsInterrupted(t *testing.T) {
	t.Parallel()
	app := testkit.NewApp(t)
	acme := testkit.Tenant(t, app, "Acme")
	const rows = 300
	stored := store(t, app, acme, large(rows))
	begin(t, app, stored, "", start)
	work(t, app, stored.ID)
	if err := imports.BeginUndo(app, stored.ID); err != nil {
		t.Fatal(err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := imports.UndoSome(ended, app, stored.ID); err != nil {
		t.Fatal(err)
	}
	begun := find(t, app, stored.ID)
	if begun.Status != imports.Undoing || begun.Undone.Deleted == 0 || begun.Undone.Deleted == rows {
		t.Fatalf("the import is %s, %+v", begun.Status, begun.Undone)
	}
	if err := imports.UndoSomeMeanwhile(app, stored.ID); !errors.Is(err, imports.ErrMoved) {
		t.Errorf("somebody else undoes it with %v", err)
	}
	testkit.Execute(t, app, "UPDATE tenants SET apiEnabled = FALSE WHERE id = {:id}", map[string]any{"id": acme})
	if stopped := work(t, app, stored.ID); stopped.Status != imports.Undoing {
		t.Errorf("without API access, the import is %s", stopped.Status)
	}
	testkit.Execute(t, app, "UPDATE tenants SET apiEnabled = TRUE WHERE id = {:id}", map[string]any{"id": acme})
	if undone := work(t, app, stored.ID); undone.Status != imports.Undone || undone.Undone.Deleted != rows {
		t.Errorf("the import is %s, %+v", undone.Status, undone.Undone)
	}
	again := store(t, app, acme, large(rows))
	begin(t, app, again, "", start)
	work(t, app, again.ID)
	if err := imports.BeginUndo(app, again.ID); err != nil {
		t.Fatal(err)
	}
	owner, err := app.FindRecordById("tenants", acme)
	if err == nil {
		err = app.Delete(owner)
	}
	if err = errors.Join(err, imports.Work(t.Context(), app)); err != nil {
		t.Errorf("after the deletion of its tenant, an undo gives %v", err)
	}
}
