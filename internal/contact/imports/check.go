package imports

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/contact"
	"contactbase/internal/recordid"
	"contactbase/internal/sqlite"
	"contactbase/internal/stamp"
)

// rehearsal counts what an import would do to the contacts as they are now. It applies the rows as the import does, in chunks whose
// transactions are rolled back. First it reads all rows, to know which of them have to do with earlier ones.
type rehearsal struct {
	*Import
	app     core.App
	indexes *indexes
	lasts   *lasts
	overlay *overlay
	kept    int // contacts that the overlay had when it was last cleared

	scanned  int // rows whose keys are known
	shown    int // of these, those that are stored
	counts   Counts
	refused  []Refusal
	position int
	told     int  // the position that is stored
	begun    bool // whether that is of this rehearsal, and not of one that was interrupted
}

// rehearse begins a rehearsal. The error is errMoved while another process is at one.
func (i *Import) rehearse(app core.App) (*rehearsal, error) {
	if updated, err := time.Parse(time.RFC3339, i.Updated); err == nil && i.Position > 0 && time.Since(updated) < idle {
		return nil, errMoved
	}
	x, err := readIndexes(app, i.Tenant, i.Match)
	if err != nil {
		return nil, err
	}
	return &rehearsal{Import: i, app: app, indexes: x, lasts: newLasts(i.Total, len(x.all)), overlay: newOverlay(x), told: i.Position}, nil
}

// isOf reports whether the rehearsal is one of the import as it is stored, which may have started again.
func (r *rehearsal) isOf(i *Import) bool {
	return r.told == i.Position && r.Match == i.Match && slices.Equal(r.Mapping, i.Mapping)
}

// turn goes on with a page of rows.
func (r *rehearsal) turn(chunks *sqlite.Chunks) error {
	if r.scanned < r.Total {
		return r.scan()
	}
	status, err := r.page(chunks)
	if err != nil {
		return err
	}
	return r.tell(status)
}

// scan notes which contacts the next rows may have to do with.
func (r *rehearsal) scan() error {
	p, keys, err := r.read(r.scanned)
	if err != nil {
		return err
	}
	if p == nil {
		return errMoved // it is cancelled, and its rows are deleted
	}
	for n, item := range p.items {
		r.lasts.note(r.scanned+n, item, keys[n])
	}
	r.scanned += len(p.items)
	if r.scanned-r.shown < r.Total/scanSteps && r.scanned < r.Total {
		return nil
	}
	r.shown = r.scanned
	_, err = sqlite.Write(r.app, func(sqlite.Reader) ([]sqlite.Statement, error) {
		return []sqlite.Statement{{
			Text: "UPDATE `_imports` SET `scanned` = ? WHERE `id` = ? AND `status` = 'checking' AND `position` = ?",
			Args: []any{r.scanned, r.ID, r.told},
		}}, nil
	})
	return err
}

// scanSteps is how often a scan is stored at most, for those who wait.
const scanSteps = 100

// read reads the rows that are stored together, from a place on, and their keys.
func (r *rehearsal) read(from int) (*page, [][]key, error) {
	p, err := r.readPage(r.app, from)
	if err != nil || p == nil {
		return nil, nil, err
	}
	keys := make([][]key, len(p.items))
	for n, item := range p.items {
		if item.Wrong != nil {
			continue
		}
		if keys[n], err = r.indexes.keys(item); err != nil {
			return nil, nil, err
		}
	}
	return p, keys, nil
}

// page counts the next rows that are stored together, and returns whether there are more to check.
func (r *rehearsal) page(chunks *sqlite.Chunks) (Status, error) {
	p, keys, err := r.read(r.position)
	if err != nil {
		return "", err
	}
	if p == nil {
		return Checked, nil
	}
	for begun := 0; begun < len(p.items); {
		var c chunk
		_, err := chunks.DryRun(r.app, func(tx core.App, limit int) (int, error) {
			c = chunk{page: p, keys: keys, begun: begun, taken: min(limit, len(p.items)-begun)}
			return c.taken, r.apply(tx, &c)
		})
		if err == nil {
			err = r.keep(&c)
		}
		if err != nil {
			return "", err
		}
		begun += c.taken
	}
	r.position += len(p.items)
	if len(r.overlay.byID) > 2*r.kept+leastKept {
		r.overlay.forget(r.lasts, r.position-1)
		r.kept = len(r.overlay.byID)
	}
	return Checking, nil
}

// leastKept is how many contacts the overlay may always have before it is cleared.
const leastKept = 1_000

