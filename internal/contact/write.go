package contact

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	validation "github.com/pocketbase/ozzo-validation/v4"
	"github.com/pocketbase/pocketbase/core"
	"github.com/pocketbase/pocketbase/core/validators"
	"github.com/pocketbase/pocketbase/tools/dbutils"

	"contactbase/internal/event"
	"contactbase/internal/fault"
	"contactbase/internal/relation"
	"contactbase/internal/sqlite"
)

// ErrPreconditionFailed means that the contact is not as the caller expects: it has changed since they read it, or whether there
// is one is not as they think.
var ErrPreconditionFailed = fault.New(fault.PreconditionFailed, "The contact is not as the request expects it to be; read it again.")

// Also is what happens in the transaction of a write besides it. Both functions may be nil, and may be called twice, as a
// plan may: see sqlite.Write.
type Also struct {
	Check func(tx sqlite.Reader) error                                   // comes first; its error ends the transaction, with nothing written
	Write func(tx sqlite.Reader, c *Contact) ([]sqlite.Statement, error) // comes last, with the contact as it is written

	events *event.Batch // gets the event instead of the transaction
}

func (a Also) check(tx sqlite.Reader) error {
	if a.Check == nil {
		return nil
	}
	return a.Check(tx)
}

// then returns a with an error that comes after its check, nil for none.
func (a Also) then(wrong error) Also {
	if wrong == nil {
		return a
	}
	before := a
	check := func(tx sqlite.Reader) error {
		if err := before.check(tx); err != nil {
			return err
		}
		return wrong
	}
	a.Check = check
	return a
}

// plan returns the statements of a whole write, of which own write the contact itself. Where there is a batch of events, that
// gets the event from gather once they are run.
func (a Also) plan(tx sqlite.Reader, own []sqlite.Statement, c *Contact, follows consequence, now time.Time) ([]sqlite.Statement, error) {
	statements := slices.Concat(own, follows.search)
	if follows.event != nil && a.events == nil {
		write, err := event.Plan(tx, follows.event, now)
		if err != nil {
			return nil, err
		}
		statements = append(statements, write)
	}
	besides, err := a.write(tx, c)
	return append(statements, besides...), err
}

func (a Also) gather(app core.App, e *event.Event, now time.Time) error {
	if a.events == nil {
		return nil
	}
	return a.events.Add(sqlite.ReaderOf(app), e, now)
}

func (a Also) write(tx sqlite.Reader, c *Contact) ([]sqlite.Statement, error) {
	if a.Write == nil {
		return nil, nil
	}
	return a.Write(tx, c)
}

// Create saves a new contact of the tenant, in the caller's transaction where there is one.
// The error is a fault.Fields when the changes are at wrong, and ErrNoTenant where the tenant was deleted.
func Create(app core.App, tenantID string, changes Changes) (*Contact, error) {
	return CreateAlso(app, tenantID, changes, Also{})
}

// CreateAlso is Create with something else in its transaction.
func CreateAlso(app core.App, tenantID string, changes Changes, also Also) (c *Contact, err error) {
	err = withSchema(app, func(s *schema) error {
		c, err = s.create(app, tenantID, changes, also.then(s.known(changes)))
		return err
	})
	return c, err
}

func (s *schema) create(app core.App, tenantID string, changes Changes, also Also) (c *Contact, err error) {
	if s.shipped {
		return s.insert(app, tenantID, changes, also)
	}
	err = sqlite.Transact(app, func(tx core.App) error {
		if err := also.check(sqlite.ReaderOf(tx)); err != nil {
			return err
		}
		c, err = s.createRecord(tx, tenantID, changes, also)
		return err
	})
	return c, err
}

// createRecord creates a contact by its record, as PocketBase does.
func (s *schema) createRecord(tx core.App, tenantID string, changes Changes, also Also) (*Contact, error) {
	record := core.NewRecord(s.collection)
	record.Set("tenant", tenantID)
	record.SetRaw(generatedID, true)
	if err := s.save(tx, record, changes); err != nil {
		return nil, err
	}
	c := OfRecord(record)
	statements, err := also.write(sqlite.ReaderOf(tx), c)
	return c, run(tx, c.ID, statements, err)
}

