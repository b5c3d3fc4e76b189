// Package migrations holds the schema of Contactbase: one file for each collection or group of internal tables.
//
// Released migrations are frozen. They name collections and fields as literals and import nothing of ours, so that
// later changes of the program cannot change them. Until 1.0 is tagged, a new field goes into its collection's own
// file. Importing the package registers the migrations; PocketBase applies them in the order of their file names.
package migrations

import (
	"fmt"

	"github.com/pocketbase/pocketbase/core"
	m "github.com/pocketbase/pocketbase/migrations"
)

// create registers a migration that creates a System collection. Its fields are System too: the dashboard can neither
// rename nor remove them. The SQL statements, if any, follow in the same transaction.
func create(file string, build func(app core.App) (*core.Collection, error), statements ...string) {
	m.Register(func(app core.App) error {
		collection, err := build(app)
		if err != nil {
			return err
		}
		collection.System = true
		for _, field := range collection.Fields {
			field.SetSystem(true)
		}
		if err := app.Save(collection); err != nil {
			return fmt.Errorf("creating the collection %q failed (if you have a collection with this name, "+
				"rename it first): %w", collection.Name, err)
		}
		return executeAll(app, file, statements)
	}, nil, file)
}

// add registers a migration that adds a System field to a collection. Reverting it removes the field with its values.
func add(file, collection string, field core.Field) {
	field.SetSystem(true)
	m.Register(
		changing(collection, func(c *core.Collection) { c.Fields.Add(field) }),
		changing(collection, func(c *core.Collection) { c.Fields.RemoveByName(field.GetName()) }),
		file,
	)
}

// addIndex registers a migration that adds an index to a collection. condition is that of a partial index, or "".
func addIndex(file, collection, name, columns, condition string) {
	m.Register(
		changing(collection, func(c *core.Collection) { c.AddIndex(name, false, columns, condition) }),
		changing(collection, func(c *core.Collection) { c.RemoveIndex(name) }),
		file,
	)
}

// changing returns the work of a migration that changes a collection.
func changing(collection string, change func(*core.Collection)) func(core.App) error {
	return func(app core.App) error {
		found, err := app.FindCollectionByNameOrId(collection)
		if err != nil {
			return fmt.Errorf("the collection %q is missing: %w", collection, err)
		}
		change(found)
		if err := app.SaveNoValidate(found); err != nil { // PocketBase's validation refuses to remove a System field
			return fmt.Errorf("changing the collection %q: %w", collection, err)
		}
		return nil
	}
}

// execute registers a migration that runs SQL statements.
func execute(file string, statements ...string) {
	m.Register(func(app core.App) error { return executeAll(app, file, statements) }, nil, file)
}

// revertible registers a migration that runs SQL statements, and others to revert them.
func revertible(file string, statements, reverting []string) {
	m.Register(
		func(app core.App) error { return executeAll(app, file, statements) },
		func(app core.App) error { return executeAll(app, file, reverting) },
		file,
	)
}

func executeAll(app core.App, file string, statements []string) error {
	for _, statement := range statements {
		if _, err := app.DB().NewQuery(statement).Execute(); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
	}
	return nil
}

// relation returns a single relation to a collection, with cascading deletes.
func relation(app core.App, name, target string) (*core.RelationField, error) {
	collection, err := app.FindCollectionByNameOrId(target)
	if err != nil {
		return nil, fmt.Errorf("the collection %q is missing: %w", target, err)
	}
	return &core.RelationField{
		Name: name, CollectionId: collection.Id, MaxSelect: 1, Required: true, CascadeDelete: true,
	}, nil
}

func timestamps() []core.Field {
	return []core.Field{
		&core.AutodateField{Name: "created", OnCreate: true},
		&core.AutodateField{Name: "updated", OnCreate: true, OnUpdate: true},
	}
}
