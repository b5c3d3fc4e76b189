package contact

import (
	"errors"
	"fmt"
	"time"

	validation "github.com/pocketbase/ozzo-validation/v4"
	"github.com/pocketbase/pocketbase/core"
	"github.com/pocketbase/pocketbase/core/validators"

	"contactbase/internal/sqlite"
)

// ErrPreconditionFailed means that the contact has changed since the caller read it.
var ErrPreconditionFailed = errors.New("the contact has changed since it was read")

// Create saves a new contact of the tenant in the caller's transaction.
// The error is a FieldErrors when the changes are at fault.
func Create(tx core.App, tenantID string, changes Changes) (*Contact, error) {
	s, err := schemaOf(tx)
	if err != nil {
		return nil, err
	}
	if s.shipped {
		return s.insert(tx, tenantID, changes, time.Now())
	}
	record := core.NewRecord(s.collection)
	record.Set("tenant", tenantID)
	record.SetRaw(generatedID, true)
	if err := s.save(tx, record, changes); err != nil {
		return nil, err
	}
	return OfRecord(tx, record)
}

// Update changes a contact of the tenant in the caller's transaction and tells whether anything changed.
// matches, where given, decides by the present contact whether the change may go on (ErrPreconditionFailed).
func Update(tx core.App, tenantID, id string, changes Changes, matches func(*Contact) bool) (_ *Contact, changed bool, _ error) {
	s, err := schemaOf(tx)
	if err != nil {
		return nil, false, err
	}
	before, err := s.find(tx, tenantID, id)
	if err != nil {
		return nil, false, err
	}
	if matches != nil && !matches(before) {
		return nil, false, ErrPreconditionFailed
	}
	if s.shipped {
		return s.update(tx, tenantID, before, changes, time.Now())
	}
	record, err := s.record(tx, tenantID, id)
	if err != nil {
		return nil, false, err
	}
	if err := s.apply(tx, record, changes); err != nil {
		return nil, false, err
	}
	after, err := OfRecord(tx, record)
	if err != nil {
		return nil, false, err
	}
	if len(after.Previous(before)) == 0 {
		return before, false, nil
	}
	if err := s.save(tx, record, nil); err != nil {
		return nil, false, err
	}
	after, err = OfRecord(tx, record)
	return after, true, err
}

// Delete deletes a contact of the tenant in the caller's transaction. cause is the event of another installation that
// the deletion passes on, "" where it begins here.
func Delete(tx core.App, tenantID, id, cause string) error {
	s, err := schemaOf(tx)
	if err != nil {
		return err
	}
	record, err := s.record(tx, tenantID, id)
	if err != nil {
		return err
	}
	record.SetRaw(causeField, cause)
	if err := tx.Delete(record); err != nil {
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
		if err := checkExternalID(tx, record.GetString("tenant"), externalID); err != nil {
			return err
		}
	}
	if err := tx.SaveNoValidate(record); err != nil {
		return s.refused(err)
	}
	return nil
}

// refused turns the verdict of a unique index, which an admin may have added, into a FieldErrors.
func (s *schema) refused(err error) error {
	err = validators.NormalizeUniqueIndexError(err, CollectionName, s.collection.Fields.FieldNames())
	var faults validation.Errors
	if !errors.As(err, &faults) {
		return fmt.Errorf("saving a contact: %w", err)
	}
	fields := FieldErrors{}
	for name := range faults {
		if name == "externalId" {
			return errExternalIDTaken
		}
		if name != "tenant" { // stands in the index beside what the caller sent
			fields[name] = FieldError{CodeInvalidType, "belongs to another contact already"}
		}
	}
	return fields
}

var errExternalIDTaken = FieldErrors{"externalId": {CodeDuplicateExternalID, "belongs to another contact already"}}

const externalIDTakenSQL = "SELECT 1 FROM `contacts` WHERE `tenant` = ? AND `externalId` = ? AND `externalId` != ''"

// checkExternalID is called inside the write transaction, for an id that the contact does not have yet: nobody else can
// take it between the check and the write. The error is a FieldErrors where another contact has it.
func checkExternalID(tx core.App, tenantID, externalID string) error {
	if externalID == "" {
		return nil
	}
	rows, err := sqlite.Direct(tx.NonconcurrentDB()).Query(externalIDTakenSQL, tenantID, externalID)
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
