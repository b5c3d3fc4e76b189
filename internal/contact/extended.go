package contact

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"time"

	validation "github.com/pocketbase/ozzo-validation/v4"
	"github.com/pocketbase/pocketbase/core"
	"github.com/pocketbase/pocketbase/tools/router"

	"contactbase/internal/contact/custom"
	"contactbase/internal/extension"
	"contactbase/internal/fault"
	"contactbase/internal/sqlite"
	"contactbase/internal/tenant"
)

// An extension may bind hooks before writes of contacts. Then each change of a plan is saved as a record, in a part of
// the transaction of its own: the hooks see it, may change it, and an error of theirs undoes it. Items are planned one
// by one, because the hooks may have changed what an earlier item has made.

// writeRecords is write with hooks of extensions.
func (w *writer) writeRecords(tx transaction) error {
	w.results, w.done, w.written = make([]Result, len(w.items)), 0, nil
	for i := range w.items {
		p := w.base.with(tx.db)
		result, err := p.next(i, &w.items[i])
		if err == nil && len(p.changes) > 0 {
			result, err = p.saveRecords(tx.app, w.hooks, result)
		}
		if err != nil {
			return fmt.Errorf("writing item %d: %w", i, err)
		}
		w.results[i], w.done = result, i+1
		if w.due() {
			break
		}
	}
	added, err := w.finish(w.results[:w.done])
	if err != nil {
		return err
	}
	_, err = tx.db.Run(added)
	return err
}

// saveRecords saves the changes of an item, and returns its result, given the planned one. If a hook refuses one of
// them, the item fails, and none is written.
func (p *plan) saveRecords(tx core.App, hooks []string, result Result) (Result, error) {
	defer extension.Hold(tx, hooks)()
	last := p.changes[len(p.changes)-1]
	err := sqlite.Savepoint(tx, func() (err error) {
		defer recoverHook(&err)
		for _, c := range p.changes {
			if c.after == nil {
				err = deleteRecord(tx, p.tenantID, c.before.ID, c.mergedInto)
			} else {
				err = p.saveRecord(tx, c)
			}
			if err != nil {
				return err
			}
		}
		if last.after != nil {
			result, err = p.written(tx, last)
		}
		return err
	})
	if err == nil {
		return result, nil
	}
	refused, err := hookFault(tx, hooks, err)
	if err != nil {
		return Result{}, err
	}
	return failed(refused), nil
}

// ownerField is where a record that a plan saves keeps its tenant and its id, which hooks must not change.
const ownerField = "@owner"

// beforeField is where such a record keeps what was stored before relations of it moved.
const beforeField = "@before"

// errMoved means that a hook has changed the tenant or the id of a contact.
var errMoved = errors.New("a hook must not change the tenant or the id of a contact")

// saveRecord saves a change of a contact that remains through its record.
func (p *plan) saveRecord(tx core.App, c *change) error {
	record := c.record
	if record == nil {
		var err error
		if record, err = p.recordOf(p.tenantID, c.before); err != nil {
			return err
		}
	}
	if c.before == nil {
		p.fill(record, p.tenantID, c.after)
	} else {
		record.MarkAsNotNew()
		if c.moved {
			before, err := p.recordOf(p.tenantID, c.before)
			if err != nil {
				return err
			}
			record.SetRaw(beforeField, before)
		}
		for _, i := range c.fields {
			record.Set(Fields[i].Name, *Fields[i].of(c.after))
		}
	}
	return saveOwned(tx, record, p.tenantID, c.after.ID)
}

// saveOwned saves a record. It returns errMoved if a hook has changed the tenant or the id.
func saveOwned(tx core.App, record *core.Record, tenantID, id string) error {
	record.SetRaw(ownerField, ownerOf(tenantID, id))
	err := tx.Save(record)
	if checkOwner(record) != nil { // also if the rules have refused it
		err = errors.Join(errMoved, err)
	}
	return err
}

