package cmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/pocketbase/pocketbase/core"
	"github.com/spf13/cobra"

	"contactbase/internal/contact/imports"
	"contactbase/internal/contact/list"
	"contactbase/internal/contact/sheet"
	"contactbase/internal/fault"
	"contactbase/internal/tenant"
)

// NewContactCommand returns the command that brings contacts in and out of spreadsheets.
func NewContactCommand(app core.App) *cobra.Command {
	return group("contact", "Import and export contacts", contactImport(app), contactExport(app))
}

// importing is what the command import is told.
type importing struct {
	app     core.App
	columns []string
	match   string
	dryRun  bool
	refused string
}

func contactImport(app core.App) *cobra.Command {
	i := &importing{app: app}
	command := &cobra.Command{
		Use:   "import TENANT FILE",
		Short: "Create and change contacts by the rows of a CSV file",
		Long: "Create and change contacts by the rows of a CSV file, in UTF-8 or as Excel writes it. Columns that are called like fields are found by " +
			"themselves. An empty cell changes nothing. After a kill, the server goes on with it.",
		Example: "  contactbase contact import Acme contacts.csv --dryRun\n" +
			"  contactbase contact import Acme contacts.csv --match email --column 'Firma=company' --refused refused.csv",
		Args: named,
		RunE: run(app, func(command *cobra.Command, args []string) error { return i.run(command, args[0], args[1]) }),
	}
	command.ValidArgsFunction = func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if len(args) == 1 {
			return nil, cobra.ShellCompDirectiveDefault
		}
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	command.Flags().StringArrayVar(&i.columns, "column", nil, "a column and the field that it holds, as 'Firma=company'; 'Notes=' leaves one out")
	command.Flags().StringVar(&i.match, "match", "", "the field that finds contacts, externalId or email; externalId where the file has it")
	command.Flags().BoolVar(&i.dryRun, "dryRun", false, "only count what would be done")
	command.Flags().StringVar(&i.refused, "refused", "", "a file to write the refused rows to, with the reasons")
	choices(command, "match", []string{"externalId", "email"})
	return command
}

func (i *importing) run(command *cobra.Command, tenantName, name string) error {
	owner, err := tenant.Find(i.app, tenantName)
	if err != nil {
		return err
	}
	file, err := os.Open(name)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }() // which was only read
	if err := i.checkRefused(file); err != nil {
		return fmt.Errorf("--refused: %w", err)
	}
	stored, err := imports.Store(i.app, owner.Id, file.Name(), file)
	if err != nil {
		return worded(err)
	}
	mapping, err := i.mapping(stored)
	if err != nil {
		return errors.Join(err, imports.Cancel(command.Context(), i.app, stored.ID))
	}
	if i.match == "" {
		i.match = "email"
		if slices.Contains(mapping, "externalId") {
			i.match = "externalId"
		}
	}
	begin := imports.Start
	if i.dryRun {
		begin = imports.Check
	}
	if err := begin(i.app, stored.ID, mapping, i.match); err != nil {
		return errors.Join(worded(err), imports.Cancel(command.Context(), i.app, stored.ID))
	}
	return i.follow(command, stored.ID)
}

