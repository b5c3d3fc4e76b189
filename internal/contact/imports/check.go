package imports

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/contact"
	"contactbase/internal/contact/search"
	"contactbase/internal/fault"
	"contactbase/internal/sqlite"
	"contactbase/internal/stamp"
)

// checking counts what an import would do to the contacts of today, without writing any.
type checking struct {
	*Import
	app      core.App
	met      map[string]bool // the keys of rows that create a contact, which later rows find
	counts   Counts
	refused  []Refusal
	position int
	told     int // the position that is stored
}

// check counts all rows, and tells now and then how far it has come. It begins anew where it was interrupted.
func (i *Import) check(ctx context.Context, app core.App) error {
	c := &checking{Import: i, app: app, met: map[string]bool{}, told: i.Position}
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		p, err := i.readPage(app, c.position)
		if err != nil {
			return err
		}
		if p == nil {
			return c.tell(Checked)
		}
		for n, item := range p.items {
			if err := c.row(item, p.row(n), p.cells[n]); err != nil {
				return err
			}
		}
		c.position += len(p.items)
		if err := c.tell(Checking); err != nil {
			return err
		}
	}
}

func (c *checking) row(item contact.Item, row int, cells []string) error {
	status, err := c.outcome(item)
	var wrong *fault.Error
	if errors.As(err, &wrong) {
		status, err = contact.ItemFailed, nil
		if len(c.refused) < maxShown {
			c.refused = append(c.refused, Refusal{row, reason(wrong), cells})
		}
	}
	c.counts.add(status)
	return err
}

// outcome returns what would become of an item. The error is a *fault.Error where it would be refused.
func (c *checking) outcome(item contact.Item) (string, error) {
	if item.Wrong != nil {
		return "", item.Wrong
	}
	externalID, _ := item.Changes["externalId"].(string)
	email, _ := item.Changes["email"].(string)
	key, find := "id "+externalID, func() (*contact.Contact, error) { return contact.FindByExternalID(c.app, c.Tenant, externalID) }
	if item.ByEmail {
		key, find = "email "+search.FoldEmail(email), func() (*contact.Contact, error) { return contact.FindByEmail(c.app, c.Tenant, email) }
	}
	found, err := find()
	switch {
	case err == nil && found.WouldChange(item.Changes):
		return contact.ItemUpdated, nil
	case err == nil:
		return contact.ItemUnchanged, nil
	case !errors.Is(err, contact.ErrNotFound):
		return "", err
	case c.met[key]:
		return contact.ItemUpdated, nil
	}
	c.met[key] = true
	name, _ := item.Changes["name"].(string)
	if name == "" && email == "" {
		return "", fault.InvalidContact(fault.Fields{"name": {Code: contact.CodeRequired, Message: "name or email must be present"}})
	}
	return contact.ItemCreated, nil
}

// tell stores how far the check has come.
func (c *checking) tell(status Status) error {
	statements, err := c.note(c.refused)
	if err != nil {
		return err
	}
	changed, err := sqlite.Write(c.app, func(sqlite.Reader) ([]sqlite.Statement, error) {
		return append([]sqlite.Statement{{
			Text: "UPDATE `_imports` SET `status` = ?, `position` = ?, `rowsCreated` = ?, `rowsUpdated` = ?, `rowsUnchanged` = ?, `rowsRefused` = ?, " +
				"`updated` = ? WHERE `id` = ? AND `status` = 'checking' AND `position` = ?",
			Args: []any{string(status), c.position, c.counts.RowsCreated, c.counts.RowsUpdated, c.counts.RowsUnchanged, c.counts.RowsRefused,
				stamp.Stored(time.Now()), c.ID, c.told},
		}}, statements...), nil
	})
	if err != nil {
		return fmt.Errorf("storing how far the check of the import %s is: %w", c.ID, err)
	}
	if changed[0] == 0 {
		return errMoved
	}
	c.refused, c.told = nil, c.position
	return nil
}
