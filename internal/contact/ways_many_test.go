package contact_test

import (
	"errors"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/contact"
	"contactbase/internal/testkit"
)

// upserts writes by external ids, where the contacts have some.
type upserts struct{ functions }

func (w upserts) create(contacts ...string) error {
	return w.each(contacts, func(app core.App, values string) error {
		changes, err := contact.ParseChanges(app, decode(w.TB, values))
		if err != nil {
			return err
		}
		externalID, _ := changes["externalId"].(string)
		if _, taken := app.FindFirstRecordByData(contact.CollectionName, "externalId", externalID); externalID == "" || taken == nil {
			return w.functions.create(values)
		}
		_, created, err := testkit.Upsert(app, w.Tenant, changes)
		if err == nil && !created {
			err = errors.New("it was there")
		}
		return err
	})
}

func (w upserts) update(externalID, change string) error {
	object := decode(w.TB, change)
	if _, other := object["externalId"]; other {
		return w.functions.update(externalID, change)
	}
	object["externalId"] = externalID
	changes, err := contact.ParseChanges(w.App, object)
	if err != nil {
		return err
	}
	_, created, err := testkit.Upsert(w.App, w.Tenant, changes)
	if err == nil && created {
		err = errors.New("it was not there")
	}
	return err
}

// items writes the items of a call.
type items struct{ functions }

func (w items) create(contacts ...string) error {
	var all []contact.Item
	for _, values := range contacts {
		changes, err := contact.ParseChanges(w.App, decode(w.TB, values))
		if err != nil {
			return err
		}
		all = append(all, contact.Item{Action: contact.Create, Changes: changes})
	}
	return w.write(contact.Created, all...)
}

func (w items) update(externalID, change string) error {
	changes, err := contact.ParseChanges(w.App, decode(w.TB, change))
	if err != nil {
		return err
	}
	return w.write("", contact.Item{Action: contact.Update, Keys: w.keys(externalID), Changes: changes})
}

func (w items) remove(externalID string) error {
	return w.write(contact.Deleted, contact.Item{Action: contact.Delete, Keys: w.keys(externalID)})
}

func (w items) keys(externalID string) []contact.Key {
	return []contact.Key{{Field: contact.ID, Value: w.id(externalID)}}
}

// write writes the items, which end with the status where one is given, and returns the errors in one of them.
func (w items) write(status contact.Status, all ...contact.Item) (refused error) {
	err := w.App.RunInTransaction(func(tx core.App) error {
		results, err := contact.Write(tx, w.Tenant, all)
		for _, r := range results {
			switch {
			case r.Wrong != nil:
				if refused = r.Wrong; r.Wrong.Fields != nil {
					refused = r.Wrong.Fields
				}
			case status != "" && r.Status != status:
				refused = errors.New("it ended as " + string(r.Status))
			}
		}
		return err
	})
	return errors.Join(refused, err)
}