// saveMoved saves a record of any collection whose relations a merge has changed. The error of a hook is a fault; one
// of validation stays as it is.
func saveMoved(tx core.App, record *core.Record) error {
	hooks := extension.Places(tx, record.Collection())
	if len(hooks) == 0 {
		return tx.Save(record)
	}
	defer extension.Hold(tx, hooks)()
	err := func() (err error) {
		defer recoverHook(&err)
		if record.Collection().Name == CollectionName {
			return saveOwned(tx, record, record.GetString("tenant"), record.Id)
		}
		return tx.Save(record)
	}()
	if err == nil {
		return nil
	}
	refused, err := hookFault(tx, hooks, err)
	switch {
	case err != nil:
		return err
	case refused.Code != fault.ValidationFailed:
		return refused
	}
	invalid := validation.Errors{}
	for name, wrong := range refused.Fields {
		invalid[name] = errors.New(wrong.Message)
	}
	return invalid
}

// writeWhole runs all that writes a contact's record in one transaction, if extensions have hooks before writes: then
// whatever one of them throws undoes the write.
func writeWhole(e *core.ModelEvent) error {
	record, isRecord := e.Model.(*core.Record)
	if !isRecord {
		return e.Next()
	}
	hooks := extension.Places(e.App, record.Collection())
	if len(hooks) == 0 {
		return e.Next()
	}
	return sqlite.TransactModel(e, record.GetString("tenant"), func(tx core.App) error {
		defer extension.Hold(tx, hooks)()
		return e.Next()
	})
}

func ownerOf(tenantID, id string) string { return tenantID + "/" + id }

// checkOwner returns an error if a hook has changed the tenant or the id of a record that a plan saves.
func checkOwner(record *core.Record) error {
	owner, isPlanned := record.GetRaw(ownerField).(string)
	if isPlanned && owner != ownerOf(record.GetString("tenant"), record.Id) {
		return errMoved
	}
	return nil
}

// written returns the result of a change whose record was saved.
func (p *plan) written(tx core.App, c *change) (Result, error) {
	f := finder{schema: p.schema, tx: sqlite.ReaderOf(tx), tenantID: p.tenantID}
	stored, err := f.read(Key{ID, c.after.ID}, "")
	if err != nil {
		return Result{}, err
	}
	switch {
	case stored == nil:
		return Result{}, errors.New("a hook has deleted the contact that is written")
	case c.before == nil:
		return Result{Status: Created, Contact: stored}, nil
	case stored.Updated == c.before.Updated:
		return Result{Status: Unchanged, Contact: stored}, nil
	default:
		return Result{Status: Updated, Contact: stored}, nil
	}
}

// recoverHook turns a panic of a hook into an error that names the place.
func recoverHook(err *error) {
	cause := recover()
	if cause == nil {
		return
	}
	failure := &extension.Failure{File: "unknown", Err: fmt.Errorf("panic: %v", cause)}
	callers := make([]uintptr, 32)
	frames := runtime.CallersFrames(callers[:runtime.Callers(3, callers)])
	for {
		frame, more := frames.Next()
		if !strings.HasPrefix(frame.Function, "runtime.") {
			failure.File, failure.Line = frame.File, frame.Line
			break
		}
		if !more {
			break
		}
	}
	*err = failure
}

// hookFault returns why an item fails, given the error of writing its record with hooks. It returns another error if
// the whole transaction fails.
func hookFault(app core.App, hooks []string, err error) (*fault.Error, error) {
	var known *fault.Error
	var invalid validation.Errors
	var single validation.Error
	var routed *router.ApiError
	switch isMoved := errors.Is(err, errMoved); {
	case errors.Is(err, ErrNoTenant) || tenant.IsMoving(err) || sqlite.IsUnavailable(err):
		return nil, err
	case !isMoved && errors.As(err, &known):
		return known, nil
	case !isMoved && errors.As(err, &invalid):
		return fault.InvalidContact(fieldsOf(invalid)), nil
	case !isMoved && errors.As(err, &single): // of no field
		return fault.InvalidContact(fieldsOf(validation.Errors{"contact": single})), nil
	case !isMoved && errors.As(err, &routed) && len(routed.Data) > 0:
		return fault.InvalidContact(fieldsOfData(routed.Data)), nil
	case !isMoved && errors.As(err, &routed) && routed.Status >= 400 && routed.Status < 500:
		return &fault.Error{Code: fault.Rejected, Status: routed.Status, Message: routed.Message}, nil
	}
	failure := &extension.Failure{File: strings.Join(hooks, ", "), Err: err}
	if errors.As(err, &failure); !failure.Logged {
		failure.Locate(err.Error())
		app.Logger().Error("a hook failed", "hook", failure.Place(), "error", err)
	}
	return &fault.Error{Code: fault.Internal, Message: "An extension of this installation failed. " +
		"Its operator finds the cause in the log.", Cause: err}, nil
}

