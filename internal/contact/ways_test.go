package contact_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/pocketbase/dbx"
	validation "github.com/pocketbase/ozzo-validation/v4"
	"github.com/pocketbase/pocketbase/core"
	"github.com/pocketbase/pocketbase/core/validators"
	"github.com/pocketbase/pocketbase/tools/hook"

	"contactbase/internal/contact"
	"contactbase/internal/fault"
	"contactbase/internal/testkit"
)

// However a contact is written, the same comes of it: rows, events, deliveries, and what hooks are told. One script runs
// through the records, as in the dashboard, through the functions that the API calls, and through a batch; with the
// shipped fields, where those write by statements of their own, and with an admin's fields, where they save the record.
func TestAllWaysOfWritingDoTheSame(t *testing.T) {
	t.Parallel()
	for _, own := range []bool{false, true} {
		t.Run(map[bool]string{false: "shipped fields", true: "an admin's fields"}[own], func(t *testing.T) {
			t.Parallel()
			want := runScript(t, own, func(b *book) writer { return records{b} })
			for name, way := range map[string]func(b *book) writer{
				"functions": func(b *book) writer { return functions{b} },
				"a batch":   func(b *book) writer { return batches{functions{b}} },
			} {
				t.Run(name, func(t *testing.T) {
					t.Parallel()
					got := runScript(t, own, way)
					for i, step := range script(own) {
						expected := want[i]
						expected.hooks = slices.DeleteFunc(slices.Clone(expected.hooks), func(h told) bool { return !step.tells(own, h.hook) })
						if got, want := got[i].lines(), expected.lines(); !slices.Equal(got, want) {
							t.Errorf("%s:\n%s\nbut through the record:\n%s", step.name, without(got, want), without(want, got))
						}
					}
				})
			}
		})
	}
}

// step is a write of the script.
type step struct {
	name string
	do   func(w writer) error

	// early marks what the functions refuse, or find to change nothing, before they come to the record.
	early bool
}

// tells tells whether the functions tell a hook what is told of the step's record. They check by themselves what
// OnRecordValidate does; and without an admin's fields there is no record before the commit.
func (s step) tells(own bool, name string) bool {
	if strings.Contains(name, "Delete") { // which always goes through the record
		return true
	}
	if own {
		return !s.early && !strings.HasSuffix(name, "Validate")
	}
	return !s.early && strings.HasSuffix(name, "Success")
}

// The contacts of the script are called by their external ids.
func script(own bool) []step {
	steps := []step{
		{name: "a contact", do: create(`{"externalId":"ada","name":" Ada  Lovelace ","email":"Ada@Example.com","phone":"+44 (20) 7946-0958"}`)},
		{name: "two contacts", do: create(`{"externalId":"zoe","name":"Zoë","company":"Engines"}`, `{"externalId":"grace","email":"Grace@Example.com"}`)},
		{name: "a change", do: update("ada", `{"company":"Engines","phone":null}`)},
		{name: "a change of case", do: update("ada", `{"email":"ada@example.com"}`)},
		{name: "a change of nothing", do: update("ada", `{"name":" Ada  Lovelace","company":"Engines"}`), early: true},
		{name: "an empty change", do: update("ada", `{}`), early: true},
		{name: "a contact without a name", do: create(`{"company":"Engines"}`), early: true},
		{name: "a change that leaves no name", do: update("grace", `{"email":""}`), early: true},
		{name: "an invalid contact", do: create(`{"name":"Mary","phone":"030","email":"mary"}`), early: true},
		{name: "an invalid change", do: update("ada", `{"phone":"030"}`), early: true},
		{name: "a contact with a taken external id", do: create(`{"name":"Mary","externalId":"ada"}`), early: true},
		{name: "a change to a taken external id", do: update("zoe", `{"externalId":"ada"}`), early: true},
		{name: "a change that a unique index allows", do: update("ada", `{"phone":"+49301234"}`)},
		{name: "a contact that a unique index forbids", do: create(`{"name":"Mary","phone":"+49301234"}`)},
		{name: "a change that a unique index forbids", do: update("zoe", `{"phone":"+49301234"}`)},
		{name: "another external id", do: update("zoe", `{"externalId":"zoë"}`)},
		{name: "the former external id", do: update("zoë", `{"externalId":"zoe"}`)},
	}
	if own {
		steps = append(steps,
			step{name: "a contact with an admin's field", do: create(`{"externalId":"mary","name":"Mary","note":"tall"}`)},
			step{name: "a change of an admin's field", do: update("ada", `{"note":"short"}`)},
			step{name: "no change of an admin's field", do: update("ada", `{"note":"short"}`), early: true},
			step{name: "an invalid value of an admin's field", do: update("ada", `{"note":"`+strings.Repeat("long ", 20)+`"}`), early: true},
			step{name: "a relation to nobody", do: update("ada", `{"boss":"nobody000000000"}`), early: true},
			step{name: "a relation to another tenant", do: update("ada", `{"boss":"stranger0000000"}`), early: true},
			step{name: "an admin's field without a value", do: update("ada", `{"note":null}`)},
		)
	}
	return append(steps,
		step{name: "a deletion that a relation forbids", do: remove("grace")},
		step{name: "a deletion that a relation allows", do: remove("zoe")},
		step{name: "a deletion", do: remove("ada")},
	)
}

