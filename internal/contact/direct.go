package contact

import (
	"context"
	"strings"
	"time"

	"github.com/pocketbase/pocketbase/core"
	"github.com/pocketbase/pocketbase/tools/types"

	"contactbase/internal/sqlite"
)

// Where a collection has no fields but the shipped ones, contacts are written by statements of our own: PocketBase's
// way through a record costs twice as much, inside the one transaction that all writers wait for. An admin's own field
// may do something when it is saved, so with one of them the record goes PocketBase's way. Either way the same follows
// a change, in the same transaction (Created, Changed) and after it (announce).

const insertSQL = "INSERT INTO `contacts` (`id`, `tenant`, `name`, `email`, `phone`, `company`, `externalId`, `created`, `updated`) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"

func (s *schema) insert(tx core.App, tenantID string, changes Changes, now time.Time) (*Contact, error) {
	c := &Contact{}
	changes.applyTo(c)
	if c.Name == "" && c.Email == "" {
		return nil, nameOrEmail()
	}
	if err := checkExternalID(tx, tenantID, c.ExternalID); err != nil {
		return nil, err
	}
	id, at, err := place(tx, tenantID, "", now)
	if err != nil {
		return nil, err
	}
	created := at.Format(types.DefaultDateLayout)
	c.ID, c.Created, c.Updated = id, stamp(created), stamp(created)
	_, err = sqlite.Direct(tx.NonconcurrentDB()).Exec(insertSQL, id, tenantID, c.Name, c.Email, c.Phone, c.Company, c.ExternalID, created, created)
	if err != nil {
		return nil, s.refused(err)
	}
	if err := Created(tx, tenantID, c, changes.cause(), now); err != nil {
		return nil, err
	}
	s.announce(tx, core.ModelEventTypeCreate, tenantID, c)
	return c, nil
}

func (s *schema) update(tx core.App, tenantID string, before *Contact, changes Changes, now time.Time) (_ *Contact, changed bool, _ error) {
	c := *before
	changes.applyTo(&c)
	if c.Name == "" && c.Email == "" {
		return nil, false, nameOrEmail()
	}
	columns := c.differing(before)
	if len(columns) == 0 {
		return before, false, nil
	}
	if c.ExternalID != before.ExternalID {
		if err := checkExternalID(tx, tenantID, c.ExternalID); err != nil {
			return nil, false, err
		}
	}
	at, err := after(before, now)
	if err != nil {
		return nil, false, err
	}
	updated := at.Format(types.DefaultDateLayout)
	c.Updated = stamp(updated)
	// only what changed, because SQLite writes every index of what is set
	var set strings.Builder
	args := make([]any, 0, len(columns)+2)
	for _, name := range columns {
		set.WriteString("`" + name + "` = ?, ")
		args = append(args, *c.text(name))
	}
	_, err = sqlite.Direct(tx.NonconcurrentDB()).Exec("UPDATE `contacts` SET "+set.String()+"`updated` = ? WHERE `id` = ? AND `tenant` = ?", append(args, updated, c.ID, tenantID)...)
	if err != nil {
		return nil, false, s.refused(err)
	}
	if err := Changed(tx, tenantID, before, &c, changes.cause(), now); err != nil {
		return nil, false, err
	}
	s.announce(tx, core.ModelEventTypeUpdate, tenantID, &c)
	return &c, true, nil
}

// applyTo sets the shipped fields.
func (c Changes) applyTo(to *Contact) {
	for name, value := range c {
		if field := to.text(name); field != nil {
			*field, _ = value.(string)
		}
	}
}

func (c Changes) cause() string {
	cause, _ := c[causeField].(string)
	return cause
}

// rootKey is where the app keeps itself, for what happens after a transaction and with it its app.
const rootKey = "contactbase.root"

// Bind has what Create and Update write announced in the app once it is committed.
func Bind(app core.App) { app.Store().Set(rootKey, app) }

// announce has PocketBase do once the transaction is committed what follows the saving of a record: the hooks after
// success run and subscribers are told.
func (s *schema) announce(tx core.App, kind, tenantID string, c *Contact) {
	root, bound := tx.Store().Get(rootKey).(core.App)
	transaction := tx.TxInfo()
	if !bound || transaction == nil {
		return
	}
	transaction.OnComplete(func(failure error) error {
		if failure != nil {
			return nil //nolint:nilerr // the failure is the caller's; there is nothing to tell
		}
		e := &core.ModelEvent{Context: context.Background(), Type: kind}
		e.App, e.Model = root, s.recordOf(tenantID, c)
		if kind == core.ModelEventTypeCreate {
			return root.OnModelAfterCreateSuccess().Trigger(e)
		}
		return root.OnModelAfterUpdateSuccess().Trigger(e)
	})
}

// recordOf returns the contact as the record that PocketBase would have saved.
func (s *schema) recordOf(tenantID string, c *Contact) *core.Record {
	record := core.NewRecord(s.collection)
	record.Id = c.ID
	record.SetRaw("tenant", tenantID)
	for _, name := range textFields {
		record.SetRaw(name, *c.text(name))
	}
	for name, value := range map[string]string{"created": c.Created, "updated": c.Updated} {
		at, _ := types.ParseDateTime(value) // made here, so that it parses
		record.SetRaw(name, at)
	}
	record.MarkAsNotNew()
	return record
}
