package contact

import (
	"fmt"
	"slices"
	"strings"

	"contactbase/internal/contact/custom"
	"contactbase/internal/contact/search"
	"contactbase/internal/event"
	"contactbase/internal/sqlite"
	"contactbase/internal/stamp"
)

// rows returns the statements that write the rows of contacts, in the order of the changes. An admin's unique
// index may refuse one.
func (p *plan) rows(changes []*change) (rows runs, err error) {
	for _, c := range changes {
		write := p.insertRow
		if c.before != nil {
			write = p.updateRow
		}
		row, err := write(c)
		if err != nil {
			return nil, err
		}
		rows = rows.add(row)
	}
	return rows, nil
}

// writeEffects writes the search rows and the events of changes, however their contacts are written.
func writeEffects(tx sqlite.Tx, tenantID string, source event.Source, changes []*change) error {
	effects, err := effectStatements(tenantID, source, changes)
	if err != nil {
		return err
	}
	if _, err := tx.Run(effects); err != nil {
		return fmt.Errorf("writing the search rows and events of %d contacts: %w", len(changes), err)
	}
	return nil
}

// effectStatements returns the statements that write the search rows and the events of changes. A change without an
// event has no rows either.
func effectStatements(tenantID string, source event.Source, changes []*change) ([]sqlite.Statement, error) {
	var found, events, people runs
	for _, c := range changes {
		effects := c.effects(tenantID)
		if effects.event == nil {
			continue
		}
		effects.event.Source = source
		emitted, err := event.Insert(effects.event, c.now)
		if err != nil {
			return nil, fmt.Errorf("encoding the event of the contact %s: %w", effects.event.Contact, err)
		}
		events = events.add(emitted)
		if source.Person != "" {
			people = people.add(event.PersonOf(effects.event))
		}
		for _, s := range effects.rows {
			found = found.add(s)
		}
	}
	return slices.Concat(found.statements(), events.statements(), people.statements()), nil
}

// runs gathers statements in their order. Successive ones with the same text become one repeated statement.
type runs []run

type run struct {
	text string
	args [][]any
}

func (r runs) add(s sqlite.Statement) runs {
	if len(r) == 0 || r[len(r)-1].text != s.Text {
		return append(r, run{s.Text, [][]any{s.Args}})
	}
	r[len(r)-1].args = append(r[len(r)-1].args, s.Args)
	return r
}

func (r runs) statements() []sqlite.Statement {
	statements := make([]sqlite.Statement, len(r))
	for i, run := range r {
		if statements[i] = (sqlite.Statement{Text: run.text, Args: run.args[0]}); len(run.args) > 1 {
			statements[i] = sqlite.Repeat(run.text, run.args)
		}
	}
	return statements
}

// before returns how many statements were added before a part of one of those that ran.
func (r runs) before(statement, done int) int {
	for _, run := range r[:statement] {
		done += len(run.args)
	}
	return done
}

// insertRow returns the statement that writes the whole row of a contact.
func (p *plan) insertRow(c *change) (sqlite.Statement, error) {
	args := make([]any, 0, len(shippedFields)+len(p.adminFields))
	args = append(args, c.after.ID, p.tenantID)
	for _, field := range Fields {
		args = append(args, *field.of(c.after))
	}
	args = append(args, stamp.Store(c.after.Created), stamp.Store(c.after.Updated))
	for _, field := range p.adminFields {
		value, err := custom.Column(field, c.record)
		if err != nil {
			return sqlite.Statement{}, err
		}
		args = append(args, value)
	}
	return sqlite.Statement{Text: p.insertSQL, Args: args}, nil
}

var assignments = eachField(func(f *Field) string { return "`" + f.Name + "` = ?, " })

