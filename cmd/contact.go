package cmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/pocketbase/pocketbase/core"
	"github.com/spf13/cobra"

	"contactbase/internal/audit"
	"contactbase/internal/contact"
	"contactbase/internal/contact/imports"
	"contactbase/internal/contact/list"
	"contactbase/internal/contact/sheet"
	"contactbase/internal/fault"
	"contactbase/internal/tenant"
)

// NewContactCommand returns the command that imports and exports contacts, and adds indexes for their filters.
func NewContactCommand(app core.App) *cobra.Command {
	return group("contact", "Import and export contacts", contactImport(app), contactExport(app), contactIndex(app))
}

var matches = []string{"id", "externalId", "email"}

// importing holds the flags of the command import.
type importing struct {
	app           core.App
	columns       []string
	ignoreUnknown bool
	match         string
	dryRun        bool
	refused       string
	sheet         string
}

func contactImport(app core.App) *cobra.Command {
	i := &importing{app: app}
	command := &cobra.Command{
		Use:   "import TENANT FILE",
		Short: "Create and update contacts from a CSV file or an Excel workbook",
		Long: "Create and update contacts from a CSV file or an Excel workbook. The command recognizes column headings in " +
			"English, German, French and Spanish. It prints the mapping before it writes anything, and stops at an unrecognized column unless " +
			"--column or --ignoreUnknown covers it. An empty cell changes nothing. If the command is killed, the server finishes the import.",
		Example: "  contactbase contact import Acme contacts.csv --dryRun\n" +
			"  contactbase contact import Acme contacts.csv --match email --column 'Betrieb=company' --column 'Notes=' --refused refused.csv",
		RunE: run(app, func(command *cobra.Command, args []string) error { return i.run(command, args[0], args[1]) }),
	}
	command.ValidArgsFunction = func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if len(args) == 1 {
			return nil, cobra.ShellCompDirectiveDefault
		}
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	command.Flags().StringArrayVar(&i.columns, "column", nil, "map a column to a field, for example 'Betrieb=company'; 'Notes=' skips the column")
	command.Flags().BoolVar(&i.ignoreUnknown, "ignoreUnknown", false, "skip the columns that are not recognized")
	command.Flags().StringVar(&i.match, "match", "", "match rows to contacts by "+alternatives(matches)+" (default: id for files from contact export, "+
		"otherwise externalId if mapped, otherwise email)")
	command.Flags().BoolVar(&i.dryRun, "dryRun", false, "count what the import would do, without writing anything")
	command.Flags().StringVar(&i.refused, "refused", "", "write the rejected rows, with the reasons, to this file")
	command.Flags().StringVar(&i.sheet, "sheet", "", "import this sheet of a workbook (default: the first one)")
	choices(command, "match", matches)
	return command
}

func (i *importing) run(command *cobra.Command, tenantName, name string) error {
	if i.match != "" {
		if err := oneOf("match", matches, i.match); err != nil {
			return err
		}
	}
	owner, err := tenant.Find(i.app, tenantName)
	if err != nil {
		return err
	}
	file, err := os.Open(name)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	if err := i.checkRefused(file); err != nil {
		return fmt.Errorf("--refused: %w", err)
	}
	reader, err := imports.Open(command.Context(), i.app, i.sheet, file)
	if err != nil {
		return withoutCode(err)
	}
	defer func() { _ = reader.Close() }()
	columns := reader.Columns
	mapping, unknown, err := i.mapping(columns)
	if err != nil {
		return err
	}
	if err := i.announce(command, columns, mapping, unknown); err != nil {
		return err
	}
	if err := mapping.Check(i.app, len(columns), i.match); err != nil {
		return withoutCode(err)
	}
	stored, err := imports.StoreRows(command.Context(), i.app, owner.Id, filepath.Base(name), reader)
	if err != nil {
		return withoutCode(err)
	}
	begin := imports.Start
	if i.dryRun {
		begin = imports.Check
	}
	if err := begin(i.app, stored.ID, mapping, i.match); err != nil {
		return errors.Join(withoutCode(err), imports.Cancel(command.Context(), i.app, stored.ID))
	}
	return i.follow(command, stored.ID)
}

