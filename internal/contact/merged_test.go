package contact_test

import (
	"testing"

	"github.com/pocketbase/dbx"
	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/contact"
	"contactbase/internal/testkit"
)

// A merge passes on the latest 1,000 old ids of the contacts, and forgets the others.
func TestMergePassesOnLatestOldIDs(t *testing.T) {
	t.Parallel()
	app := testkit.NewApp(t)
	acme := testkit.Tenant(t, app, "Acme")
	var ids []string
	for _, name := range []string{"remaining", "old", "older"} {
		c, err := testkit.Create(app, acme, contact.Changes{"name": name})
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, c.ID)
		testkit.Execute(t, app, "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 700) "+
			"INSERT INTO _mergedContacts (tenant, oldId, oldExternalId, contact) "+
			"SELECT {:tenant}, printf('%s-%d', {:name}, i), '', {:id} FROM n", dbx.Params{"tenant": acme, "name": name, "id": c.ID})
	}
	merge := contact.Merge{ID: ids[0], From: ids[1:], Fields: map[string]string{}}
	if err := app.RunInTransaction(func(tx core.App) error {
		_, err := merge.Apply(tx, acme)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	all := testkit.Count(t, app, "SELECT count(*) FROM _mergedContacts", nil)
	latest := testkit.Count(t, app, "SELECT count(*) FROM _mergedContacts WHERE contact = {:id} AND "+
		"(oldId LIKE 'older-%' OR oldId IN ({:old}, {:older}))", dbx.Params{"id": ids[0], "old": ids[1], "older": ids[2]})
	if all != 1000 || latest != 702 {
		t.Errorf("%d old ids remain, %d of them the latest", all, latest)
	}
}
