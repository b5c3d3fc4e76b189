package contact

import (
	"context"
	"strings"
	"time"

	"github.com/pocketbase/pocketbase/core"
	"github.com/pocketbase/pocketbase/tools/types"

	"contactbase/internal/sqlite"
	"contactbase/internal/stamp"
)

// Where a collection has no fields but the shipped ones, contacts are written by statements of our own: PocketBase's
// way through a record costs twice as much, inside the one transaction that all writers wait for. An admin's own field
// may do something when it is saved, so with one of them the record goes PocketBase's way. Either way the same follows
// a change, in the same transaction (consequence) and after it (announce).

var insertSQL = "INSERT INTO `contacts` (" + writtenColumns + ") VALUES (?" + strings.Repeat(", ?", len(shippedFields)-1) + ")"

// insertion returns the statement that writes a new contact. created is its time of creation as it is stored.
func insertion(tenantID string, c *Contact, created string) sqlite.Statement {
	args := make([]any, 0, len(shippedFields))
	args = append(args, c.ID, tenantID)
	for _, field := range Fields {
		args = append(args, *field.of(c))
	}
	return sqlite.Statement{Text: insertSQL, Args: append(args, created, created)}
}

// written is what a plan makes of a contact: before is nil for a new one, and after is before itself where nothing changes.
type written struct {
	before, after *Contact
	follows       consequence
	now           time.Time // of the plan: it is later than that of whoever had the turn before, however long it waited
}

func (s *schema) insert(app core.App, tenantID string, changes Changes, also Also) (*Contact, error) {
	var w written
	_, err := sqlite.Write(app, func(tx sqlite.Reader) (statements []sqlite.Statement, err error) {
		if err := also.check(tx); err != nil {
			return nil, err
		}
		w, statements, err = s.planInsert(tx, tenantID, changes, also, time.Now())
		return statements, err
	})
	if err := s.conclude(app, tenantID, also, w, err); err != nil {
		return nil, err
	}
	return w.after, nil
}

// planInsert returns a new contact, and the statements that write it.
func (s *schema) planInsert(tx sqlite.Reader, tenantID string, changes Changes, also Also, now time.Time) (written, []sqlite.Statement, error) {
	c := &Contact{}
	changes.applyTo(c)
	if c.Name == "" && c.Email == "" {
		return written{}, nil, nameOrEmail()
	}
	if err := checkExternalID(tx, tenantID, c.ExternalID); err != nil {
		return written{}, nil, err
	}
	id, at, err := place(tx, tenantID, "", now)
	if err != nil {
		return written{}, nil, err
	}
	when := stamp.Stored(at)
	c.ID, c.Created, c.Updated = id, stamp.Show(when), stamp.Show(when)
	w := written{after: c, follows: creation(tenantID, c, changes.cause()), now: now}
	statements, err := also.plan(tx, []sqlite.Statement{insertion(tenantID, c, when)}, c, w.follows, now)
	return w, statements, err
}

func (u update) direct(app core.App) (w written, err error) {
	_, err = sqlite.Write(app, func(tx sqlite.Reader) (statements []sqlite.Statement, err error) {
		before, err := u.present(tx)
		if err != nil {
			return nil, err
		}
		if before == nil {
			w, statements, err = u.schema.planInsert(tx, u.tenantID, u.changes, u.also, time.Now())
		} else {
			w, statements, err = u.plan(tx, before, time.Now())
		}
		return statements, err
	})
	return w, u.schema.conclude(app, u.tenantID, u.also, w, err)
}

// conclude does what comes after a plan that ended with err.
func (s *schema) conclude(app core.App, tenantID string, also Also, w written, err error) error {
	if err != nil {
		return s.refused(err)
	}
	if w.after == w.before {
		return nil
	}
	if err := also.gather(app, w.follows.event, w.now); err != nil {
		return err
	}
	return s.announce(app, tenantID, w.before, w.after)
}

var assignments = eachField(func(f *Field) string { return "`" + f.Name + "` = ?, " })

