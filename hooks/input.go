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

// bodyOf returns the values of a request as they were sent. PocketBase has already read those of RequestInfo.
func bodyOf(e *core.RecordRequestEvent) (map[string]any, error) {
	sent := map[string]any{}
	if err := e.BindBody(&sent); err != nil {
		return nil, e.BadRequestError(
			"The request body could not be read. Check that it is valid JSON, or a valid form.", err)
	}
	return sent, nil
}

func refuseUnreadable(e *core.RecordRequestEvent) error {
	sent, err := bodyOf(e)
	if err != nil {
		return err
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
