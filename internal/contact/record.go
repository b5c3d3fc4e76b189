package contact

import (
	"bytes"
	"encoding/json"

	validation "github.com/pocketbase/ozzo-validation/v4"
	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/contact/custom"
)

// normalizeRecord applies the rules of the Fields to a record that the dashboard or the records API writes. The error
// is a validation.Errors, as PocketBase shows them.
func normalizeRecord(record *core.Record) error {
	faults := validation.Errors{}
	for _, field := range Fields {
		text, wrong := field.normalize(record.GetString(field.Name), field.Limit)
		if wrong != nil {
			faults[field.Name] = validation.NewError("validation_"+wrong.Code, field.Name+" "+wrong.Message+".")
			continue
		}
		record.Set(field.Name, text)
	}
	if len(faults) == 0 && record.GetString("name") == "" && record.GetString("email") == "" {
		required := validation.NewError("validation_required", "A name or an email must be present.")
		faults["name"], faults["email"] = required, required
	}
	if len(faults) > 0 {
		return faults
	}
	return nil
}

// holdsSame reports whether the record equals what is stored, except for the time of the change, and also in the
// fields that the API does not show. A record with an automatic date that every save renews never does.
func holdsSame(app core.App, record, stored *core.Record) (bool, error) {
	now, err := record.DBExport(app)
	if err != nil {
		return false, err
	}
	before, err := stored.DBExport(app)
	if err != nil {
		return false, err
	}
	delete(now, "updated")
	delete(before, "updated")
	encodedNow, err := json.Marshal(now)
	if err != nil {
		return false, err
	}
	encodedBefore, err := json.Marshal(before)
	return bytes.Equal(encodedNow, encodedBefore), err
}

// checkRecord returns the errors in the admin's fields of a record, beyond what PocketBase itself finds.
func checkRecord(app core.App, record *core.Record) (validation.Errors, error) {
	faults := validation.Errors{}
	for _, field := range record.Collection().Fields {
		name := field.GetName()
		if !isCustom(field) {
			continue
		}
		wrong, err := custom.CheckOwner(app, record, field)
		if err != nil {
			return nil, err
		}
		if wrong == nil {
			wrong = custom.CheckDepth(record, name)
		}
		if wrong != nil {
			faults[name] = wrong
		}
	}
	return faults, nil
}
