package contact

import (
	"crypto/rand"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/pocketbase/dbx"
	"github.com/pocketbase/pocketbase/core"
	"github.com/pocketbase/pocketbase/tools/types"
)

// generatedID marks a new record whose id may be chosen here.
const generatedID = "@generatedID"

const (
	idTimeLength   = 9 // base36 digits of the Unix time in milliseconds: enough until the year 5188
	idRandomLength = 6
	idRoom         = 36 * 36 * 36 * 36 * 36 * 36 // as many ids as a millisecond has
)

// PlaceNew gives a new contact its id and creation time inside the write transaction, so that the order of (createdAt, id)
// is the order of the commits: a contact never sorts before one that a reader may have seen already. What was
// written last is read from the database, so that this holds across processes and when the clock is set back.
func PlaceNew(tx core.App, record *core.Record, now time.Time) error {
	var last struct {
		ID      string         `db:"id"`
		Created types.DateTime `db:"created"`
	}
	err := tx.DB().NewQuery(
		"SELECT [[id]], [[created]] FROM {{contacts}} WHERE [[tenant]] = {:tenant} ORDER BY [[created]] DESC, [[id]] DESC LIMIT 1",
	).Bind(dbx.Params{"tenant": record.GetString("tenant")}).One(&last)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return fmt.Errorf("reading the newest contact: %w", err)
	}
	created := now.UTC().Truncate(time.Millisecond)
	if created.Before(last.Created.Time()) {
		created = last.Created.Time()
	}
	tie := created.Equal(last.Created.Time())
	if generated, _ := record.GetRaw(generatedID).(bool); generated {
		record.Id = newID(created)
		if next := following(last.ID); tie && record.Id <= last.ID && next != "" {
			record.Id = next
		}
	}
	if tie && record.Id <= last.ID {
		created = created.Add(time.Millisecond)
	}
	stamped, err := types.ParseDateTime(created)
	if err != nil {
		return fmt.Errorf("stamping a contact: %w", err)
	}
	record.SetRaw("created", stamped)
	record.SetRaw("updated", stamped)
	return nil
}

// PlaceUpdated gives a changed contact its time of change: later than the one before, whatever the clock says.
func PlaceUpdated(record *core.Record, before *Contact, now time.Time) error {
	last, err := time.Parse(time.RFC3339, before.Updated)
	if err != nil {
		return fmt.Errorf("reading the time of the last change of the contact %s: %w", before.ID, err)
	}
	updated := now.UTC().Truncate(time.Millisecond)
	if !updated.After(last) {
		updated = last.Add(time.Millisecond)
	}
	stamped, err := types.ParseDateTime(updated)
	if err != nil {
		return fmt.Errorf("stamping a contact: %w", err)
	}
	record.SetRaw("updated", stamped)
	return nil
}

// newID returns an id that sorts by time: milliseconds first, then chance.
func newID(at time.Time) string {
	var seed [8]byte
	if _, err := rand.Read(seed[:]); err != nil {
		panic("contact: the system's random source failed: " + err.Error()) // as crypto/rand.Read does
	}
	return base36(at.UnixMilli(), idTimeLength) + base36(int64(binary.LittleEndian.Uint64(seed[:])%idRoom), idRandomLength)
}

// following returns the id right behind one that newID made, and "" behind any other, where there may be no valid one.
func following(id string) string {
	if len(id) != idTimeLength+idRandomLength {
		return ""
	}
	n, err := strconv.ParseInt(id[idTimeLength:], 36, 64)
	if err != nil || id != id[:idTimeLength]+base36(n, idRandomLength) || n+1 >= idRoom {
		return ""
	}
	return id[:idTimeLength] + base36(n+1, idRandomLength)
}

func base36(n int64, length int) string {
	s := strconv.FormatInt(n, 36)
	return strings.Repeat("0", max(0, length-len(s))) + s
}
