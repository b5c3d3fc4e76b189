package contact_test

import (
	"errors"
	"strings"
	"testing"

	validation "github.com/pocketbase/ozzo-validation/v4"
	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/contact"
	"contactbase/internal/fault"
	"contactbase/internal/testkit"
)

// The API refuses a relation to too few or too many rows in the words of PocketBase.
func TestNumberOfRelatedRows(t *testing.T) {
	t.Parallel()
	b := newBook(t)
	testkit.ChangeContacts(t, b.App, func(c *core.Collection) {
		c.Fields.Add(&core.RelationField{Name: "peers", CollectionId: c.Id, Required: true, MinSelect: 2, MaxSelect: 3})
	})
	for _, ids := range []string{``, `"a"`, `"a","b","c","d"`} {
		body := `{"name":"Ada","peers":[` + ids + `]}`
		var verdict validation.Errors
		if err := (records{b}).create(body); !errors.As(err, &verdict) || verdict["peers"] == nil {
			t.Fatalf("a record of %s gives %v", body, err)
		}
		var faults fault.Fields
		if err := (functions{b}).create(body); !errors.As(err, &faults) || !strings.EqualFold(faults["peers"].Message, strings.TrimSuffix(verdict["peers"].Error(), ".")) {
			t.Errorf("%s gives %v, and as a record %v", body, err, verdict)
		}
	}
}

// What the transaction itself has deleted or created counts for a relation.
func TestRelationsWithinATransaction(t *testing.T) {
	t.Parallel()
	b := newBook(t)
	testkit.ChangeContacts(t, b.App, func(c *core.Collection) {
		c.Fields.Add(&core.RelationField{Name: "boss", CollectionId: c.Id, MaxSelect: 1})
	})
	ada, gone := b.Add(map[string]any{"name": "Ada"}), b.Add(map[string]any{"name": "Gone"})
	err := b.App.RunInTransaction(func(tx core.App) error {
		if err := testkit.Delete(tx, gone.ID); err != nil {
			return err
		}
		var faults fault.Fields
		if _, _, err := testkit.Update(tx, b.Tenant, ada.ID, contact.Changes{"boss": gone.ID}); !errors.As(err, &faults) || faults["boss"].Code == "" {
			t.Errorf("a relation to a contact that was deleted gives %v", err)
		}
		boss, err := testkit.Create(tx, b.Tenant, contact.Changes{"name": "Boss"})
		if err != nil {
			return err
		}
		_, _, err = testkit.Update(tx, b.Tenant, ada.ID, contact.Changes{"boss": boss.ID})
		return err
	})
	if err != nil {
		t.Errorf("a relation to a contact that was created gives %v", err)
	}
}