// plan returns the contact as it will be, and the statements that make it so.
func (u update) plan(tx sqlite.Reader, before *Contact, now time.Time) (written, []sqlite.Statement, error) {
	w, own, err := u.planRow(tx, before, now)
	if err != nil {
		return w, nil, err
	}
	w.follows = change(u.tenantID, w.before, w.after, u.changes.cause())
	statements, err := u.also.plan(tx, own, w.after, w.follows, now)
	return w, statements, err
}

// planRow returns the contact as it will be, and the statement that writes its row; none where nothing changes.
func (u update) planRow(tx sqlite.Reader, before *Contact, now time.Time) (written, []sqlite.Statement, error) {
	c := *before
	u.changes.applyTo(&c)
	if c.Name == "" && c.Email == "" {
		return written{}, nil, nameOrEmail()
	}
	changed := c.differing(before)
	if len(changed) == 0 {
		return written{before: before, after: before}, nil, nil
	}
	if c.ExternalID != before.ExternalID {
		if err := checkExternalID(tx, u.tenantID, c.ExternalID); err != nil {
			return written{}, nil, err
		}
	}
	at, err := later(before, now)
	if err != nil {
		return written{}, nil, err
	}
	updated := stamp.Stored(at)
	c.Updated = stamp.Show(updated)
	// only what changed, because SQLite writes every index of what is set
	var set strings.Builder
	args := make([]any, 0, len(changed)+3)
	for _, i := range changed {
		set.WriteString(assignments[i])
		args = append(args, *Fields[i].of(&c))
	}
	return written{before: before, after: &c, now: now}, []sqlite.Statement{{
		Text: "UPDATE `contacts` SET " + set.String() + "`updated` = ? WHERE `id` = ? AND `tenant` = ?",
		Args: append(args, updated, c.ID, u.tenantID),
	}}, nil
}

// applyTo sets the shipped fields.
func (c Changes) applyTo(to *Contact) {
	for _, field := range Fields {
		if value, sent := c[field.Name]; sent {
			*field.of(to), _ = value.(string)
		}
	}
}

func (c Changes) cause() string {
	cause, _ := c[causeField].(string)
	return cause
}

// announce has PocketBase do, once the change is committed, what follows the saving of a record: the hooks after
// success run and subscribers are told. before is nil for a new contact. By then the app of a transaction is over: Bind
// puts the one in its place that outlives it.
func (s *schema) announce(app core.App, tenantID string, before, after *Contact) error {
	transaction := app.TxInfo()
	if transaction == nil {
		return s.trigger(app, tenantID, before, after)
	}
	transaction.OnComplete(func(failure error) error {
		if failure != nil {
			return nil //nolint:nilerr // the failure is the caller's; there is nothing to tell
		}
		return s.trigger(app, tenantID, before, after)
	})
	return nil
}

func (s *schema) trigger(app core.App, tenantID string, before, after *Contact) error {
	e := &core.ModelEvent{Context: context.Background(), Type: core.ModelEventTypeCreate}
	e.App = app
	record := core.NewRecord(s.collection)
	if before != nil {
		s.fill(record, tenantID, before)
		if err := record.PostScan(); err != nil { // makes it the original
			return err
		}
	}
	s.fill(record, tenantID, after)
	record.MarkAsNotNew()
	e.Model = record
	if before == nil {
		return app.OnModelAfterCreateSuccess().Trigger(e)
	}
	e.Type = core.ModelEventTypeUpdate
	return app.OnModelAfterUpdateSuccess().Trigger(e)
}

// fill sets the record's fields to those of the contact.
func (s *schema) fill(record *core.Record, tenantID string, c *Contact) {
	record.Id = c.ID
	record.SetRaw("tenant", tenantID)
	for _, field := range Fields {
		record.SetRaw(field.Name, *field.of(c))
	}
	for name, shown := range map[string]string{"created": c.Created, "updated": c.Updated} {
		at, _ := time.Parse(time.RFC3339, shown) // made here, so that it parses
		stored, _ := types.ParseDateTime(at)     // which tries a dozen layouts on a text
		record.SetRaw(name, stored)
	}
}
