package imports

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/audit"
	"contactbase/internal/contact"
	"contactbase/internal/fault"
	"contactbase/internal/loop"
	"contactbase/internal/relation"
	"contactbase/internal/sqlite"
	"contactbase/internal/stamp"
	"contactbase/internal/tenant"
)

// Undo is what an undo does to the contacts that an import has created and that still exist.
type Undo struct {
	Deleted int `json:"deleted"`
	Kept    int `json:"kept"` // that have changed since, that others were merged into, or that a relation requires
}

// createdStatements returns the statements that note which contacts the rows have created, and when rows of the import
// have last changed them.
func (i *Import) createdStatements(results []contact.Result) []sqlite.Statement {
	created, updated := map[string]string{}, map[string]string{}
	for _, result := range results {
		switch c := result.Contact; {
		case c == nil || result.Wrong != nil:
		case result.Status == contact.Created || result.Status == contact.Updated && created[c.ID] != "":
			created[c.ID] = stamp.Store(c.Updated)
		case result.Status == contact.Updated:
			updated[c.ID] = stamp.Store(c.Updated)
		}
	}
	var statements []sqlite.Statement
	if rows := i.changeRows(created); rows != nil {
		statements = append(statements, sqlite.Repeat("INSERT OR REPLACE INTO `_importCreated` "+
			"(`updated`, `import`, `contact`, `tenant`) VALUES (?1, ?2, ?3, ?4)", rows))
	}
	if rows := i.changeRows(updated); rows != nil {
		statements = append(statements, sqlite.Repeat(
			"UPDATE `_importCreated` SET `updated` = ?1 WHERE `import` = ?2 AND `contact` = ?3 AND `tenant` = ?4", rows))
	}
	return statements
}

func (i *Import) changeRows(changed map[string]string) (rows [][]any) {
	for id, at := range changed {
		rows = append(rows, []any{at, i.ID, id, i.Tenant})
	}
	return rows
}

// isUntouched is the condition that nothing has happened to the contact k since the import has created or changed it.
const isUntouched = "k.`updated` = c.`updated` " +
	"AND NOT EXISTS (SELECT 1 FROM `_mergedContacts` m WHERE m.`contact` = k.`id`)"

// createdSQL returns the next contacts ?3 that the import ?1 has created, and whether they exist, and are untouched.
const createdSQL = "SELECT c.`contact`, k.`id` IS NOT NULL, coalesce(" + isUntouched + ", 0) FROM `_importCreated` c " +
	"LEFT JOIN `contacts` k ON k.`id` = c.`contact` AND k.`tenant` = c.`tenant` " +
	"WHERE c.`import` = ?1 AND c.`contact` > ?2 ORDER BY c.`contact` LIMIT ?3"

// madeContact is a contact that an import has created.
type madeContact struct {
	id                  string
	exists, isUntouched bool
}

// created returns the next contacts that the import has created, after the one with an id.
func (i *Import) created(tx sqlite.Reader, after string, limit int) (found []madeContact, err error) {
	err = sqlite.Each(tx, createdSQL, func(rows *sql.Rows) error {
		var c madeContact
		err := rows.Scan(&c.id, &c.exists, &c.isUntouched)
		found = append(found, c)
		return err
	}, i.ID, after, limit)
	if err != nil {
		return nil, fmt.Errorf("reading what the import %s has created: %w", i.ID, err)
	}
	return found, nil
}

// previewPage is how many contacts PreviewUndo reads at a time.
const previewPage = 10_000

// PreviewUndo returns what BeginUndo would do, as far as it is known before anything is deleted. The error is a
// *fault.Error if the import cannot be undone, and sql.ErrNoRows if there is no such import.
func PreviewUndo(ctx context.Context, app core.App, id string) (u Undo, err error) {
	i, err := Find(app, id)
	if err != nil {
		return u, err
	}
	if err := i.mayUndo(app); err != nil {
		return u, err
	}
	contacts, err := app.FindCachedCollectionByNameOrId(contact.CollectionName)
	if err != nil {
		return u, fmt.Errorf("finding the collection of contacts: %w", err)
	}
	for after, more := "", true; more; {
		page, err := i.created(sqlite.Direct(app.ConcurrentDB()), after, previewPage)
		if err = errors.Join(err, ctx.Err()); err != nil {
			return u, err
		}
		var ids []string
		for _, c := range page {
			after = c.id
			if c.isUntouched {
				ids = append(ids, c.id)
			} else if c.exists {
				u.Kept++
			}
		}
		required, err := relation.CountRequired(app, contacts, ids)
		if err != nil {
			return u, err
		}
		u.Deleted, u.Kept, more = u.Deleted+len(ids)-required, u.Kept+required, len(page) == previewPage
	}
	return u, nil
}

// mayUndo returns an error if the import cannot be undone.
func (i *Import) mayUndo(app core.App) error {
	if err := tenant.Enabled(app, i.Tenant); err != nil {
		return err
	}
	if !slices.Contains([]Status{Done, Cancelled, Undoing, Undone}, i.Status) {
		return fault.InvalidField("status", fault.CodeInvalidValue, "must be done or cancelled: the import has not ended")
	}
	return nil
}

