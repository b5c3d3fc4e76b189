package contact

import (
	"fmt"
	"time"

	"github.com/pocketbase/pocketbase/core"
	"github.com/pocketbase/pocketbase/tools/types"

	"contactbase/internal/recordid"
	"contactbase/internal/sqlite"
	"contactbase/internal/stamp"
)

// placeRecord sets the times of a new record, so that it follows the tenant's newest contact.
func placeRecord(tx core.App, record *core.Record, now time.Time) error {
	reader := sqlite.ReaderOf(tx)
	newest, err := readLast(reader, record.GetString("tenant"))
	if err != nil {
		return err
	}
	_, created, err := newest.next(reader, record.Id, now)
	if err != nil {
		return err
	}
	setTime(record, "created", created)
	setTime(record, "updated", created)
	return nil
}

func setTime(record *core.Record, name string, at time.Time) {
	stored, _ := types.ParseDateTime(at) // it never fails for a time.Time
	record.SetRaw(name, stored)
}

// newestSQL returns one row if the tenant exists; its values are empty if the tenant has no contact.
const newestSQL = "SELECT coalesce(c.`id`, ''), coalesce(c.`created`, '') " +
	"FROM `tenants` t LEFT JOIN `contacts` c ON c.`tenant` = t.`id` " +
	"WHERE t.`id` = ? ORDER BY c.`created` DESC, c.`id` DESC LIMIT 1"

// place sets the id and the times of a new contact. They are chosen inside the write transaction, so that contacts
// are ordered by (createdAt, id) as they were committed: none sorts before one that a reader may have seen already.
// The newest contact is read from the database, or from the cache of the commit batch. So the order holds across
// processes, and if the clock is set back. The error is ErrNoTenant if the tenant was deleted.
func (p *plan) place(c *change) error {
	if p.newest.tenantID == "" {
		var known bool
		if p.newest, known = sqlite.CachedInBatch[last](p.tx); !known || p.newest.tenantID != p.tenantID {
			var err error
			if p.newest, err = readLast(p.tx, p.tenantID); err != nil {
				return err
			}
		}
	}
	id, created, err := p.newest.next(p.tx, "", c.now)
	if err != nil {
		return err
	}
	p.newest = last{p.tenantID, id, created}
	sqlite.CacheInBatch(p.tx, p.newest)
	c.after.ID, c.after.Created, c.after.Updated = id, stamp.Shown(created), stamp.Shown(created)
	p.stamp(c)
	return nil
}

// last is the newest contact of a tenant, with the zero time if it has none.
type last struct {
	tenantID string
	id       string
	created  time.Time
}

func readLast(tx sqlite.Reader, tenantID string) (l last, err error) {
	l.tenantID = tenantID
	created := ""
	found, err := sqlite.Row(tx, []any{&l.id, &created}, newestSQL, tenantID)
	if err != nil {
		return l, fmt.Errorf("reading the newest contact: %w", err)
	}
	if !found {
		return l, ErrNoTenant
	}
	if created != "" {
		if l.created, err = time.Parse(types.DefaultDateLayout, created); err != nil {
			return l, fmt.Errorf("reading when the contact %s was created: %w", l.id, err)
		}
	}
	return l, nil
}

// next returns the id and the creation time of the contact after the last one. id is "" unless the
// contact has one already.
func (l last) next(tx sqlite.Reader, id string, now time.Time) (string, time.Time, error) {
	created := now.UTC().Truncate(time.Millisecond)
	if created.Before(l.created) {
		created = l.created
	}
	tie := created.Equal(l.created)
	if id == "" {
		id = recordid.New(created)
		if tie && id <= l.id {
			next, err := following(tx, l.id)
			if err != nil {
				return "", time.Time{}, err
			}
			if next != "" {
				id = next
			}
		}
	}
	if tie && id <= l.id {
		created = created.Add(time.Millisecond)
	}
	return id, created, nil
}

// following returns the first id after the given one that no contact of any tenant has, "" if there is no such id.
func following(tx sqlite.Reader, id string) (string, error) {
	for next := recordid.Following(id); next != ""; next = recordid.Following(next) {
		taken, err := sqlite.Value[bool](tx, "SELECT EXISTS (SELECT 1 FROM `contacts` WHERE `id` = ?)", next)
		if err != nil {
			return "", fmt.Errorf("looking for the contact %s: %w", next, err)
		}
		if !taken {
			return next, nil
		}
	}
	return "", nil
}

// later returns the time of a contact's change, which is later than that of the last one even if the
// clock was set back.
func later(before *Contact, now time.Time) (time.Time, error) {
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