// checkRefused returns an error if the rejected rows could not be written after the import.
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
		_ = file.Close()
		if absent != nil {
			_ = os.Remove(i.refused)
		}
	}()
	there, err := file.Stat()
	if err != nil {
		return err
	}
	if read, err := source.Stat(); err != nil || os.SameFile(there, read) {
		return errors.Join(err, fmt.Errorf("%s is the file to import; choose another one", i.refused))
	}
	return nil
}

// mapping returns the mapping of the columns, and those that are neither recognized nor skipped on purpose.
func (i *importing) mapping(columns []string) (mapping sheet.Mapping, unknown []string, err error) {
	given := map[int]string{}
	for _, pair := range i.columns {
		column, field, found := strings.Cut(pair, "=")
		place := slices.Index(columns, column)
		if !found || place < 0 {
			return nil, nil, fmt.Errorf("--column must be COLUMN=FIELD with a column of the file, for example 'Betrieb=company': %s", strings.Join(columns, ", "))
		}
		given[place] = field
	}
	mapping, unknown, err = sheet.Complete(i.app, columns, given, i.match)
	if i.ignoreUnknown {
		unknown = nil
	}
	i.match = cmp.Or(i.match, mapping.DefaultMatch())
	return mapping, unknown, err
}

// announce prints which column becomes which field, before anything is written. The error names the unknown columns.
func (i *importing) announce(command *cobra.Command, columns []string, mapping sheet.Mapping, unknown []string) error {
	out := command.OutOrStdout()
	if asJSON(command) {
		out = command.ErrOrStderr()
	}
	mapped, ignored := i.shown(columns, mapping, unknown)
	for _, p := range mapped {
		fmt.Fprintf(out, "%s → %s\n", p.name, p.value)
	}
	for _, column := range ignored {
		fmt.Fprintf(out, "%s is not imported\n", quotedIfBlank(column))
	}
	if len(unknown) == 0 {
		return nil
	}
	wrong := i.unmapped(mapping, unknown)
	if asJSON(command) {
		return errors.Join(printOne(command, i.answer(&imports.Import{Columns: columns, Mapping: mapping}, unknown)), wrong)
	}
	return wrong
}

// unmapped returns the error that names the columns without a field: those not recognized, and those whose field another column has.
func (i *importing) unmapped(mapping sheet.Mapping, columns []string) error {
	var unrecognized, repeated []string
	example := ""
	for _, column := range columns {
		alone, err := sheet.Suggest(i.app, []string{column})
		if err != nil {
			return err
		}
		if field := alone[0]; field != "" && slices.Contains(mapping, field) {
			repeated = append(repeated, fmt.Sprintf("%q (%s)", column, field))
			continue
		}
		unrecognized = append(unrecognized, strconv.Quote(column))
		if example == "" && !strings.ContainsAny(column, "='") { // that a shell or --column would misread
			example = column
		}
	}
	var wrong []string
	advice := "Rename these columns, or skip them all with --ignoreUnknown"
	if len(repeated) > 0 {
		wrong = append(wrong, "columns for which another column already has the field: "+strings.Join(repeated, ", "))
		advice = "Skip a column with --column 'COLUMN=', or skip them all with --ignoreUnknown"
	}
	if len(unrecognized) > 0 {
		wrong = slices.Insert(wrong, 0, "columns not recognized: "+strings.Join(unrecognized, ", "))
	}
	if example != "" {
		advice = fmt.Sprintf("Map a column with --column '%s=FIELD', skip it with --column '%[1]s=', or skip them all with --ignoreUnknown", example)
	}
	return fmt.Errorf("%s. Nothing was imported. %s", strings.Join(wrong, "; "), advice)
}

// shown returns the field of each imported column, and the other columns except the unknown ones.
func (i *importing) shown(columns []string, mapping sheet.Mapping, unknown []string) (mapped row, ignored []string) {
	mapped, ignored = row{}, []string{}
	for place, column := range columns {
		switch {
		case mapping[place] != "":
			mapped = append(mapped, property{column, mapping[place]})
		case !slices.Contains(unknown, column):
			ignored = append(ignored, column)
		}
	}
	return mapped, ignored
}

