package move_test

import (
	"strings"
	"testing"

	"github.com/pocketbase/dbx"
	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/testkit"
)

// related returns an installation where contacts refer to each other, to countries, which are shared, and to
// accounts, which belong to tenants.
func related(t *testing.T, app core.App) core.App {
	t.Helper()
	contacts, err := app.FindCollectionByNameOrId("contacts")
	if err != nil {
		t.Fatal(err)
	}
	countries := core.NewBaseCollection("countries")
	if err := app.Save(countries); err != nil {
		t.Fatal(err)
	}
	testkit.AddRelated(t, app, "accounts", "tenants", core.RelationField{Name: "owner", MaxSelect: 1})
	accounts, err := app.FindCollectionByNameOrId("accounts")
	if err != nil {
		t.Fatal(err)
	}
	contacts.Fields.Add(
		&core.RelationField{Name: "friends", CollectionId: contacts.Id, MaxSelect: 5}, &core.RelationField{Name: "country", CollectionId: countries.Id, MaxSelect: 1},
		&core.RelationField{Name: "accounts", CollectionId: accounts.Id, MaxSelect: 5},
	)
	if err := app.Save(contacts); err != nil {
		t.Fatal(err)
	}
	return app
}

const germany, account = "germany00000000", "account00000000"

// References to the tenant's own rows and to shared rows are imported. Those to another tenant's rows, or to missing
// rows, are rejected.
func TestRelations(t *testing.T) {
	t.Parallel()
	s := newSource(t, 20)
	related(t, s.app)
	set := func(values string) []byte {
		t.Helper()
		// bypasses the triggers, which the SQL console cannot
		testkit.Execute(t, s.app, "UPDATE _moves SET open = 1", nil)
		testkit.Execute(t, s.app, "UPDATE contacts SET "+values+" WHERE rowid = (SELECT min(rowid) FROM contacts WHERE tenant = {:tenant})", dbx.Params{"tenant": s.tenant})
		testkit.Execute(t, s.app, "UPDATE _moves SET open = 0", nil)
		archive, err := s.tryExport(t)
		if err != nil && strings.Contains(err.Error(), "friends refer to rows of contacts that do not exist") {
			return nil
		}
		if err != nil {
			t.Fatal(err)
		}
		return archive
	}
	s.freeze(t)
	other := str(t, s.app, "SELECT id FROM contacts WHERE tenant != {:tenant} LIMIT 1", s.tenant)
	for _, stranger := range []string{other, "nobody000000000", account} {
		if set(`friends = '["`+stranger+`"]'`) != nil {
			t.Errorf("a friend %s is exported", stranger)
		}
	}
	own := str(t, s.app, "SELECT id FROM contacts WHERE tenant = {:tenant} ORDER BY rowid DESC LIMIT 1", s.tenant)
	archive := set(`friends = '["` + own + `"]', country = '` + germany + `', accounts = '["` + account + `"]'`)

	target := related(t, newTarget(t))
	before := dump(t, target)
	refused := func(says string) {
		t.Helper()
		if err := importInto(t.Context(), t, target, archive, nil); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("the import ends with %v", err)
		}
		unchanged(t, target, before)
	}
	refused("contacts.country refer to rows of countries that do not exist here: add those rows")
	testkit.Execute(t, target, "INSERT INTO countries (id) VALUES ({:id})", dbx.Params{"id": germany})
	testkit.Execute(t, target, "INSERT INTO accounts (id, owner) SELECT {:id}, id FROM tenants", dbx.Params{"id": account})
	before = dump(t, target)
	refused("contacts.accounts refer to rows of accounts that belong to another tenant")
	testkit.Execute(t, target, "UPDATE accounts SET owner = {:tenant}", dbx.Params{"tenant": s.tenant})
	if err := importInto(t.Context(), t, target, archive, nil); err != nil {
		t.Fatal(err)
	}
	equal(t, s, target)
}

// An import respects an admin's unique index.
func TestUniqueIndexOfTheAdmin(t *testing.T) {
	t.Parallel()
	s := newSource(t, 20)
	s.freeze(t)
	archive, target := s.export(t), newTarget(t)
	contacts, err := target.FindCollectionByNameOrId("contacts")
	if err != nil {
		t.Fatal(err)
	}
	contacts.AddIndex("idx_own", true, "lower(`email`), `company`", "`name` != ''")
	if err := target.Save(contacts); err != nil {
		t.Fatal(err)
	}
	testkit.Execute(t, target, "INSERT INTO contacts (tenant, name, email) VALUES ('somebody', 'x', 'P1@example.com')", nil)
	before := dump(t, target)
	if err := importInto(t.Context(), t, target, archive, nil); err == nil || !strings.Contains(err.Error(), "are already used by another tenant") {
		t.Errorf("the import ends with %v", err)
	}
	unchanged(t, target, before)
	twice := tampered(t, archive, "UPDATE contacts SET email = 'P2@example.com', company = '' WHERE rowid IN (1, 2)")
	if err := importInto(t.Context(), t, target, twice, nil); err == nil || !strings.Contains(err.Error(), "are in contacts more than once") {
		t.Errorf("the import ends with %v", err)
	}
	unchanged(t, target, before)
}