// chunk is rows of a page that are applied in one transaction.
type chunk struct {
	*page
	keys         [][]key
	begun, taken int

	outcome
	touched map[string]*touched // by id, what the rows made of the contacts that later rows may have to do with
	created map[string]int      // by id, the row that created a contact
}

// apply applies the rows of a chunk in the transaction of tx, and reads what has become of the contacts.
func (r *rehearsal) apply(tx core.App, c *chunk) (err error) {
	var ids []string
	for _, item := range c.items[c.begun : c.begun+c.taken] {
		if item.ID != "" {
			ids = append(ids, item.ID)
		}
	}
	if err := r.overlay.restore(tx, r.overlay.concerning(ids, c.keys[c.begun:c.begun+c.taken])); err != nil {
		return err
	}
	if c.outcome, err = r.write(tx, c.page, c.begun, c.taken); err != nil {
		return err
	}
	c.created = map[string]int{}
	var changed []string
	for n, result := range c.results {
		row := c.begun + n
		switch result.Status {
		case contact.ItemCreated:
			c.created[result.Contact.ID] = row
			if areKnown(c.keys[row]) && !r.lasts.after(c.last(), c.keys[row]) {
				continue
			}
		case contact.ItemUpdated:
		default:
			continue
		}
		changed = append(changed, result.Contact.ID)
	}
	if changed != nil {
		c.touched, err = readTouched(sqlite.ReaderOf(tx), changed)
	}
	return err
}

// last is the place of the last row of the chunk.
func (c *chunk) last() int { return c.from + c.begun + c.taken - 1 }

// keep counts what became of the rows of a chunk, and keeps the contacts that later rows may have to do with.
func (r *rehearsal) keep(c *chunk) error {
	r.counts.addAll(c.Counts)
	r.refused = append(r.refused, c.refused...)
	before, err := readTouched(sqlite.Direct(r.app.ConcurrentDB()), slices.Collect(maps.Keys(c.touched)))
	if err != nil {
		return err
	}
	for id, t := range c.touched {
		if t.after, err = r.indexes.held(t.columns); err != nil {
			return err
		}
		known, stored := r.overlay.byID[id], before[id]
		switch {
		case known != nil:
			r.overlay.remove(known)
			t.number, t.created, t.before = known.number, known.created, known.before
		case stored != nil:
			t.number = c.last()
			t.before, err = r.indexes.held(stored.columns)
		default: // later chunks may give its id to another contact
			t.number, t.created = c.from+c.created[id], true
			t.id = recordid.New(time.Now())
			t.columns["id"] = t.id
		}
		if err != nil {
			return err
		}
		if t.isMeant(r.lasts, c.last()) {
			r.overlay.add(t)
		}
	}
	return nil
}

// stillSQL reports whether nobody else has taken over: begun, cancelled or checked the import.
const stillSQL = "SELECT EXISTS (SELECT 1 FROM `_imports` WHERE `id` = ? AND `status` = 'checking' AND `position` = ? AND `mapping` = ? AND `match` = ?)"

// tell stores how far the check has come. The error is errMoved where it is overtaken.
func (r *rehearsal) tell(status Status) error {
	mapping, err := json.Marshal(r.Mapping)
	if err != nil {
		return err
	}
	noted, err := r.note(r.refused)
	if err != nil {
		return err
	}
	if !r.begun {
		noted = append([]sqlite.Statement{{Text: "DELETE FROM `_importRefusals` WHERE `import` = ?", Args: []any{r.ID}}}, noted...)
	}
	_, err = sqlite.Write(r.app, func(tx sqlite.Reader) ([]sqlite.Statement, error) {
		still, err := sqlite.Value[bool](tx, stillSQL, r.ID, r.told, string(mapping), r.Match)
		if err == nil && !still {
			err = errMoved
		}
		return append([]sqlite.Statement{{
			Text: "UPDATE `_imports` SET `status` = ?, `position` = ?, `rowsCreated` = ?, `rowsUpdated` = ?, `rowsUnchanged` = ?, `rowsRefused` = ?, " +
				"`updated` = ? WHERE `id` = ?",
			Args: []any{string(status), r.position, r.counts.RowsCreated, r.counts.RowsUpdated, r.counts.RowsUnchanged, r.counts.RowsRefused,
				stamp.Stored(time.Now()), r.ID},
		}}, noted...), err
	})
	if err != nil {
		return fmt.Errorf("storing how far the check of the import %s is: %w", r.ID, err)
	}
	r.refused, r.told, r.begun = nil, r.position, true
	return nil
}
