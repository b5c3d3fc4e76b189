package contact

import (
	"errors"
	"fmt"

	"github.com/pocketbase/dbx"
	validation "github.com/pocketbase/ozzo-validation/v4"
	"github.com/pocketbase/pocketbase/core"
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
	record, err := s.record(tx, tenantID, id)
	if err != nil {
		return nil, false, err
	}
	before, err := OfRecord(tx, record)
	if err != nil {
		return nil, false, err
	}
	if matches != nil && !matches(before) {
		return nil, false, ErrPreconditionFailed
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
	taken, err := externalIDTaken(tx, record)
	if err != nil {
		return err
	}
	if taken {
		return FieldErrors{"externalId": {CodeDuplicateExternalID, "belongs to another contact already"}}
	}
	if err := tx.SaveNoValidate(record); err != nil {
		var faults validation.Errors
		if errors.As(err, &faults) && faults["externalId"] != nil {
			return FieldErrors{"externalId": {CodeDuplicateExternalID, "belongs to another contact already"}}
		}
		return fmt.Errorf("saving a contact: %w", err)
	}
	return nil
}

// externalIDTaken is asked inside the write transaction: nobody else can take the id between the answer and the write.
func externalIDTaken(tx core.App, record *core.Record) (bool, error) {
	externalID := record.GetString("externalId")
	if externalID == "" || externalID == record.Original().GetString("externalId") {
		return false, nil
	}
	var taken bool
	err := tx.DB().NewQuery(
		"SELECT EXISTS (SELECT 1 FROM {{contacts}} WHERE [[tenant]] = {:tenant} AND [[externalId]] = {:externalId} AND [[externalId]] != '' AND [[id]] != {:id})",
	).Bind(dbx.Params{"tenant": record.GetString("tenant"), "externalId": externalID, "id": record.Id}).Row(&taken)
	if err != nil {
		return false, fmt.Errorf("looking for the external id: %w", err)
	}
	return taken, nil
}
