package relation_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/pocketbase/dbx"
	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/fault"
	"contactbase/internal/relation"
	"contactbase/internal/testkit"
)

// circle is three contacts of a tenant, named by their ids, in an app whose admin adds relations to them.
type circle struct {
	*testing.T
	app core.App
}

const ada, grace, zoe = "ada000000000000", "grace0000000000", "zoe000000000000"

func newCircle(t *testing.T) *circle {
	t.Helper()
	app := testkit.NewApp(t)
	tenant := testkit.Tenant(t, app, "Acme")
	for _, id := range []string{ada, grace, zoe} {
		testkit.Record(t, app, "contacts", map[string]any{"id": id, "tenant": tenant, "name": id})
	}
	return &circle{t, app}
}

// relate adds a collection with a relation "about" to contacts.
func (c *circle) relate(name string, about core.RelationField) {
	c.Helper()
	about.Name = "about"
	testkit.AddRelated(c.T, c.app, name, "contacts", about)
}

// add adds a record of the collection about the contacts, and returns its id.
func (c *circle) add(collection string, about ...string) string {
	c.Helper()
	return testkit.Record(c.T, c.app, collection, map[string]any{"about": about}).Id
}

// addMany adds records of the collection about ada.
func (c *circle) addMany(collection string, records int) {
	c.Helper()
	testkit.Execute(c.T, c.app,
		"INSERT INTO {{"+collection+"}} (id, about) WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n "+
			"WHERE i < {:records}) SELECT printf('many%011d', i), {:about} FROM n", dbx.Params{"records": records, "about": ada})
}

func (c *circle) find(collection, id string) *core.Record {
	c.Helper()
	found, err := c.app.FindRecordById(collection, id)
	if err != nil {
		c.Fatal(err)
	}
	return found
}

// about returns the contacts in the relation of a record, or "gone" if the record does not exist.
func (c *circle) about(collection, id string) string {
	c.Helper()
	found, err := c.app.FindAllRecords(collection)
	if err != nil {
		c.Fatal(err)
	}
	for _, record := range found {
		if record.Id == id {
			return strings.Join(record.GetStringSlice("about"), " ")
		}
	}
	return "gone"
}

// expectUse expects that the relation forbids the deletion of the contact; "" stands for none.
func (c *circle) expectUse(contact, by string) {
	c.Helper()
	err := relation.CheckUnused(c.app, c.find("contacts", contact))
	if by == "" {
		if err != nil {
			c.Errorf("%s cannot be deleted: %v", contact, err)
		}
		return
	}
	var used *fault.Error
	if want := "the relation " + by + " requires it"; !errors.As(err, &used) || used.Code != fault.InUse || used.Message != want {
		c.Errorf("%s is in use by %v, not by %s", contact, err, by)
	}
}

func TestCheckUnused(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		about   core.RelationField
		records [][]string
		used    []string
	}{
		"optional":                       {core.RelationField{MaxSelect: 1}, [][]string{{ada}}, nil},
		"required":                       {core.RelationField{MaxSelect: 1, Required: true}, [][]string{{ada}, {grace}}, []string{ada, grace}},
		"required, cascading":            {core.RelationField{MaxSelect: 1, Required: true, CascadeDelete: true}, [][]string{{ada}}, nil},
		"required, nobody's":             {core.RelationField{MaxSelect: 1, Required: true}, nil, nil},
		"required of many":               {core.RelationField{MaxSelect: 9, Required: true}, [][]string{{ada}}, []string{ada}},
		"required of many, with another": {core.RelationField{MaxSelect: 9, Required: true}, [][]string{{ada, grace}}, nil},
		"required of many, alone in the second record": {core.RelationField{MaxSelect: 9, Required: true},
			[][]string{{ada, grace}, {ada}, {grace, zoe}}, []string{ada}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCircle(t)
			c.relate("deals", tc.about)
			for _, about := range tc.records {
				c.add("deals", about...)
			}
			for _, contact := range []string{ada, grace, zoe} {
				by := ""
				if slices.Contains(tc.used, contact) {
					by = "about of the collection deals"
				}
				c.expectUse(contact, by)
			}
		})
	}
}

// A relation from contacts to contacts counts like any other, but a contact does not require itself.
func TestCheckUnusedAmongContacts(t *testing.T) {
	t.Parallel()
	for _, most := range []int{1, 9} {
		c := newCircle(t)
		contacts := c.find("contacts", ada).Collection()
		testkit.AddFields(t, c.app, &core.RelationField{Name: "boss", CollectionId: contacts.Id, MaxSelect: most, Required: true})
		for contact, boss := range map[string]string{ada: ada, grace: ada, zoe: zoe} {
			record := c.find("contacts", contact)
			record.Set("boss", boss)
			if err := c.app.Save(record); err != nil {
				t.Fatal(err)
			}
		}
		c.expectUse(ada, "boss of the collection contacts")
		c.expectUse(grace, "")
		c.expectUse(zoe, "")
		if err := c.app.Delete(c.find("contacts", zoe)); err != nil { // as PocketBase sees it
			t.Errorf("deleting a contact that requires itself: %v", err)
		}
	}
}

// If several relations require a contact, the error names the first one.
func TestCheckUnusedNamesTheFirst(t *testing.T) {
	t.Parallel()
	c := newCircle(t)
	for _, name := range []string{"zebras", "apples", "deals"} {
		c.relate(name, core.RelationField{MaxSelect: 1, Required: true})
		c.add(name, ada)
	}
	for range 10 {
		c.expectUse(ada, "about of the collection apples")
	}
}