// updateRow returns the statement that writes the row of a changed contact. Of the shipped fields it sets only those
// that changed, because SQLite writes every index of a column that is set.
func (p *plan) updateRow(c *change) (sqlite.Statement, error) {
	var set strings.Builder
	args := make([]any, 0, len(c.fields)+3)
	for _, i := range c.fields {
		set.WriteString(assignments[i])
		args = append(args, *Fields[i].of(c.after))
	}
	for _, field := range p.adminFields {
		if !c.sets.sets(field) {
			continue
		}
		value, err := custom.Column(field, c.record)
		if err != nil {
			return sqlite.Statement{}, err
		}
		set.WriteString("`" + field.GetName() + "` = ?, ")
		args = append(args, value)
	}
	return sqlite.Statement{
		Text: "UPDATE `contacts` SET " + set.String() + "`updated` = ? WHERE `id` = ? AND `tenant` = ?",
		Args: append(args, stamp.Store(c.after.Updated), c.after.ID, p.tenantID),
	}, nil
}

// sideEffects is what is written together with a contact, in the same transaction.
type sideEffects struct {
	rows  []sqlite.Statement // that update the search row, and what leads to the contact
	event *event.Event       // nil if callers see no difference
}

func (c *change) effects(tenantID string) (effects sideEffects) {
	switch {
	case c.before == nil:
		effects = sideEffects{[]sqlite.Statement{search.Insert(searchRow(tenantID, c.after))}, &event.Event{
			Kind: event.ContactCreated, TenantID: tenantID, Contact: c.after.ID, Data: c.after,
		}}
	case c.after == nil:
		forget := sqlite.Statement{Text: forgetSQL, Args: []any{c.before.ID}}
		return sideEffects{append(search.Delete(c.before.ID), forget), &event.Event{
			Kind: event.ContactDeleted, TenantID: tenantID, Contact: c.before.ID, Data: c.before, MergedInto: c.mergedInto,
		}}
	default:
		effects = updated(tenantID, c.before, c.after)
	}
	if c.takesOver {
		effects.rows = append(effects.rows,
			sqlite.Statement{Text: takeSQL, Args: []any{tenantID, c.after.ExternalID, c.after.ID}})
	}
	return effects
}

// updated returns the side effects of a change, none if callers see no difference.
func updated(tenantID string, before, after *Contact) (effects sideEffects) {
	previous := after.Previous(before)
	if len(previous) == 0 {
		return effects
	}
	if old, row := searchRow(tenantID, before), searchRow(tenantID, after); row != old {
		effects.rows = []sqlite.Statement{search.Update(old, row)}
	}
	effects.event = &event.Event{
		Kind: event.ContactUpdated, TenantID: tenantID, Contact: after.ID, Data: after, Previous: previous,
	}
	return effects
}

// searchedTexts and searchedNumbers are the fields that a search looks into.
var searchedTexts, searchedNumbers = func() (texts, numbers []*Field) {
	for _, field := range Fields {
		switch {
		case field.Searched && field.digits:
			numbers = append(numbers, field)
		case field.Searched:
			texts = append(texts, field)
		}
	}
	return texts, numbers
}()

// searchRow returns the search row of a contact.
func searchRow(tenantID string, c *Contact) search.Row {
	texts, numbers := make([]string, 0, 8), make([]string, 0, 2)
	for _, field := range searchedTexts {
		texts = append(texts, field.Value(c))
	}
	for _, field := range searchedNumbers {
		numbers = append(numbers, field.Value(c))
	}
	return search.Row{
		Contact: c.ID, Tenant: tenantID, Email: search.FoldEmail(c.Email), Text: search.Text(texts, numbers...),
		Name: search.NameKey(c.Name),
	}
}

// SearchRows returns the statement that writes the search rows of contacts whose own rows are written unchanged. Each
// contact is a map of column names to values.
func SearchRows(tenantID string, contacts []map[string]string) sqlite.Statement {
	rows := make([]search.Row, len(contacts))
	for i, columns := range contacts {
		c := &Contact{ID: columns["id"]}
		for _, field := range Fields {
			*field.of(c) = columns[field.Name]
		}
		rows[i] = searchRow(tenantID, c)
	}
	return search.InsertAll(rows)
}
