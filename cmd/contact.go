package cmd

import (
	"errors"
	"fmt"
	"io"
	"net/url"
	"strings"

	"github.com/pocketbase/pocketbase/core"
	"github.com/spf13/cobra"

	"contactbase/internal/audit"
	"contactbase/internal/contact"
	"contactbase/internal/contact/list"
	"contactbase/internal/contact/sheet"
	"contactbase/internal/fault"
	"contactbase/internal/tenant"
)

// NewContactCommand returns the command that imports and exports contacts, and adds indexes for their filters.
func NewContactCommand(app core.App) *cobra.Command {
	return group("contact", "Import and export contacts", contactImport(app), contactExport(app), contactIndex(app))
}

// withoutCode returns a fault without its code, about the flag that is at fault if there is one, and other
// errors unchanged.
func withoutCode(err error) error {
	var f *fault.Error
	if !errors.As(err, &f) {
		return err
	}
	for _, flag := range []string{"match", "existing", "new", "country"} {
		if wrong, is := f.Fields[flag]; is {
			return errors.New("--" + flag + " " + wrong.Message)
		}
	}
	return errors.New(f.Message)
}

func contactExport(app core.App) *cobra.Command {
	command := &cobra.Command{
		Use: "export TENANT FILE",
		Short: "Write a tenant's contacts to an Excel workbook (.xlsx), " +
			"vCards (.vcf) or a CSV file, or as CSV to standard output with -",
		Example: "  contactbase contact export Acme contacts.xlsx\n" +
			"  contactbase contact export Acme contacts.csv --for data\n" +
			"  contactbase contact export Acme - --filter q=lovelace --filter sort=-updatedAt",
	}
	given := command.Flags().StringArray("filter", nil,
		"an API filter, such as q=lovelace, company=Acme or updatedSince=2026-01-31T00:00:00Z")
	purpose := command.Flags().String("for", sheet.Purposes[0], "write CSV for a spreadsheet, whose formulas are "+
		"defused with an apostrophe, or as data for another program, unchanged")
	choices(command, "for", sheet.Purposes)
	command.RunE = run(app, func(command *cobra.Command, args []string) error {
		format, ok := sheet.FormatOf(args[1]).For(*purpose)
		if !ok {
			return fmt.Errorf("--for must be %s", alternatives(sheet.Purposes))
		}
		query, err := parseFilters(app, *given)
		if err != nil {
			return err
		}
		owner, err := tenant.Find(app, args[0])
		if err != nil {
			return err
		}
		if err := audit.Write(app, audit.Entry{
			Tenant: owner.Id, Action: audit.Exported, Collection: contact.CollectionName,
		}); err != nil {
			return err
		}
		var contacts int
		export := func(to io.Writer) (err error) {
			contacts, err = sheet.Export(command.Context(), app, &list.Reader{}, owner.Id, query, format, to)
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

// parseFilters returns the query of the flags --filter.
func parseFilters(app core.App, given []string) (list.Query, error) {
	filters := url.Values{}
	for _, filter := range given {
		name, value, found := strings.Cut(filter, "=")
		if !found {
			return list.Query{}, fmt.Errorf("--filter must be NAME=VALUE, such as q=lovelace, not %q", filter)
		}
		filters.Set(name, value)
	}
	query, err := list.ParsePage(app, filters)
	var invalid *fault.Error
	if errors.As(err, &invalid) {
		err = fmt.Errorf("--filter %w; the filters are %s and indexed fields",
			invalid.Fields, strings.Join(list.Filters(), ", "))
	}
	return query, err
}