func create(contacts ...string) func(writer) error {
	return func(w writer) error { return w.create(contacts...) }
}

func update(externalID, change string) func(writer) error {
	return func(w writer) error { return w.update(externalID, change) }
}

func remove(externalID string) func(writer) error {
	return func(w writer) error { return w.remove(externalID) }
}

// A writer writes contacts one way. What it gets is JSON, as the API does.
type writer interface {
	create(contacts ...string) error
	update(externalID, change string) error
	remove(externalID string) error
}

// records writes through PocketBase's records, as the dashboard and the records API do.
type records struct{ *book }

func (w records) create(contacts ...string) error {
	collection, err := w.app.FindCollectionByNameOrId(contact.CollectionName)
	if err != nil {
		return err
	}
	return w.each(contacts, func(app core.App, values string) error {
		record := core.NewRecord(collection)
		record.Set("tenant", w.tenant)
		record.Load(decode(w.t, values))
		return app.Save(record)
	})
}

func (w records) update(externalID, change string) error {
	record, err := w.app.FindRecordById(contact.CollectionName, w.id(externalID))
	if err != nil {
		return err
	}
	record.Load(decode(w.t, change))
	return w.app.Save(record)
}

func (w records) remove(externalID string) error {
	record, err := w.app.FindRecordById(contact.CollectionName, w.id(externalID))
	if err != nil {
		return err
	}
	return w.app.Delete(record)
}

// functions writes as the API does.
type functions struct{ *book }

func (w functions) create(contacts ...string) error {
	return w.each(contacts, func(app core.App, values string) error {
		changes, err := contact.ParseChanges(app, decode(w.t, values))
		if err == nil {
			_, err = contact.Create(app, w.tenant, changes)
		}
		return err
	})
}

func (w functions) update(externalID, change string) error {
	changes, err := contact.ParseChanges(w.app, decode(w.t, change))
	if err != nil {
		return err
	}
	_, _, err = contact.Update(w.app, w.tenant, w.id(externalID), changes, nil)
	return err
}

func (w functions) remove(externalID string) error {
	return w.app.RunInTransaction(func(tx core.App) error { return contact.Delete(tx, w.tenant, w.id(externalID), "") })
}

// batches writes as a call of many items does.
type batches struct{ functions }

func (w batches) create(contacts ...string) error {
	return w.write(func(batch *contact.Batch) (err error) {
		for _, values := range contacts {
			changes, invalid := contact.ParseChanges(w.app, decode(w.t, values))
			if invalid != nil {
				return invalid
			}
			batch.Create(changes, func(_ *contact.Contact, refused fault.Fields) {
				if len(refused) > 0 {
					err = refused
				}
			})
		}
		return errors.Join(batch.Flush(), err)
	})
}

func (w batches) update(externalID, change string) error {
	changes, err := contact.ParseChanges(w.app, decode(w.t, change))
	if err != nil {
		return err
	}
	return w.write(func(batch *contact.Batch) error {
		_, _, err := batch.Update(w.id(externalID), changes)
		return err
	})
}

func (w batches) remove(externalID string) error {
	return w.write(func(batch *contact.Batch) error { return batch.Delete(w.id(externalID), "") })
}