// fieldsOf returns the errors of a record as those of a contact.
func fieldsOf(invalid validation.Errors) fault.Fields {
	fields := fault.Fields{}
	for name, wrong := range invalid {
		var coded validation.Error
		if errors.As(wrong, &coded) && coded.Code() == "validation_not_unique" {
			fields[name] = takenBy([]string{name})[name]
			continue
		}
		fields[name] = custom.Fault(wrong)
	}
	return fields
}

// fieldsOfData returns the errors in the data of PocketBase's error for clients.
func fieldsOfData(data map[string]any) fault.Fields {
	fields := fault.Fields{}
	for name, value := range data {
		message := ""
		switch v := value.(type) {
		case map[string]string:
			message = v["message"]
		case map[string]any:
			message, _ = v["message"].(string)
		}
		fields[name] = custom.Fault(errors.New(message))
	}
	return fields
}

// errPreviewed rolls a preview back.
var errPreviewed = errors.New("the preview has ended")

// previewRecords calls do in a transaction that is rolled back, and returns its error.
func previewRecords(ctx context.Context, app core.App, tenantID string, do func(tx core.App) error) error {
	var failure error
	err := extension.Preview(app, func(begin func(tx core.App)) error {
		return sqlite.Transact(ctx, app, tenantID, false, func(tx core.App) error {
			begin(tx)
			failure = do(tx)
			return errPreviewed
		})
	})
	if failure != nil || errors.Is(err, errPreviewed) {
		return failure
	}
	return err
}

// try returns the result of a planned change when hooks have seen it, given the planned one. The plan then knows what
// they would make of it.
func (d *DryRun) try(ctx context.Context, c *change, planned Result) (result Result, err error) {
	p := d.plan
	err = previewRecords(ctx, d.app, p.tenantID, func(tx core.App) error {
		if err := p.prepare(tx, c.before); err != nil {
			return err
		}
		one := *p
		one.changes = []*change{c}
		result, err = one.saveRecords(tx, d.hooks, planned)
		return err
	})
	switch {
	case err != nil:
		return Result{}, err
	case result.Wrong == nil:
		p.made.put(c.after, result.Contact)
	case c.before == nil:
		p.made.delete(c.after)
	default:
		p.made.put(c.after, c.before)
	}
	return result, nil
}

// prepare writes a contact as earlier items of a dry run would have left it.
func (p *plan) prepare(tx core.App, c *Contact) error {
	if c == nil || !p.made.has(c.ID) {
		return nil
	}
	f := finder{schema: p.schema, tx: sqlite.ReaderOf(tx), tenantID: p.tenantID}
	stored, err := f.read(Key{ID, c.ID}, "")
	if err != nil {
		return err
	}
	record, err := p.recordOf(p.tenantID, c)
	if err != nil {
		return err
	}
	earlier := &change{before: stored, after: c, record: record, sets: Changes{}, now: time.Now()}
	if stored != nil {
		earlier.fields = c.differing(stored)
		for _, field := range p.adminFields {
			earlier.sets[field.GetName()] = record.GetRaw(field.GetName())
		}
	}
	_, _, err = p.save(sqlite.TxOf(tx), []*change{earlier})
	return err
}