// Update changes a contact of the tenant, in the caller's transaction where there is one, and tells whether anything
// changed. matches, where given, decides by the present contact whether the change may go on (ErrPreconditionFailed).
func Update(app core.App, tenantID, id string, changes Changes, matches func(*Contact) bool) (_ *Contact, changed bool, _ error) {
	return UpdateAlso(app, tenantID, id, changes, matches, Also{})
}

// UpdateAlso is Update with something else in its transaction.
func UpdateAlso(app core.App, tenantID, id string, changes Changes, matches func(*Contact) bool, also Also) (_ *Contact, changed bool, _ error) {
	w, err := update{tenantID: tenantID, id: id, changes: changes, matches: matches, also: also}.run(app)
	return w.after, w.after != w.before, err
}

// UpsertAlso changes the contact of the tenant that has the external id of the changes, and creates it where there is none,
// with something else in its transaction. matches, where given, decides by the present contact, nil for none, whether that may
// go on (ErrPreconditionFailed).
func UpsertAlso(app core.App, tenantID string, changes Changes, matches func(*Contact) bool, also Also) (_ *Contact, created bool, _ error) {
	externalID, _ := changes[externalIDField].(string)
	w, err := update{tenantID: tenantID, externalID: externalID, changes: changes, matches: matches, also: also}.run(app)
	return w.after, w.before == nil, err
}

// update is a change of one contact. Where it has an external id, that finds the contact, and there need be none.
type update struct {
	schema     *schema
	tenantID   string
	id         string
	externalID string
	changes    Changes
	matches    func(*Contact) bool
	also       Also
}

func (u update) run(app core.App) (w written, err error) {
	err = withSchema(app, func(s *schema) error {
		u := u
		u.schema, u.also = s, u.also.then(s.known(u.changes))
		if s.shipped {
			w, err = u.direct(app)
			return err
		}
		return sqlite.Transact(app, func(tx core.App) error {
			w, err = u.record(tx)
			return err
		})
	})
	if err != nil {
		return written{}, err
	}
	return w, nil
}

// present returns the contact as it is, nil where there need be none, once all that was asked has been checked.
func (u update) present(tx sqlite.Reader) (before *Contact, err error) {
	if err := u.also.check(tx); err != nil {
		return nil, err
	}
	if u.externalID == "" {
		before, err = u.schema.find(tx, u.tenantID, u.id)
	} else if before, err = u.schema.findByExternalID(tx, u.tenantID, u.externalID); errors.Is(err, ErrNotFound) {
		before, err = nil, nil
	}
	if err != nil {
		return nil, err
	}
	if u.matches != nil && !u.matches(before) {
		return nil, ErrPreconditionFailed
	}
	return before, nil
}

// record changes the contact by its record, as PocketBase does.
func (u update) record(tx core.App) (w written, err error) {
	s := u.schema
	if w.before, err = u.present(sqlite.ReaderOf(tx)); err != nil {
		return w, err
	}
	if w.before == nil {
		w.after, err = s.createRecord(tx, u.tenantID, u.changes, u.also)
		return w, err
	}
	record, err := findRecord(tx, s.collection, u.tenantID, w.before.ID)
	if err != nil {
		return w, err
	}
	if err := s.apply(tx, record, u.changes); err != nil {
		return w, err
	}
	if w.after = OfRecord(record); len(w.after.Previous(w.before)) == 0 {
		w.after = w.before
	} else {
		if err := s.save(tx, record, nil); err != nil {
			return w, err
		}
		w.after = OfRecord(record)
	}
	statements, err := u.also.write(sqlite.ReaderOf(tx), w.after)
	return w, run(tx, w.after.ID, statements, err)
}

