package imports

import (
	"cmp"
	"database/sql"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/contact/search"
	"contactbase/internal/sqlite"
)

// overlay has the contacts as the earlier chunks of a rehearsal made them, which were rolled back: of those, the contacts that a later row
// may have to do with. A chunk begins by restoring the ones that it may have to do with.
type overlay struct {
	*indexes
	byID     map[string]*touched
	byDigest map[uint64]map[*touched]bool
}

// touched is a contact that a rolled-back chunk created or changed.
type touched struct {
	number        int // of the row that touched it first
	id            string
	created       bool
	columns       columns
	email, text   string // of its search row
	before, after []key  // by index; before is nil for one that was created
}

func newOverlay(x *indexes) *overlay {
	return &overlay{indexes: x, byID: map[string]*touched{}, byDigest: map[uint64]map[*touched]bool{}}
}

func (o *overlay) add(t *touched) {
	o.byID[t.id] = t
	for digest := range t.digests() {
		if o.byDigest[digest] == nil {
			o.byDigest[digest] = map[*touched]bool{}
		}
		o.byDigest[digest][t] = true
	}
}

func (o *overlay) remove(t *touched) {
	delete(o.byID, t.id)
	for digest := range t.digests() {
		if delete(o.byDigest[digest], t); len(o.byDigest[digest]) == 0 {
			delete(o.byDigest, digest)
		}
	}
}

func (t *touched) digests() map[uint64]bool {
	found := map[uint64]bool{}
	for _, keys := range [][]key{t.before, t.after} {
		digests(keys, func(_ int, digest uint64) { found[digest] = true })
	}
	return found
}

// forget forgets the contacts that no row behind that one may have to do with.
func (o *overlay) forget(l *lasts, row int) {
	for _, t := range o.byID {
		if !t.isMeant(l, row) {
			o.remove(t)
		}
	}
}

// isMeant reports whether a row behind that one may have to do with the contact.
func (t *touched) isMeant(l *lasts, row int) bool {
	return l.after(row, t.before) || l.after(row, t.after) || !t.created && l.idAfter(row, t.id)
}

// concerning returns the contacts that rows may have to do with, in the order in which they were touched first.
func (o *overlay) concerning(ids []string, rows [][]key) []*touched {
	found := map[*touched]bool{}
	for _, id := range ids {
		if t := o.byID[id]; t != nil {
			found[t] = true
		}
	}
	for _, keys := range rows {
		for n, k := range keys {
			for t := range o.candidates(n, k) {
				if t.after[n].fits(k) || t.before != nil && t.before[n].fits(k) {
					found[t] = true
				}
			}
		}
	}
	all := make([]*touched, 0, len(found))
	for t := range found {
		all = append(all, t)
	}
	slices.SortFunc(all, func(a, b *touched) int { return cmp.Compare(a.number, b.number) })
	return all
}

// candidates returns contacts, among which are all that the key fits.
func (o *overlay) candidates(index int, k key) map[*touched]bool {
	if k.isOpen() {
		all := make(map[*touched]bool, len(o.byID))
		for _, t := range o.byID {
			all[t] = true
		}
		return all
	}
	var found map[*touched]bool
	first := true
	for part, value := range k {
		if value == nil {
			continue
		}
		if with := o.byDigest[digest(index, part, *value)]; first || len(with) < len(found) {
			found, first = with, false
		}
	}
	return found
}

// restore makes contacts in the transaction of tx what they are in the overlay. Contacts that have given up a key in the meantime, but still
// hold it in the database, give it up first.
func (o *overlay) restore(tx core.App, contacts []*touched) error {
	var vacated, written []sqlite.Statement
	for _, t := range contacts {
		if !t.created {
			vacated = append(vacated, sqlite.Statement{Text: "DELETE FROM `contacts` WHERE `id` = ?", Args: []any{t.id}})
		}
		for _, i := range o.all {
			if i.vacate != "" {
				vacated = append(vacated, sqlite.Statement{Text: i.vacate, Args: t.columns.of(i.held)})
			}
		}
		written = append(written, t.write()...)
	}
	if _, err := sqlite.Run(tx, slices.Concat(vacated, written)); err != nil {
		return fmt.Errorf("restoring contacts of a rehearsal: %w", err)
	}
	return nil
}

// write returns the statements that write the rows of the contact.
func (t *touched) write() []sqlite.Statement {
	names, args := make([]string, 0, len(t.columns)), make([]any, 0, len(t.columns))
	for name, value := range t.columns {
		names, args = append(names, "`"+name+"`"), append(args, value)
	}
	inserted := sqlite.Statement{
		Text: "INSERT INTO `contacts` (" + strings.Join(names, ", ") + ") VALUES (?" + strings.Repeat(", ?", len(names)-1) + ")",
		Args: args,
	}
	found := search.Row{Contact: t.id, Tenant: fmt.Sprint(t.columns["tenant"]), Email: t.email, Text: t.text}
	if t.created {
		return []sqlite.Statement{inserted, search.Insert(found)}
	}
	return []sqlite.Statement{inserted, search.Update(found)}
}

const touchedSQL = "SELECT c.*, s.`email`, s.`text` FROM json_each(?) j CROSS JOIN `contacts` c ON c.`id` = j.`value` " +
	"JOIN `_contactSearch` s ON s.`contact` = c.`id`"

// readTouched returns contacts with these ids as they are in the transaction of tx, or in the database.
func readTouched(tx sqlite.Reader, ids []string) (map[string]*touched, error) {
	encoded, err := json.Marshal(ids)
	if err != nil {
		return nil, err
	}
	found := map[string]*touched{}
	err = sqlite.Each(tx, touchedSQL, func(rows *sql.Rows) error {
		names, err := rows.Columns()
		if err != nil {
			return err
		}
		t := &touched{columns: columns{}}
		own := len(names) - 2
		values, into := make([]any, own), make([]any, own, len(names))
		for n := range values {
			into[n] = &values[n]
		}
		if err := rows.Scan(append(into, &t.email, &t.text)...); err != nil {
			return err
		}
		for n, value := range values {
			t.columns[names[n]] = value
		}
		t.id, _ = t.columns["id"].(string)
		found[t.id] = t
		return nil
	}, string(encoded))
	if err != nil {
		return nil, fmt.Errorf("reading contacts of a rehearsal: %w", err)
	}
	return found, nil
}
