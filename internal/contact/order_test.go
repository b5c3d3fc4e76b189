package contact_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/pocketbase/dbx"
	"github.com/pocketbase/pocketbase/core"
	"github.com/pocketbase/pocketbase/tools/types"

	"contactbase/internal/contact"
	"contactbase/internal/recordid"
	"contactbase/internal/sqlite"
	"contactbase/internal/testkit"
)

// A contact gets the id behind the last one where the clock was set back. Another tenant may have that one.
func TestIDBehindTheLastMayBeTaken(t *testing.T) {
	t.Parallel()
	b := newBook(t)
	later := time.Now().UTC().Add(time.Hour).Truncate(time.Millisecond)
	last := recordid.New(later)[:9] + "zzzz00" // no id by chance comes behind it
	move := func(from, to string) {
		t.Helper()
		created := later.Format(types.DefaultDateLayout)
		_, err := b.App.DB().Update("contacts", dbx.Params{"id": to, "created": created}, dbx.HashExp{"id": from}).Execute()
		if err != nil {
			t.Fatal(err)
		}
	}
	move(b.Add(map[string]any{"name": "Last"}).ID, last)
	taken := recordid.Following(last)
	move(b.Other().Add(map[string]any{"name": "Another tenant's"}).ID, taken)
	if id := b.Add(map[string]any{"name": "New"}).ID; id != recordid.Following(taken) {
		t.Errorf("the id behind %s and %s is %s", last, taken, id)
	}
}

// A change that waits for the writer lock is later than what is committed meanwhile, so that
// updatedSince misses nothing.
func TestWaitingChangeIsLater(t *testing.T) {
	t.Parallel()
	b := newBook(t)
	first, second := b.Add(map[string]any{"name": "A"}).ID, b.Add(map[string]any{"name": "B"}).ID
	changes, err := contact.ParseChanges(b.App, map[string]any{"name": "C"})
	if err != nil {
		t.Fatal(err)
	}
	locked, waited := make(chan struct{}), make(chan *contact.Contact)
	go func() {
		<-locked
		changed, _, err := testkit.Update(b.App, b.Tenant, second, changes)
		if err != nil {
			t.Error(err)
		}
		waited <- changed
	}()
	var before *contact.Contact
	err = sqlite.Transact(t.Context(), b.App, b.Tenant, false, func(tx core.App) (err error) {
		close(locked)
		<-time.After(100 * time.Millisecond) // enough to begin to wait, which nothing reports
		before, _, err = testkit.Update(tx, b.Tenant, first, changes)
		return err
	})
	if after := <-waited; err != nil || after.Updated < before.Updated {
		t.Errorf("it is of %s, and what was committed before of %s, %v", after.Updated, before.Updated, err)
	}
}

// Each change is later than the one before, also within a millisecond and where the clock was set back.
func TestChangesAreStrictlyLater(t *testing.T) {
	t.Parallel()
	b := newBook(t)
	created := b.Add(map[string]any{"name": "A"})
	last := created.Updated
	change := func(i int) {
		t.Helper()
		changed, err := b.update(created.ID, map[string]any{"name": fmt.Sprint("B", i)})
		if err != nil {
			t.Fatal(err)
		}
		if changed.Updated <= last {
			t.Errorf("change %d is of %s, the one before of %s", i, changed.Updated, last)
		}
		last = changed.Updated
	}
	for i := range 50 { // some of them within a millisecond
		change(i)
	}
	future := time.Now().UTC().Add(time.Hour).Format(types.DefaultDateLayout)
	if _, err := b.App.DB().Update("contacts", dbx.Params{"updated": future}, dbx.HashExp{"id": created.ID}).Execute(); err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		change(50 + i)
	}
}
