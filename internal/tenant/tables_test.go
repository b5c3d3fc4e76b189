package tenant_test

import (
	"database/sql"
	"slices"
	"testing"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/sqlite"
	"contactbase/internal/tenant"
	"contactbase/internal/testkit"
)

// Tables names every table that refers to a tenant, directly or through a relation, with the keys and
// owners of the schema.
func TestTablesAreThoseOfTheSchema(t *testing.T) {
	t.Parallel()
	app := testkit.NewApp(t)
	db := sqlite.Direct(app.ConcurrentDB())
	names := []string{tenant.CollectionName}
	for _, table := range tenant.Tables {
		names = append(names, table.Name)
	}
	missing, err := sqlite.Values[string](db, "SELECT s.`name` FROM sqlite_schema s, pragma_table_info(s.`name`) c WHERE s.`type` = 'table' AND c.`name` = 'tenant'")
	if err != nil || len(missing) == 0 {
		t.Fatalf("reading the schema: %v (%v)", missing, err)
	}
	collections, err := app.FindAllCollections()
	if err != nil {
		t.Fatal(err)
	}
	ids := map[string]string{}
	for _, c := range collections {
		ids[c.Id] = c.Name
	}
	for _, c := range collections {
		for _, field := range c.Fields {
			if relation, ok := field.(*core.RelationField); ok && slices.Contains(names, ids[relation.CollectionId]) {
				missing = append(missing, c.Name)
			}
		}
	}
	for _, name := range missing {
		if !slices.Contains(names, name) {
			t.Errorf("%s has rows of tenants and is not one of tenant.Tables", name)
		}
	}
	known := map[string]bool{tenant.CollectionName: true}
	for _, table := range tenant.Tables {
		columns := map[string]int{} // with their position in the primary key
		err := sqlite.Each(db, "SELECT `name`, `pk` FROM pragma_table_info(?)", func(rows *sql.Rows) error {
			var name string
			var key int
			err := rows.Scan(&name, &key)
			columns[name] = key
			return err
		}, table.Name)
		if err != nil || len(columns) == 0 {
			t.Fatalf("the columns of %s are %v (%v)", table.Name, columns, err)
		}
		key := table.Key
		if key == nil {
			key = []string{"id"}
		}
		for i, column := range key {
			if columns[column] != i+1 {
				t.Errorf("%s.%s is not number %d of the primary key", table.Name, column, i+1)
			}
		}
		for column, owner := range table.Owners {
			if _, exists := columns[column]; !exists || !known[owner] {
				t.Errorf("%s.%s refers to nothing of %s, or stands in front of it", table.Name, column, owner)
			}
		}
		if _, direct := columns["tenant"]; !direct && table.Deletion != tenant.WithOwner {
			t.Errorf("%s is deleted by a column that it does not have", table.Name)
		}
		trigger, err := sqlite.Value[bool](db, "SELECT EXISTS (SELECT 1 FROM sqlite_schema WHERE `type` = 'trigger' AND `tbl_name` = 'tenants' "+
			"AND instr(`sql`, 'AFTER DELETE') AND instr(`sql`, 'DELETE FROM `' || ? || '`'))", table.Name)
		if err != nil || trigger != (table.Deletion == tenant.ByTrigger) {
			t.Errorf("that a trigger deletes the rows of %s is %v (%v)", table.Name, trigger, err)
		}
		known[table.Name] = true
	}
}
