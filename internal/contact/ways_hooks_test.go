package contact_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/pocketbase/pocketbase/core"
	"github.com/pocketbase/pocketbase/tools/hook"

	"contactbase/internal/contact"
)

// told is what a hook of PocketBase is told.
type told struct{ hook, what string }

// moments are the hooks in the life of a model, and of a record.
var moments = []string{"Validate",
	"Create", "CreateExecute", "AfterCreateSuccess", "AfterCreateError",
	"Update", "UpdateExecute", "AfterUpdateSuccess", "AfterUpdateError",
	"Delete", "DeleteExecute", "AfterDeleteSuccess", "AfterDeleteError",
}

// listen adds all hook calls about contacts to heard.
func (b *book) listen(heard *[]told) {
	for _, moment := range moments {
		for _, kind := range []string{"Model", "Record"} {
			b.bind(kind+moment, func(app core.App, event string, model core.Model) {
				*heard = append(*heard, told{kind + moment, b.describe(moment, app, event, model.(*core.Record))})
			})
		}
	}
}

// bind calls note for each call about contacts of the hook with this name, without its "On".
func (b *book) bind(name string, note func(app core.App, event string, model core.Model)) {
	b.TB.Helper()
	hooks := reflect.ValueOf(b.App).MethodByName("On" + name).Call([]reflect.Value{reflect.ValueOf(contact.CollectionName)})
	switch hooks := hooks[0].Interface().(type) {
	case *hook.TaggedHook[*core.ModelEvent]:
		hooks.BindFunc(func(e *core.ModelEvent) error { note(e.App, e.Type, e.Model); return e.Next() })
	case *hook.TaggedHook[*core.ModelErrorEvent]:
		hooks.BindFunc(func(e *core.ModelErrorEvent) error { note(e.App, e.Type, e.Model); return e.Next() })
	case *hook.TaggedHook[*core.RecordEvent]:
		hooks.BindFunc(func(e *core.RecordEvent) error { note(e.App, e.Type, e.Record); return e.Next() })
	case *hook.TaggedHook[*core.RecordErrorEvent]:
		hooks.BindFunc(func(e *core.RecordErrorEvent) error { note(e.App, e.Type, e.Record); return e.Next() })
	default:
		b.TB.Fatalf("On%s is a %T", name, hooks)
	}
}

// describe returns what is told at the moment, without what differs from run to run.
func (b *book) describe(moment string, app core.App, event string, record *core.Record) string {
	if strings.HasSuffix(moment, "Success") && app.IsTransactional() {
		b.TB.Errorf("%s is told before the commit", moment)
	}
	now := "not checked yet"
	if strings.Contains(moment, "Execute") || strings.Contains(moment, "After") {
		now = fieldsOf(b.TB, record)
	}
	return fmt.Sprintf("%s new=%t saved=%t %s, was %s",
		event, record.IsNew(), record.LastSavedPK() == record.Id, now, fieldsOf(b.TB, record.Original()))
}

// fieldsOf returns the fields of a record, without what differs from run to run.
func fieldsOf(t testing.TB, record *core.Record) string {
	t.Helper()
	fields := record.FieldsData()
	for _, name := range []string{"id", "tenant", "created", "updated"} {
		fields[name] = record.GetString(name) != ""
	}
	encoded, err := json.Marshal(fields)
	if err != nil {
		t.Fatal(err)
	}
	return string(encoded)
}
