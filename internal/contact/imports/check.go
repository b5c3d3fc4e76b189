package imports

import (
	"context"
	"encoding/json"
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

func (i *Import) checking(app core.App) *checking {
	return &checking{Import: i, app: app, met: map[string]bool{}, told: i.Position}
}

// check counts all rows, and tells now and then how far it has come. It begins anew where it was interrupted.
func (i *Import) check(ctx context.Context, app core.App) error {
	c := i.checking(app)
	for status := Checking; status == Checking; {
		err := ctx.Err()
		if err == nil {
			status, err = c.page()
		}
		if err == nil {
			err = c.tell(status)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// page counts the next rows that are stored together, and returns whether there are more to check.
func (c *checking) page() (Status, error) {
	p, err := c.readPage(c.app, c.position)
	if err != nil {
		return "", err
	}
	if p == nil {
		return Checked, nil
	}
	for n, item := range p.items {
		if err := c.row(item, p.row(n), p.cells[n]); err != nil {
			return "", err
		}
	}
	c.position += len(p.items)
	return Checking, nil
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

// stillSQL tells whether nobody else has taken over: begun, cancelled or checked the import.
const stillSQL = "SELECT EXISTS (SELECT 1 FROM `_imports` WHERE `id` = ? AND `status` = 'checking' AND `position` = ? AND `mapping` = ? AND `match` = ?)"

// tell stores how far the check has come. The error is errMoved where it is overtaken.
func (c *checking) tell(status Status) error {
	mapping, err := json.Marshal(c.Mapping)
	if err != nil {
		return err
	}
	noted, err := c.note(c.refused)
	if err != nil {
		return err
	}
	_, err = sqlite.Write(c.app, func(tx sqlite.Reader) ([]sqlite.Statement, error) {
		still, err := sqlite.Value[bool](tx, stillSQL, c.ID, c.told, string(mapping), c.Match)
		if err == nil && !still {
			err = errMoved
		}
		return append([]sqlite.Statement{{
			Text: "UPDATE `_imports` SET `status` = ?, `position` = ?, `rowsCreated` = ?, `rowsUpdated` = ?, `rowsUnchanged` = ?, `rowsRefused` = ?, " +
				"`updated` = ? WHERE `id` = ?",
			Args: []any{string(status), c.position, c.counts.RowsCreated, c.counts.RowsUpdated, c.counts.RowsUnchanged, c.counts.RowsRefused,
				stamp.Stored(time.Now()), c.ID},
		}}, noted...), err
	})
	if err != nil {
		return fmt.Errorf("storing how far the check of the import %s is: %w", c.ID, err)
	}
	c.refused, c.told = nil, c.position
	return nil
}