func quotedIfBlank(column string) string {
	if column == "" {
		return `""`
	}
	return column
}

// follow works on the import, reports its progress and prints the result. An interrupt cancels the import.
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
				return errors.Join(errors.New("interrupted; rows already applied stay"), imports.Cancel(context.WithoutCancel(ctx), i.app, id))
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
		return errors.New("the import was cancelled; rows already applied stay")
	}
	for _, refusal := range over.Refusals {
		fmt.Fprintf(command.ErrOrStderr(), "row %d: %s\n", refusal.Row, refusal.Reason)
	}
	if i.refused != "" {
		format := over.Format
		if named := sheet.FormatOf(i.refused); named == sheet.Workbook || format == sheet.Workbook {
			format = named
		}
		if err := writeFile(i.refused, func(to io.Writer) error { return imports.WriteRefused(i.app, id, format, to) }); err != nil {
			return err
		}
	}
	if i.dryRun {
		if err := imports.Cancel(command.Context(), i.app, id); err != nil {
			return err
		}
	}
	answer := i.answer(over, []string{})
	if !asJSON(command) { // announce has printed the columns
		answer = answer[:slices.IndexFunc(answer, func(p property) bool { return p.name == "match" })]
	}
	return printOne(command, answer)
}

// answer returns the command's report on an import.
func (i *importing) answer(of *imports.Import, unknown []string) row {
	mapped, ignored := i.shown(of.Columns, of.Mapping, unknown)
	return row{
		{"id", of.ID},
		{"rows", of.Total},
		{"created", of.RowsCreated},
		{"updated", of.RowsUpdated},
		{"unchanged", of.RowsUnchanged},
		{"refused", of.RowsRefused},
		{"dryRun", i.dryRun},
		{"match", i.match},
		{"mapping", mapped},
		{"ignored", ignored},
		{"unknown", unknown},
	}
}

// withoutCode returns a fault without its code, about the flag --match if that is at fault, and other errors unchanged.
func withoutCode(err error) error {
	var f *fault.Error
	if errors.As(err, &f) {
		if match, is := f.Fields["match"]; is {
			return errors.New("--match " + match.Message)
		}
		return errors.New(f.Message)
	}
	return err
}

func contactExport(app core.App) *cobra.Command {
	filters := url.Values{}
	command := &cobra.Command{
		Use:     "export TENANT FILE",
		Short:   "Write a tenant's contacts to an Excel workbook (.xlsx) or a CSV file, or as CSV to standard output with -",
		Example: "  contactbase contact export Acme contacts.xlsx\n  contactbase contact export Acme - --filter q=lovelace --filter sort=-updatedAt",
	}
	given := command.Flags().StringArray("filter", nil, "an API filter, such as q=lovelace, company=Acme or updatedSince=2026-01-31T00:00:00Z")
	command.RunE = run(app, func(command *cobra.Command, args []string) error {
		for _, filter := range *given {
			name, value, found := strings.Cut(filter, "=")
			if !found {
				return fmt.Errorf("--filter must be NAME=VALUE, such as q=lovelace, not %q", filter)
			}
			filters.Set(name, value)
		}
		query, err := list.ParseQuery(app, filters)
		var invalid *fault.Error
		if errors.As(err, &invalid) {
			return fmt.Errorf("--filter %w; the filters are %s and indexed fields", invalid.Fields, strings.Join(list.Filters(), ", "))
		}
		if err != nil {
			return err
		}
		owner, err := tenant.Find(app, args[0])
		if err != nil {
			return err
		}
		if err := audit.Write(app, audit.Entry{Tenant: owner.Id, Action: audit.Exported, Collection: contact.CollectionName}); err != nil {
			return err
		}
		var contacts int
		export := func(to io.Writer) (err error) {
			contacts, err = sheet.Export(command.Context(), app, &list.Reader{}, owner.Id, query, sheet.FormatOf(args[1]), to)
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