// write commits the batch also where an item is refused, as a call does whose other items are not.
func (w batches) write(do func(*contact.Batch) error) (refused error) {
	err := w.app.RunInTransaction(func(tx core.App) error {
		batch, err := contact.NewBatch(tx, w.tenant, nil, nil)
		if err != nil {
			return err
		}
		refused = do(batch)
		return batch.Close()
	})
	return errors.Join(refused, err)
}

// each writes the contacts, several in a transaction of the caller's.
func (b *book) each(contacts []string, write func(app core.App, values string) error) error {
	if len(contacts) == 1 {
		return write(b.app, contacts[0])
	}
	return b.app.RunInTransaction(func(tx core.App) error {
		for _, values := range contacts {
			if err := write(tx, values); err != nil {
				return err
			}
		}
		return nil
	})
}

// id returns the id of the contact that the script calls so.
func (b *book) id(externalID string) (id string) {
	b.t.Helper()
	if err := b.app.DB().Select("id").From("contacts").Where(dbx.HashExp{"tenant": b.tenant, "externalId": externalID}).Row(&id); err != nil {
		b.t.Fatalf("looking for %s: %v", externalID, err)
	}
	return id
}

// outcome is all that comes of a step.
type outcome struct {
	refused string
	hooks   []told
	state   []string
}

// told is what a hook of PocketBase is told.
type told struct{ hook, what string }

func (o outcome) lines() []string {
	lines := []string{"outcome: " + o.refused}
	for _, h := range o.hooks {
		lines = append(lines, h.hook+": "+h.what)
	}
	return append(lines, o.state...)
}

// without returns the lines that are not among the others, and all of them where only their order differs.
func without(lines, others []string) string {
	left := slices.DeleteFunc(slices.Clone(lines), func(line string) bool { return slices.Contains(others, line) })
	if len(left) == 0 {
		left = lines
	}
	return "\t" + strings.Join(left, "\n\t")
}

// runScript returns what comes of each step.
func runScript(t *testing.T, own bool, way func(*book) writer) []outcome {
	t.Helper()
	b := newBook(t)
	b.furnish(own)
	var hooks []told
	b.listen(&hooks)
	seen := &seen{book: b, contacts: map[string]dbx.NullStringMap{}}
	seen.look() // what was there before
	var outcomes []outcome
	for _, step := range script(own) {
		hooks = nil
		refused := refusal(t, step.do(way(b)))
		outcomes = append(outcomes, outcome{refused, hooks, seen.look()})
	}
	return outcomes
}

// furnish adds what the script meets: webhooks, an index and relations of an admin's, and with own their fields.
func (b *book) furnish(own bool) {
	b.t.Helper()
	for name, values := range map[string]map[string]any{
		"all":      {},
		"changes":  {"events": []string{"contact.updated"}},
		"disabled": {"disabled": true},
	} {
		values["tenant"], values["name"], values["url"] = b.tenant, name, "https://example.com"
		testkit.Record(b.t, b.app, "webhooks", values)
	}
	collection, err := b.app.FindCollectionByNameOrId(contact.CollectionName)
	if err != nil {
		b.t.Fatal(err)
	}
	collection.AddIndex("own", true, "`tenant`, `phone`", "`phone` != ''")
	if own {
		collection.Fields.Add(&core.TextField{Name: "note", Max: 50}, &core.TextField{Name: "internal", Hidden: true})
		collection.Fields.Add(&core.RelationField{Name: "boss", CollectionId: collection.Id, MaxSelect: 1})
	}
	deals := core.NewBaseCollection("deals")
	deals.Fields.Add(
		&core.RelationField{Name: "owner", CollectionId: collection.Id, MaxSelect: 1},
		&core.RelationField{Name: "signer", CollectionId: collection.Id, MaxSelect: 1, CascadeDelete: true},
		&core.RelationField{Name: "partners", CollectionId: collection.Id, MaxSelect: 9, Required: true},
	)
	for _, changed := range []*core.Collection{collection, deals} {
		if err := b.app.Save(changed); err != nil {
			b.t.Fatal(err)
		}
	}
	testkit.Record(b.t, b.app, "contacts", map[string]any{"id": "stranger0000000", "tenant": b.other().tenant, "name": "Stranger"})
	b.app.OnRecordAfterCreateSuccess("contacts").BindFunc(func(e *core.RecordEvent) error {
		switch id := e.Record.Id; e.Record.GetString("externalId") {
		case "grace":
			testkit.Record(b.t, b.app, "deals", map[string]any{"partners": id})
		case "zoe":
			testkit.Record(b.t, b.app, "deals", map[string]any{"owner": id, "partners": "stranger0000000"})
			testkit.Record(b.t, b.app, "deals", map[string]any{"signer": id, "partners": "stranger0000000"})
		}
		return e.Next()
	})
}

