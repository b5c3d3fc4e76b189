package cmd

import (
	"fmt"

	"github.com/pocketbase/dbx"
	"github.com/pocketbase/pocketbase/core"
	"github.com/spf13/cobra"

	"contactbase/internal/delivery/store"
	"contactbase/internal/retention"
	"contactbase/internal/tenant"
)

// runOn is run for a command whose first argument is a tenant, by its ID or name.
func runOn(
	app core.App, do func(command *cobra.Command, t *tenant.Tenant, args []string) error,
) func(*cobra.Command, []string) error {
	return run(app, func(command *cobra.Command, args []string) error {
		t, err := tenant.Find(app, args[0])
		if err != nil {
			return err
		}
		return do(command, t, args)
	})
}

// create creates a record. what names it in errors.
func create(app core.App, collection, what string, values map[string]any) (*core.Record, error) {
	found, err := app.FindCachedCollectionByNameOrId(collection)
	if err != nil {
		return nil, err
	}
	record := core.NewRecord(found)
	record.Load(values)
	if err := app.Save(record); err != nil {
		return nil, validationError("creating the "+what, err)
	}
	return record, nil
}

// listCommand returns the command of a resource that lists its records, with --tenant only those of a tenant.
func listCommand(app core.App, resource, short, collection string, show func(*core.Record) row) *cobra.Command {
	return listWith(app, resource, short, func(command *cobra.Command, filter dbx.HashExp) error {
		return listRecords(command, app, collection, filter, show)
	})
}

// listWith is listCommand with a function that lists the records that the filter selects.
func listWith(
	app core.App, resource, short string, list func(command *cobra.Command, filter dbx.HashExp) error,
) *cobra.Command {
	var tenantName string
	command := &cobra.Command{
		Use:     "list",
		Short:   short,
		Example: "  contactbase " + resource + " list --tenant Acme",
		RunE: run(app, func(command *cobra.Command, _ []string) error {
			filter := dbx.HashExp{}
			if tenantName != "" {
				t, err := tenant.Find(app, tenantName)
				if err != nil {
					return err
				}
				filter["tenant"] = t.Id
			}
			return list(command, filter)
		}),
	}
	command.Flags().StringVar(&tenantName, "tenant", "", "only those of this tenant")
	return command
}

// showing returns a function that shows these fields of a record.
func showing(names ...string) func(*core.Record) row {
	return func(record *core.Record) row { return columns(record, names...) }
}

// listRecords prints the records of a collection in the order of their creation.
func listRecords(
	command *cobra.Command, app core.App, collection string, filter dbx.HashExp, show func(*core.Record) row,
) error {
	var records []*core.Record
	if err := app.RecordQuery(collection).Where(filter).OrderBy("created", "id").All(&records); err != nil {
		return fmt.Errorf("listing %s: %w", collection, err)
	}
	rows := make([]row, 0, len(records))
	for _, record := range records {
		rows = append(rows, show(record))
	}
	return printAll(command, rows)
}

// deleteCommand returns the command of a resource that deletes a record. what names such a record.
func deleteCommand(app core.App, deliveries *store.Store, resource, short, collection, what string) *cobra.Command {
	return &cobra.Command{
		Use:     "delete ID",
		Short:   short,
		Example: "  contactbase " + resource + " delete <id>",
		RunE: run(app, func(command *cobra.Command, args []string) error {
			record, err := app.FindRecordById(collection, args[0])
			if err != nil {
				return notFound(err, what, args[0])
			}
			return deleteWhole(command, app, deliveries, record)
		}),
	}
}

// deleteWhole deletes a record and waits until all its data is gone. This process does it: no server may be running.
func deleteWhole(command *cobra.Command, app core.App, deliveries *store.Store, record *core.Record) error {
	if err := app.Delete(record); err != nil {
		return fmt.Errorf("deleting: %w", err)
	}
	if err := retention.Sweep(command.Context(), app, deliveries); err != nil {
		return err
	}
	return printOne(command, row{{"deleted", record.Id}})
}