// BeginUndo begins to delete the contacts that an import has created and that nothing has changed since, in the
// background, and writes that to the audit log. An undo that is under way continues, and one that has ended is
// repeated. The errors are those of PreviewUndo.
func BeginUndo(app core.App, id string) error {
	return sqlite.Transact(context.Background(), app, "", true, func(tx core.App) error {
		i, err := Find(tx, id)
		if err != nil {
			return err
		}
		if err := i.mayUndo(tx); err != nil || i.Status == Undoing {
			return err
		}
		changed, err := sqlite.Exec(tx,
			"UPDATE `_imports` SET `status` = 'undoing', `undoCursor` = '', `undoDeleted` = 0, `undoKept` = 0, "+
				"`updated` = ? WHERE `id` = ? AND `status` IN ('done', 'cancelled', 'undone')",
			stamp.Stored(time.Now()), id)
		if err != nil || changed == 0 { // another one has begun
			return err
		}
		return audit.Write(tx, audit.Entry{
			Tenant: i.Tenant, Action: audit.Undone, Collection: contact.CollectionName, Record: id,
		})
	})
}

// undoStep is how often AwaitUndo looks.
const undoStep = 50 * time.Millisecond

// AwaitUndo waits until an undo has ended, or ctx ends, and returns what it has done, and whether it has ended.
func AwaitUndo(ctx context.Context, app core.App, id string) (Undo, bool, error) {
	for {
		found, err := query(app, "`id` = ?", id)
		if err != nil || len(found) == 0 {
			return Undo{}, false, errors.Join(err, sql.ErrNoRows)
		}
		i := found[0]
		if i.Status != Undoing || !loop.Pause(ctx, undoStep) {
			return *i.Undone, i.Status != Undoing, nil
		}
	}
}

// undo deletes contacts in chunks until ctx ends, at least one of them, and marks the import as undone once none is
// left.
func (i *Import) undo(ctx context.Context, app core.App, chunks *sqlite.Chunks) error {
	for status := Undoing; status == Undoing; {
		var taken []madeContact
		_, err := chunks.NextTimed(i.Tenant, app, func(tx core.App, limit int, due func() bool) (_ int, err error) {
			taken, status, err = i.undoChunk(tx, limit, due)
			return len(taken), err
		})
		if err != nil || ctx.Err() != nil {
			return err
		}
		i.cursor = lastOf(taken, i.cursor)
	}
	return nil
}

// undoChunk deletes up to limit contacts in the transaction of tx, and ends with the one after which due reports true.
// It returns those that it has looked at, and Undone if there are no more. Only one of the processes that work on the
// import finds it at the cursor.
func (i *Import) undoChunk(
	tx core.App, limit int, due func() bool,
) (taken []madeContact, status Status, err error) {
	const isCurrent = "SELECT EXISTS (SELECT 1 FROM `_imports` " +
		"WHERE `id` = ? AND `status` = 'undoing' AND `undoCursor` = ? AND " + isEnabled + ")"
	current, err := sqlite.Value[bool](sqlite.ReaderOf(tx), isCurrent, i.ID, i.cursor)
	if err == nil && !current {
		err = errMoved
	}
	if err != nil {
		return nil, "", err
	}
	page, err := i.created(sqlite.ReaderOf(tx), i.cursor, limit)
	if err != nil {
		return nil, "", err
	}
	var done Undo
	for _, c := range page {
		if err := i.undoOne(tx, c, &done); err != nil {
			return nil, "", err
		}
		if taken = append(taken, c); due() {
			break
		}
	}
	status = Undoing
	if len(taken) == len(page) && len(page) < limit {
		status = Undone
	}
	_, err = sqlite.Exec(tx, "UPDATE `_imports` SET `status` = ?, `undoCursor` = ?, "+
		"`undoDeleted` = `undoDeleted` + ?, `undoKept` = `undoKept` + ?, `updated` = ? WHERE `id` = ?",
		string(status), lastOf(taken, i.cursor), done.Deleted, done.Kept, stamp.Stored(time.Now()), i.ID)
	return taken, status, err
}

// lastOf returns the id of the last of some contacts, or another one if there is none.
func lastOf(contacts []madeContact, other string) string {
	if len(contacts) == 0 {
		return other
	}
	return contacts[len(contacts)-1].id
}

// undoOne deletes a contact if it is untouched and nothing requires it, and counts it.
func (i *Import) undoOne(tx core.App, c madeContact, done *Undo) error {
	if !c.isUntouched {
		if c.exists {
			done.Kept++
		}
		return nil
	}
	acting := audit.As(tx, audit.Actor{Kind: audit.Import, ID: i.ID})
	results, err := contact.Write(acting, i.Tenant, []contact.Item{{
		Action: contact.Delete, Keys: []contact.Key{{Field: contact.ID, Value: c.id}},
	}})
	switch {
	case err != nil:
		return fmt.Errorf("deleting what the import %s has created: %w", i.ID, err)
	case results[0].Wrong != nil:
		done.Kept++
	default:
		done.Deleted++
	}
	return nil
}