// listen has all that hooks are told of contacts added to heard.
func (b *book) listen(heard *[]told) {
	note := func(name string, app core.App, kind string, model core.Model) {
		record := model.(*core.Record)
		if strings.HasSuffix(name, "Success") && app.IsTransactional() {
			b.t.Errorf("%s is told before the commit", name)
		}
		now := "not checked yet"
		if strings.Contains(name, "Execute") || strings.Contains(name, "After") {
			now = fieldsOf(b.t, record)
		}
		*heard = append(*heard, told{name, fmt.Sprintf("%s new=%t saved=%t %s, was %s",
			kind, record.IsNew(), record.LastSavedPK() == record.Id, now, fieldsOf(b.t, record.Original()))})
	}
	app, tag := b.app, contact.CollectionName
	for name, h := range map[string]*hook.TaggedHook[*core.ModelEvent]{
		"ModelValidate": app.OnModelValidate(tag),
		"ModelCreate":   app.OnModelCreate(tag), "ModelCreateExecute": app.OnModelCreateExecute(tag), "ModelAfterCreateSuccess": app.OnModelAfterCreateSuccess(tag),
		"ModelUpdate": app.OnModelUpdate(tag), "ModelUpdateExecute": app.OnModelUpdateExecute(tag), "ModelAfterUpdateSuccess": app.OnModelAfterUpdateSuccess(tag),
		"ModelDelete": app.OnModelDelete(tag), "ModelDeleteExecute": app.OnModelDeleteExecute(tag), "ModelAfterDeleteSuccess": app.OnModelAfterDeleteSuccess(tag),
	} {
		h.BindFunc(func(e *core.ModelEvent) error { note(name, e.App, e.Type, e.Model); return e.Next() })
	}
	for name, h := range map[string]*hook.TaggedHook[*core.ModelErrorEvent]{
		"ModelAfterCreateError": app.OnModelAfterCreateError(tag), "ModelAfterUpdateError": app.OnModelAfterUpdateError(tag), "ModelAfterDeleteError": app.OnModelAfterDeleteError(tag),
	} {
		h.BindFunc(func(e *core.ModelErrorEvent) error { note(name, e.App, e.Type, e.Model); return e.Next() })
	}
	for name, h := range map[string]*hook.TaggedHook[*core.RecordEvent]{
		"RecordValidate": app.OnRecordValidate(tag),
		"RecordCreate":   app.OnRecordCreate(tag), "RecordCreateExecute": app.OnRecordCreateExecute(tag), "RecordAfterCreateSuccess": app.OnRecordAfterCreateSuccess(tag),
		"RecordUpdate": app.OnRecordUpdate(tag), "RecordUpdateExecute": app.OnRecordUpdateExecute(tag), "RecordAfterUpdateSuccess": app.OnRecordAfterUpdateSuccess(tag),
		"RecordDelete": app.OnRecordDelete(tag), "RecordDeleteExecute": app.OnRecordDeleteExecute(tag), "RecordAfterDeleteSuccess": app.OnRecordAfterDeleteSuccess(tag),
	} {
		h.BindFunc(func(e *core.RecordEvent) error { note(name, e.App, e.Type, e.Record); return e.Next() })
	}
	for name, h := range map[string]*hook.TaggedHook[*core.RecordErrorEvent]{
		"RecordAfterCreateError": app.OnRecordAfterCreateError(tag), "RecordAfterUpdateError": app.OnRecordAfterUpdateError(tag), "RecordAfterDeleteError": app.OnRecordAfterDeleteError(tag),
	} {
		h.BindFunc(func(e *core.RecordErrorEvent) error { note(name, e.App, e.Type, e.Record); return e.Next() })
	}
}

