package script

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/dop251/goja"
	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/event"
)

// bindEvents sets $contactbase, whose functions throw errors that scripts can catch.
func (f *file) bindEvents(vm *goja.Runtime) {
	object := vm.NewObject()
	functions := map[string]func(goja.FunctionCall) error{"declareEvent": f.declareEvent, "emitEvent": emitEvent}
	for name, do := range functions {
		_ = object.Set(name, func(call goja.FunctionCall) goja.Value { // it is a plain object
			if err := do(call); err != nil {
				panic(vm.NewGoError(err))
			}
			return goja.Undefined()
		})
	}
	_ = vm.Set("$contactbase", object)
}

func (f *file) declareEvent(call goja.FunctionCall) error {
	return event.Declare(f.app, text(call.Argument(0)), text(call.Argument(1)))
}

// emitEvent emits an event from the arguments app, tenantId, kind, data and options.
func emitEvent(call goja.FunctionCall) error {
	app, ok := call.Argument(0).Export().(core.App)
	if !ok {
		return errors.New("the first argument must be the app: pass e.app, or $app outside of hooks")
	}
	e := &event.Event{TenantID: text(call.Argument(1)), Kind: event.Kind(text(call.Argument(2)))}
	e.Data = call.Argument(3).Export()
	if object, ok := call.Argument(3).(*goja.Object); ok {
		encoded, err := object.MarshalJSON() // as JSON.stringify does, also for dates and records
		if err != nil {
			return fmt.Errorf("the data of the event %s must be a JSON object: %w", e.Kind, err)
		}
		e.Data = json.RawMessage(encoded)
	}
	var err error
	if e.Contact, err = contactIn(call.Argument(4)); err != nil {
		return err
	}
	return event.Emit(app, e)
}

// contactIn returns the contact that the options name, "" for none. A mistyped option would keep the data of a deleted
// contact.
func contactIn(options goja.Value) (contact string, err error) {
	if goja.IsUndefined(options) || goja.IsNull(options) {
		return "", nil
	}
	invalid := errors.New(`the options must be { contact: "ID of a contact" }, or be left out`)
	object, ok := options.(*goja.Object)
	if !ok {
		return "", invalid
	}
	for _, name := range object.Keys() {
		value := object.Get(name)
		if contact = text(value); name != "contact" ||
			contact == "" && value.String() != "" && !goja.IsUndefined(value) && !goja.IsNull(value) {
			return "", invalid
		}
	}
	return contact, nil
}

// text returns a text, "" for anything else.
func text(value goja.Value) string {
	s, _ := value.Export().(string)
	return s
}