// checkRefused returns why the refused rows could not be written once the others are applied.
func (i *importing) checkRefused(source *os.File) error {
	if i.refused == "" {
		return nil
	}
	_, absent := os.Stat(i.refused)
	file, err := os.OpenFile(i.refused, os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() {
		_ = file.Close() // nothing was written
		if absent != nil {
			_ = os.Remove(i.refused)
		}
	}()
	there, err := file.Stat()
	if err != nil {
		return err
	}
	if read, err := source.Stat(); err != nil || os.SameFile(there, read) {
		return errors.Join(err, fmt.Errorf("%s is the file that is imported; name another one", i.refused))
	}
	return nil
}

// mapping returns the suggested mapping with the columns that are given.
func (i *importing) mapping(stored *imports.Import) (sheet.Mapping, error) {
	mapping := stored.Mapping
	for _, given := range i.columns {
		column, field, found := strings.Cut(given, "=")
		place := slices.Index(stored.Columns, column)
		if !found || place < 0 {
			return nil, fmt.Errorf("--column takes a column of the file and a field, as 'Firma=company'; the columns are %s", strings.Join(stored.Columns, ", "))
		}
		mapping[place] = field
	}
	return mapping, nil
}

// follow works on the import, tells how far it is, and prints what has become of it. An interrupt ends the import.
func (i *importing) follow(command *cobra.Command, id string) error {
	ctx := command.Context()
	ended := make(chan error, 1)
	go func() { ended <- imports.WorkOn(ctx, i.app, id) }()
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case err := <-ended:
			if ctx.Err() != nil {
				return errors.Join(errors.New("interrupted; what was applied stays"), imports.Cancel(context.WithoutCancel(ctx), i.app, id))
			}
			if err != nil {
				return err
			}
			return i.report(command, id)
		case <-tick.C:
			if present, err := imports.Find(i.app, id); err == nil {
				fmt.Fprintf(command.ErrOrStderr(), "%d of %d rows\n", present.Position, present.Total)
			}
		}
	}
}

func (i *importing) report(command *cobra.Command, id string) error {
	over, err := imports.Find(i.app, id)
	if err != nil {
		return err
	}
	if over.Status != imports.Done && over.Status != imports.Checked {
		return errors.New("the import was cancelled; what was applied stays")
	}
	for _, refusal := range over.Refusals {
		fmt.Fprintf(command.ErrOrStderr(), "row %d: %s\n", refusal.Row, refusal.Reason)
	}
	if i.refused != "" {
		if err := writeFile(i.refused, func(to io.Writer) error { return imports.WriteRefused(i.app, id, to) }); err != nil {
			return err
		}
	}
	if i.dryRun {
		if err := imports.Cancel(command.Context(), i.app, id); err != nil {
			return err
		}
	}
	return printOne(command, row{
		{"id", over.ID},
		{"rows", over.Total},
		{"created", over.RowsCreated},
		{"updated", over.RowsUpdated},
		{"unchanged", over.RowsUnchanged},
		{"refused", over.RowsRefused},
		{"dryRun", i.dryRun},
	})
}

// worded returns the error without its code, where it is a fault.
func worded(err error) error {
	var told *fault.Error
	if errors.As(err, &told) {
		return errors.New(told.Message)
	}
	return err
}

func contactExport(app core.App) *cobra.Command {
	filters := url.Values{}
	command := &cobra.Command{
		Use:     "export TENANT FILE",
		Short:   "Write the contacts of a tenant to a CSV file; - is standard output",
		Example: "  contactbase contact export Acme contacts.csv\n  contactbase contact export Acme - --filter q=lovelace --filter sort=-updatedAt",
		Args:    named,
	}
	given := command.Flags().StringArray("filter", nil, "a filter of the API, such as q=lovelace, email=ada@example.com or updatedSince=2026-01-31T00:00:00Z")
	command.RunE = run(app, func(command *cobra.Command, args []string) error {
		for _, filter := range *given {
			name, value, found := strings.Cut(filter, "=")
			if !found {
				return fmt.Errorf("--filter takes a name and a value, such as q=lovelace, not %q", filter)
			}
			filters.Set(name, value)
		}
		query, err := list.ParseQuery(filters)
		if err != nil {
			return worded(err)
		}
		owner, err := tenant.Find(app, args[0])
		if err != nil {
			return err
		}
		var contacts int
		export := func(to io.Writer) (err error) {
			contacts, err = sheet.Export(command.Context(), app, &list.Reader{}, owner.Id, query, to)
			return err
		}
		if args[1] == "-" {
			return export(command.OutOrStdout())
		}
		if err := writeFile(args[1], export); err != nil {
			return err
		}
		return printOne(command, row{{"tenant", owner.GetString("name")}, {"contacts", contacts}, {"file", args[1]}})
	})
	return command
}
