package hooks

import (
	validation "github.com/pocketbase/ozzo-validation/v4"
	"github.com/pocketbase/pocketbase/core"
	"github.com/pocketbase/pocketbase/tools/types"
	"github.com/spf13/cast"
)

// bindInput refuses values that PocketBase would replace by none: an unreadable `revoked` would leave a key in use.
func bindInput(app core.App) {
	app.OnRecordCreateRequest(administered...).BindFunc(refuseUnreadable)
	app.OnRecordUpdateRequest(administered...).BindFunc(refuseUnreadable)
}

// unreadable returns the error of a body that BindBody cannot read.
func unreadable(e *core.RecordRequestEvent, cause error) error {
	return e.BadRequestError("The request body could not be read. Check that it is valid JSON, or a valid form.", cause)
}

func refuseUnreadable(e *core.RecordRequestEvent) error {
	sent := map[string]any{}
	if err := e.BindBody(&sent); err != nil { // unlike RequestInfo, whose values PocketBase has read already
		return unreadable(e, err)
	}
	faults := validation.Errors{}
	for _, field := range e.Collection.Fields {
		if value := sent[field.GetName()]; value != nil && value != "" && !isReadable(field, value) {
			faults[field.GetName()] = validation.NewError("validation_invalid_value", "Must be "+rules[field.Type()]+".")
		}
	}
	if len(faults) > 0 {
		return e.BadRequestError("The record is invalid.", faults)
	}
	return e.Next()
}

// rules complete "Must be" for each type of field whose values isReadable checks.
var rules = map[string]string{
	core.FieldTypeDate:   "a date and time such as 2027-01-31T12:00:00Z",
	core.FieldTypeBool:   "true or false",
	core.FieldTypeNumber: "a number",
}

// isReadable reports whether PocketBase can read the value of a field.
func isReadable(field core.Field, value any) bool {
	var err error
	switch field.Type() {
	case core.FieldTypeDate:
		date, wrong := types.ParseDateTime(value)
		return wrong == nil && !date.IsZero()
	case core.FieldTypeBool:
		_, err = cast.ToBoolE(value)
	case core.FieldTypeNumber:
		_, err = cast.ToFloat64E(value)
	}
	return err == nil
}
