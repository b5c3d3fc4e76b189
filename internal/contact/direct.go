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

func (s *schema) insert(app core.App, tenantID string, changes Changes, also Also, now time.Time) (*Contact, error) {
	c := &Contact{}
	changes.applyTo(c)
	var follows consequence
	_, err := sqlite.Write(app, func(tx sqlite.Reader) ([]sqlite.Statement, error) {
		if err := also.check(tx); err != nil {
			return nil, err
		}
		if c.Name == "" && c.Email == "" {
			return nil, nameOrEmail()
		}
		if err := checkExternalID(tx, tenantID, c.ExternalID); err != nil {
			return nil, err
		}
		id, at, err := place(tx, tenantID, "", now)
		if err != nil {
			return nil, err
		}
		when := stamp.Stored(at)
		c.ID, c.Created, c.Updated = id, stamp.Show(when), stamp.Show(when)
		follows = creation(tenantID, c, changes.cause())
		return also.plan(tx, []sqlite.Statement{insertion(tenantID, c, when)}, c, follows, now)
	})
	if err != nil {
		return nil, s.refused(err)
	}
	if err := also.gather(app, follows.event, now); err != nil {
		return nil, err
	}
	return c, s.announce(app, tenantID, nil, c)
}

func (u update) direct(app core.App, now time.Time) (after *Contact, changed bool, _ error) {
	var before *Contact
	var follows consequence
	_, err := sqlite.Write(app, func(tx sqlite.Reader) (statements []sqlite.Statement, err error) {
		if before, err = u.present(tx); err != nil {
			return nil, err
		}
		if after, statements, err = u.plan(tx, before, now); err != nil {
			return nil, err
		}
		follows = change(u.tenantID, before, after, u.changes.cause())
		return u.also.plan(tx, statements, after, follows, now)
	})
	if err != nil {
		return nil, false, u.schema.refused(err)
	}
	if after == before {
		return before, false, nil
	}
	if err := u.also.gather(app, follows.event, now); err != nil {
		return nil, false, err
	}
	return after, true, u.schema.announce(app, u.tenantID, before, after)
}

var assignments = eachField(func(f *Field) string { return "`" + f.Name + "` = ?, " })

// plan returns the contact as it will be, and the statements that make it so; before itself and none where nothing
// changes.
func (u update) plan(tx sqlite.Reader, before *Contact, now time.Time) (*Contact, []sqlite.Statement, error) {
	c := *before
	u.changes.applyTo(&c)
	if c.Name == "" && c.Email == "" {
		return nil, nil, nameOrEmail()
	}
	changed := c.differing(before)
	if len(changed) == 0 {
		return before, nil, nil
	}
	if c.ExternalID != before.ExternalID {
		if err := checkExternalID(tx, u.tenantID, c.ExternalID); err != nil {
			return nil, nil, err
		}
	}
	at, err := later(before, now)
	if err != nil {
		return nil, nil, err
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
	return &c, []sqlite.Statement{{
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
	for name, value := range map[string]string{"created": c.Created, "updated": c.Updated} {
		at, _ := types.ParseDateTime(value) // made here, so that it parses
		record.SetRaw(name, at)
	}
}