// Delete deletes a contact of the tenant in the caller's transaction. cause is the event of another installation that
// the deletion passes on, "" where it begins here. The error is a fault with the code InUse where a relation of the
// admin's forbids it.
func Delete(tx core.App, tenantID, id, cause string) error {
	var record *core.Record
	err := withSchema(tx, func(s *schema) (err error) {
		record, err = findRecord(tx, s.collection, tenantID, id)
		return err
	})
	if err != nil {
		return err
	}
	record.SetRaw(causeField, cause)
	if err := relation.Refusal(tx.Delete(record)); err != nil {
		return fmt.Errorf("deleting the contact %s: %w", id, err)
	}
	return nil
}

// save applies the changes and writes the record. The fields are checked already, so that PocketBase's own
// validation, which would look up the tenant again, is left out.
func (s *schema) save(tx core.App, record *core.Record, changes Changes) error {
	if err := s.apply(tx, record, changes); err != nil {
		return err
	}
	if externalID := record.GetString("externalId"); externalID != record.Original().GetString("externalId") {
		if err := checkExternalID(sqlite.ReaderOf(tx), record.GetString("tenant"), externalID); err != nil {
			return err
		}
	}
	if err := tx.SaveNoValidate(record); err != nil {
		return s.refused(err)
	}
	return nil
}

// refused turns the verdict of a unique index, which an admin may have added, into a fault.Fields.
func (s *schema) refused(err error) error {
	names := s.notUnique(err)
	if len(names) == 0 {
		return fmt.Errorf("saving a contact: %w", err)
	}
	fields := fault.Fields{}
	for _, name := range names {
		if name == externalIDField {
			return errExternalIDTaken
		}
		fields[name] = fault.Field{Code: CodeInvalidType, Message: "belongs to another contact already"}
	}
	return fields
}

// notUnique returns the fields that a unique index refuses, without the tenant, which stands in the index beside what the caller sent.
func (s *schema) notUnique(err error) (names []string) {
	var faults validation.Errors
	errors.As(validators.NormalizeUniqueIndexError(err, CollectionName, s.collection.Fields.FieldNames()), &faults)
	for _, name := range s.collection.Fields.FieldNames() {
		if _, found := faults[name]; name != "tenant" && (found || s.hasExpression(err, name)) {
			names = append(names, name)
		}
	}
	return names
}

// hasExpression tells whether the error names an index of expressions, one of which has the field. SQLite does not say which.
func (s *schema) hasExpression(err error, name string) bool {
	word := regexp.MustCompile(`\b` + regexp.QuoteMeta(name) + `\b`)
	for _, definition := range s.collection.Indexes {
		index := dbutils.ParseIndex(definition)
		if strings.Contains(err.Error(), "UNIQUE constraint failed: index '"+index.IndexName+"'") {
			return slices.ContainsFunc(index.Columns, func(c dbutils.IndexColumn) bool { return word.MatchString(c.Name) })
		}
	}
	return false
}

var errExternalIDTaken = fault.Fields{externalIDField: {Code: CodeDuplicateExternalID, Message: "belongs to another contact already"}}

// externalIDField is the field by which callers know their contacts.
const externalIDField = "externalId"

const externalIDTakenSQL = "SELECT 1 FROM `contacts` WHERE `tenant` = ? AND `externalId` = ? AND `externalId` != ''"

// checkExternalID is called inside the write transaction, for an id that the contact does not have yet: nobody else can
// take it between the check and the write. The error is a fault.Fields where another contact has it.
func checkExternalID(tx sqlite.Reader, tenantID, externalID string) error {
	if externalID == "" {
		return nil
	}
	rows, err := tx.Query(externalIDTakenSQL, tenantID, externalID)
	if err != nil {
		return fmt.Errorf("looking for the external id: %w", err)
	}
	defer rows.Close()
	if rows.Next() {
		return errExternalIDTaken
	}
	if err := rows.Err(); err != nil {
		return fmt.Errorf("looking for the external id: %w", err)
	}
	return nil
}
