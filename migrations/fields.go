// Package migrations holds the schema of Contactbase: one file for each collection or group of internal tables.
//
// Released migrations are frozen: they name collections and fields as literals and import nothing of ours, so that a later
// change of the program cannot change what an old migration did. Until 1.0 is tagged, a new field goes into its collection's
// own file. Registering happens on import; PocketBase applies the migrations in the order of their file names.
package migrations

import (
	"fmt"

	"github.com/pocketbase/pocketbase/core"
	m "github.com/pocketbase/pocketbase/migrations"
)

// create registers a migration that creates one System collection.
// Shipped fields are System too: the dashboard can neither rename nor remove them.
func create(file string, build func(app core.App) (*core.Collection, error)) {
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
			return fmt.Errorf("creating the collection %q failed (a collection of your own with that name has to be renamed first): %w", collection.Name, err)
		}
		return nil
	}, nil, file)
}

// execute registers a migration that runs SQL statements.
func execute(file string, statements ...string) {
	m.Register(func(app core.App) error {
		for _, statement := range statements {
			if _, err := app.DB().NewQuery(statement).Execute(); err != nil {
				return fmt.Errorf("%s: %w", file, err)
			}
		}
		return nil
	}, nil, file)
}

// relation returns a single relation to the named collection whose records go when the related one goes.
func relation(app core.App, name, target string) (*core.RelationField, error) {
	collection, err := app.FindCollectionByNameOrId(target)
	if err != nil {
		return nil, fmt.Errorf("the collection %q is missing: %w", target, err)
	}
	return &core.RelationField{Name: name, CollectionId: collection.Id, MaxSelect: 1, Required: true, CascadeDelete: true}, nil
}

func timestamps() []core.Field {
	return []core.Field{
		&core.AutodateField{Name: "created", OnCreate: true},
		&core.AutodateField{Name: "updated", OnCreate: true, OnUpdate: true},
	}
}
