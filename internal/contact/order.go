package contact

import (
	"errors"
	"fmt"
	"time"

	"github.com/pocketbase/pocketbase/core"
	"github.com/pocketbase/pocketbase/tools/types"

	"contactbase/internal/recordid"
	"contactbase/internal/sqlite"
)

// generatedID marks a new record whose id may be chosen here.
const generatedID = "@generatedID"

// PlaceNew gives a new record its id and creation time, as place does.
func PlaceNew(tx core.App, record *core.Record, now time.Time) error {
	id := record.Id
	if generated, _ := record.GetRaw(generatedID).(bool); generated {
		id = ""
	}
	id, created, err := place(tx, record.GetString("tenant"), id, now)
	if err != nil {
		return err
	}
	stamped, err := types.ParseDateTime(created)
	if err != nil {
		return fmt.Errorf("stamping a contact: %w", err)
	}
	record.Id = id
	record.SetRaw("created", stamped)
	record.SetRaw("updated", stamped)
	return nil
}

const newestSQL = "SELECT `id`, `created` FROM `contacts` WHERE `tenant` = ? ORDER BY `created` DESC, `id` DESC LIMIT 1"

// place returns the id of a new contact, unless it has one, and its creation time inside the write transaction, so
// that the order of (createdAt, id) is the order of the commits: a contact never sorts before one that a reader may
// have seen already. What was written last is read from the database, so that this holds across processes and when
// the clock is set back.
func place(tx core.App, tenantID, id string, now time.Time) (string, time.Time, error) {
	var lastID, lastCreated string
	rows, err := sqlite.Direct(tx.NonconcurrentDB()).Query(newestSQL, tenantID)
	if err != nil {
		return "", time.Time{}, fmt.Errorf("reading the newest contact: %w", err)
	}
	defer rows.Close()
	if rows.Next() {
		err = rows.Scan(&lastID, &lastCreated)
	}
	if err = errors.Join(err, rows.Err()); err != nil {
		return "", time.Time{}, fmt.Errorf("reading the newest contact: %w", err)
	}
	var last time.Time
	if lastCreated != "" {
		if last, err = time.Parse(types.DefaultDateLayout, lastCreated); err != nil {
			return "", time.Time{}, fmt.Errorf("reading when the contact %s was created: %w", lastID, err)
		}
	}
	created := now.UTC().Truncate(time.Millisecond)
	if created.Before(last) {
		created = last
	}
	tie := created.Equal(last)
	if id == "" {
		id = recordid.New(created)
		if next := recordid.Following(lastID); tie && id <= lastID && next != "" {
			id = next
		}
	}
	if tie && id <= lastID {
		created = created.Add(time.Millisecond)
	}
	return id, created, nil
}

// PlaceUpdated gives a changed record its time of change, as after does.
func PlaceUpdated(record *core.Record, before *Contact, now time.Time) error {
	updated, err := after(before, now)
	if err != nil {
		return err
	}
	stamped, err := types.ParseDateTime(updated)
	if err != nil {
		return fmt.Errorf("stamping a contact: %w", err)
	}
	record.SetRaw("updated", stamped)
	return nil
}

// after returns the time of a contact's change: later than the one before, whatever the clock says.
func after(before *Contact, now time.Time) (time.Time, error) {
	last, err := time.Parse(time.RFC3339, before.Updated)
	if err != nil {
		return time.Time{}, fmt.Errorf("reading the time of the last change of the contact %s: %w", before.ID, err)
	}
	updated := now.UTC().Truncate(time.Millisecond)
	if !updated.After(last) {
		updated = last.Add(time.Millisecond)
	}
	return updated, nil
}