// fieldsOf returns the fields of a record, without what differs from run to run.
func fieldsOf(t *testing.T, record *core.Record) string {
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

// refusal returns what is at fault, in the words that all ways share.
func refusal(t *testing.T, err error) string {
	t.Helper()
	if err == nil {
		return "done"
	}
	var used *fault.Error
	if errors.As(err, &used) && used.Code == fault.InUse {
		return used.Message
	}
	var faults fault.Fields
	var verdict validation.Errors
	var names []string
	switch err = validators.NormalizeUniqueIndexError(err, contact.CollectionName, []string{"tenant", "externalId", "phone"}); {
	case errors.As(err, &faults):
		names = slices.Sorted(maps.Keys(faults))
	case errors.As(err, &verdict):
		delete(verdict, "tenant") // stands in the index beside what is at fault
		names = slices.Sorted(maps.Keys(verdict))
	default:
		t.Errorf("no refusal: %v", err)
	}
	return fmt.Sprint("at fault is ", names)
}

// seen remembers what was there when it looked last.
type seen struct {
	*book
	events   int
	contacts map[string]dbx.NullStringMap // by id, as they were last
}

// ownText matches what an event has of its own: its id and time.
var ownText = regexp.MustCompile(`"id":"evt_[0-9a-z]+",|"timestamp":"[^"]*",`)

// look returns the rows that are there, and the events that came, without what differs from run to run.
func (s *seen) look() (lines []string) {
	s.t.Helper()
	for _, row := range s.rows("SELECT * FROM contacts WHERE tenant = {:tenant} ORDER BY externalId") {
		former := s.contacts[row["id"].String]
		lines = append(lines, fmt.Sprintf("contact: %s changed=%t moved=%t",
			plain(row, "id", "created", "updated"), row["updated"] != row["created"], row["updated"] != former["updated"]))
		s.contacts[row["id"].String] = row
	}
	replace := []string{s.tenant, "TENANT"}
	for id, row := range s.contacts {
		replace = append(replace, id, "ID of "+row["externalId"].String)
	}
	mask := strings.NewReplacer(replace...)
	for _, row := range s.rows("SELECT contact, email, text, indexed FROM _contactSearch WHERE tenant = {:tenant} ORDER BY text") {
		lines = append(lines, "search row: "+mask.Replace(plain(row)))
	}
	for _, row := range s.rows("SELECT type, contact, payload FROM events WHERE tenant = {:tenant} ORDER BY rowid")[s.events:] {
		s.events++
		about := s.contacts[row["contact"].String]
		times := strings.NewReplacer(shown(about["created"].String), "CREATED", shown(about["updated"].String), "UPDATED")
		payload := times.Replace(ownText.ReplaceAllString(row["payload"].String, ""))
		lines = append(lines, "event: "+mask.Replace(row["type"].String+" "+row["contact"].String+" "+payload))
	}
	for _, row := range s.rows("SELECT w.name, d.status, d.attempts, e.type, e.contact FROM deliveries d JOIN events e ON e.id = d.event " +
		"JOIN webhooks w ON w.id = d.webhook WHERE d.tenant = {:tenant} ORDER BY e.rowid, w.name") {
		lines = append(lines, "delivery: "+mask.Replace(plain(row)))
	}
	for _, row := range s.rows("SELECT owner, signer, partners FROM deals ORDER BY rowid") {
		lines = append(lines, "deal: "+mask.Replace(plain(row)))
	}
	return lines
}

func (s *seen) rows(query string) (rows []dbx.NullStringMap) {
	s.t.Helper()
	if err := s.app.DB().NewQuery(query).Bind(dbx.Params{"tenant": s.tenant}).All(&rows); err != nil {
		s.t.Fatalf("%s: %v", query, err)
	}
	return rows
}

// plain returns a row without some columns.
func plain(row dbx.NullStringMap, left ...string) string {
	kept := map[string]string{}
	for name, value := range row {
		if name != "tenant" && !slices.Contains(left, name) {
			kept[name] = value.String
		}
	}
	return fmt.Sprintf("%q", kept)
}

// shown returns a stored time as events have it.
func shown(at string) string { return strings.Replace(at, " ", "T", 1) }