// A deletion that PocketBase refuses because of a cascade has the code InUse, too.
func TestRefusal(t *testing.T) {
	t.Parallel()
	c := newCircle(t)
	c.relate("notes", core.RelationField{MaxSelect: 1, Required: true, CascadeDelete: true})
	testkit.AddRelated(t, c.app, "signatures", "notes", core.RelationField{Name: "about", MaxSelect: 1, Required: true})
	c.add("signatures", c.add("notes", ada))
	err := relation.Refusal(c.app.Delete(c.find("contacts", ada)))
	var used *fault.Error
	want := "a relation of the collection signatures requires a record that would be deleted with it"
	if !errors.As(err, &used) || used.Code != fault.InUse || used.Message != want {
		t.Errorf("deleting gives %v", err)
	}
	c.find("contacts", ada)
	other := errors.New("another one")
	for _, err := range []error{nil, other} {
		if got := relation.Refusal(err); !errors.Is(got, err) {
			t.Errorf("%v becomes %v", err, got)
		}
	}
}

// detach calls Detach, and returns how many records it found.
func (c *circle) detach(contacts ...string) int {
	c.Helper()
	found, err := relation.Detach(c.Context(), c.app, c.find("contacts", zoe).Collection(), contacts)
	if err != nil {
		c.Fatal(err)
	}
	return found
}

func TestDetach(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		about core.RelationField
		left  []string // of records about ada, about ada and zoe (only zoe in a single relation), and about zoe
	}{
		"optional":           {core.RelationField{MaxSelect: 1}, []string{"", zoe, zoe}},
		"required":           {core.RelationField{MaxSelect: 1, Required: true}, []string{"", zoe, zoe}},
		"cascading":          {core.RelationField{MaxSelect: 1, CascadeDelete: true}, []string{"gone", zoe, zoe}},
		"of many":            {core.RelationField{MaxSelect: 9}, []string{"", zoe, zoe}},
		"of many, required":  {core.RelationField{MaxSelect: 9, Required: true}, []string{"", zoe, zoe}},
		"of many, cascading": {core.RelationField{MaxSelect: 9, CascadeDelete: true}, []string{"gone", zoe, zoe}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCircle(t)
			c.relate("deals", tc.about)
			var deals []string
			for _, about := range [][]string{{ada}, {ada, zoe}, {zoe}} {
				deals = append(deals, c.add("deals", about...))
			}
			c.detach(ada, grace)
			for i, id := range deals {
				if got := c.about("deals", id); got != tc.left[i] {
					t.Errorf("deal %d is about %q, not %q", i, got, tc.left[i])
				}
			}
		})
	}
}

// All relations are detached, however many records have them. The relations of views do not count.
func TestDetachMany(t *testing.T) {
	t.Parallel()
	c := newCircle(t)
	const many = 1_001 // more than Detach looks for at a time
	for _, name := range []string{"calls", "deals"} {
		c.relate(name, core.RelationField{MaxSelect: 1})
		c.addMany(name, many)
	}
	view := core.NewViewCollection("shown")
	view.ViewQuery = "SELECT id, about FROM deals"
	if err := c.app.Save(view); err != nil {
		t.Fatal(err)
	}
	if found, again := c.detach(ada), c.detach(ada); found != 2*many || again != 0 {
		t.Errorf("%d were found, then %d", found, again)
	}
	for _, name := range []string{"calls", "deals"} {
		if n := testkit.Count(t, c.app, "SELECT count(*) FROM {{"+name+"}} WHERE [[about]] = ''", nil); n != many {
			t.Errorf("%d of %s are detached", n, name)
		}
	}
}

// Detach does not change the program's own relations.
func TestDetachLeavesShippedRelations(t *testing.T) {
	t.Parallel()
	c := newCircle(t)
	record := c.find("contacts", ada)
	tenants, err := c.app.FindCollectionByNameOrId("tenants")
	if err != nil {
		t.Fatal(err)
	}
	tenant := record.GetString("tenant")
	if found, err := relation.Detach(t.Context(), c.app, tenants, []string{tenant}); found != 0 || err != nil {
		t.Errorf("detached %d, %v", found, err)
	}
	testkit.AddFields(t, c.app, &core.RelationField{Name: "payer", CollectionId: tenants.Id, MaxSelect: 1})
	record = c.find("contacts", ada)
	record.Set("payer", tenant)
	if err := c.app.Save(record); err != nil {
		t.Fatal(err)
	}
	if found, err := relation.Detach(t.Context(), c.app, tenants, []string{tenant}); found != 1 || err != nil {
		t.Errorf("detached %d, %v", found, err)
	}
	if got := c.find("contacts", ada); got.GetString("payer") != "" || got.GetString("tenant") != tenant {
		t.Errorf("left is %v", got.FieldsData())
	}
}

// Move changes a bounded number of records, and says which relations there are too many of.
func TestMoveIsBounded(t *testing.T) {
	t.Parallel()
	c := newCircle(t)
	c.relate("deals", core.RelationField{MaxSelect: 1})
	c.addMany("deals", 1_001)
	var used *fault.Error
	err := relation.Move(c.app, c.find("contacts", ada).Collection(), []string{ada}, grace, func(record *core.Record) error { return c.app.Save(record) })
	if !errors.As(err, &used) || used.Code != fault.InUse || !strings.Contains(used.Message, "deals") {
		t.Errorf("the error is %v", err)
	}
	if left := testkit.Count(t, c.app, "SELECT count(*) FROM deals WHERE about = '"+ada+"'", nil); left != 1001 {
		t.Errorf("%d of 1001 records are left", left)
	}
}
