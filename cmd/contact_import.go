package cmd

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/pocketbase/pocketbase/core"
	"github.com/spf13/cobra"

	"contactbase/internal/charset"
	"contactbase/internal/contact/imports"
	"contactbase/internal/contact/sheet"
	"contactbase/internal/tenant"
)

// importing holds the flags of the command import.
type importing struct {
	app           core.App
	source        imports.Source
	choices       sheet.Choices
	columns       []string
	ignoreUnknown bool
	dryRun        bool
	refused       string
	warnings      string
	unknown       []string // columns that are not recognized
}

func contactImport(app core.App) *cobra.Command {
	i := &importing{app: app}
	command := &cobra.Command{
		Use:   "import TENANT FILE...",
		Short: "Create and update contacts from a CSV file, an Excel workbook or vCards",
		Long: "Create and update contacts from a CSV file, an Excel workbook or vCards. The command recognizes " +
			"column headings in seven languages. It prints the mapping before it writes anything, and stops at " +
			"an unrecognized column unless --column or --ignoreUnknown covers it. An empty cell changes nothing. " +
			"If the command is killed, the server finishes the import. Several files must be vCards. " +
			"- is standard input.",
		Example: "  contactbase contact import Acme contacts.csv --dryRun\n" +
			"  contactbase contact import Acme contacts.csv --column 'Betrieb=company' --refused refused.csv\n" +
			"  contactbase contact import Acme *.vcf",
		RunE: run(app, func(command *cobra.Command, args []string) error { return i.run(command, args[0], args[1:]) }),
	}
	command.ValidArgsFunction = func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveDefault
		}
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	i.bind(command)
	return loading(command, Hooks, "hooksDir", "hooksPool", "migrationsDir")
}

// bind adds the flags.
func (i *importing) bind(command *cobra.Command) {
	flags := command.Flags()
	flags.StringArrayVar(&i.columns, "column", nil,
		"map a column to a field, for example 'Betrieb=company'; 'Notes=' skips the column")
	flags.BoolVar(&i.ignoreUnknown, "ignoreUnknown", false, "skip the columns that are not recognized")
	flags.StringVar(&i.choices.Match, "match", "", "match rows to contacts by "+
		alternatives(sheet.Matches)+" (default: row by row, id for files from contact export, "+
		"otherwise externalId, otherwise email)")
	flags.StringVar(&i.choices.Existing, "existing", "",
		alternatives(sheet.Existing)+" contacts that exist; fill sets only empty fields (default: update)")
	flags.StringVar(&i.choices.New, "new", "", alternatives(sheet.New)+" contacts that do not exist (default: create)")
	flags.StringVar(&i.choices.Country, "country", "",
		"read national phone numbers and ambiguous dates of this country, for example DE (default: that of the tenant)")
	flags.BoolVar(&i.choices.Strict, "strict", false,
		"reject a row with an invalid phone, company or custom field instead of leaving out the value")
	flags.IntVar(&i.source.Headings, "headings", 0,
		"the row with the column headings (default: the first of 20 rows that looks like it)")
	flags.StringVar(&i.source.Sheet, "sheet", "", "import this sheet of a workbook (default: the first one)")
	flags.StringVar(&i.source.Encoding, "encoding", "",
		"the encoding of the file, such as windows-1250 or shift_jis (default: found out from the file and the country)")
	flags.BoolVar(&i.dryRun, "dryRun", false, "count what the import would do, without changing contacts")
	flags.StringVar(&i.refused, "refused", "", "write the rejected rows, with the reasons, to this file")
	flags.StringVar(&i.warnings, "warnings", "",
		"write the rows with warnings to this CSV file, with the column "+sheet.ProblemColumn)
	choices(command, "match", sheet.Matches)
	choices(command, "existing", sheet.Existing)
	choices(command, "new", sheet.New)
}

func (i *importing) run(command *cobra.Command, tenantName string, names []string) error {
	owner, err := tenant.Find(i.app, tenantName)
	if err != nil {
		return err
	}
	i.source.Name, i.source.Country = filepath.Base(names[0]), i.choices.Country
	if i.source, err = i.source.Of(i.app, owner.Id); err != nil {
		return err
	}
	for _, name := range names {
		for flag, path := range map[string]string{"refused": i.refused, "warnings": i.warnings} {
			if err := checkReport(path, name); err != nil {
				return fmt.Errorf("--%s: %w", flag, err)
			}
		}
	}
	source, err := i.open(command, names)
	if err != nil {
		return err
	}
	defer func() { _ = source.Close() }()
	file, err := imports.Open(command.Context(), i.app, i.source, i.named(), source)
	if err != nil {
		return withoutCode(err)
	}
	defer func() { _ = file.Close() }()
	if err := i.choose(file); err != nil {
		return err
	}
	i.printMapping(command, file)
	if wrong := i.unanswered(file.Undecided); wrong != nil && !i.dryRun {
		return i.refuseUnanswered(command, file, wrong)
	}
	if err := i.choices.Check(i.app, len(file.Columns)); err != nil {
		return withoutCode(err)
	}
	stored, err := file.Store(command.Context(), i.app, owner.Id)
	if err != nil {
		return withoutCode(err)
	}
	if err := i.begin()(i.app, stored.ID, i.choices); err != nil {
		return errors.Join(withoutCode(err), imports.Cancel(command.Context(), i.app, stored.ID))
	}
	return i.follow(command, stored.ID)
}

// begin returns what starts the import, or its check.
func (i *importing) begin() func(core.App, string, sheet.Choices) error {
	if i.dryRun {
		return imports.Check
	}
	return imports.Start
}

// open returns the file to import: standard input for "-", and several files of vCards as one.
func (i *importing) open(command *cobra.Command, names []string) (io.ReadCloser, error) {
	if len(names) > 1 {
		encoding := i.source.Encoding
		i.source.Encoding = "" // that of the joined file
		return sheet.JoinCards(command.Context(), names, i.app.DataDir(), encoding, i.source.Country)
	}
	if names[0] == "-" {
		return io.NopCloser(command.InOrStdin()), nil
	}
	return os.Open(names[0])
}

// named returns the columns that --column names.
func (i *importing) named() (columns []string) {
	for _, pair := range i.columns {
		column, _, _ := strings.Cut(pair, "=")
		columns = append(columns, column)
	}
	return columns
}

// checkReport returns an error if a report on a file could not be written after the import.
func checkReport(report, source string) error {
	if report == "" || source == "-" {
		return nil
	}
	_, absent := os.Stat(report)
	file, err := os.OpenFile(report, os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() {
		_ = file.Close()
		if absent != nil {
			_ = os.Remove(report)
		}
	}()
	there, err := file.Stat()
	if err != nil {
		return err
	}
	if read, err := os.Stat(source); err != nil || os.SameFile(there, read) {
		return errors.Join(err, fmt.Errorf("%s is the file to import; choose another one", report))
	}
	return nil
}

// choose sets the fields of the columns, as the flags have them.
func (i *importing) choose(file *imports.File) error {
	chosen := map[int]string{}
	for _, pair := range i.columns {
		at := strings.LastIndexByte(pair, '=')
		place := slices.Index(file.Columns, pair[:max(at, 0)])
		if at < 0 || place < 0 {
			return fmt.Errorf("--column must be COLUMN=FIELD with a column of the file, "+
				"for example 'Betrieb=company': %s", strings.Join(file.Columns, ", "))
		}
		chosen[place] = pair[at+1:]
	}
	file.Choose(file.Columns, chosen)
	i.unknown, i.choices.Mapping = file.Unknown, file.Mapping
	if i.ignoreUnknown {
		i.unknown = []string{}
	}
	return nil
}

// printMapping prints which column becomes which field, before anything is written.
func (i *importing) printMapping(command *cobra.Command, file *imports.File) {
	out := command.OutOrStdout()
	if asJSON(command) {
		out = command.ErrOrStderr()
	}
	for _, text := range file.Above {
		fmt.Fprintf(out, "above the headings in row %d, not imported: %s\n", file.Headings, text)
	}
	if file.Encoding != "" && file.Encoding != charset.UTF8 {
		fmt.Fprintf(out, "read as %s\n", file.Encoding)
	}
	mapped, ignored := shown(file.Columns, file.Mapping, i.unknown)
	for _, p := range mapped {
		fmt.Fprintf(out, "%s → %s\n", p.name, p.value)
	}
	for _, column := range ignored {
		fmt.Fprintf(out, "%s is not imported\n", quotedIfBlank(column))
	}
	for _, text := range file.Warnings {
		fmt.Fprintln(out, text)
	}
	for _, remark := range file.Remarks(file.Columns) {
		fmt.Fprintln(out, remark.Text)
	}
}

// unanswered returns the error about what must be chosen before anything is written: the encoding, if there are
// candidates, and the fields of columns that are not recognized. It is nil if nothing is.
func (i *importing) unanswered(candidates []charset.Candidate) (wrong error) {
	if len(candidates) > 0 {
		wrong = errors.New(imports.UnknownEncoding(candidates).Message +
			" Nothing was imported. Choose it with --encoding " + candidates[0].Encoding)
	}
	if len(i.unknown) > 0 {
		wrong = errors.Join(wrong, unmapped(i.unknown))
	}
	return wrong
}

// refuseUnanswered ends an import before anything is written.
func (i *importing) refuseUnanswered(command *cobra.Command, file *imports.File, wrong error) error {
	var printing error
	if asJSON(command) {
		read := &imports.Import{Columns: file.Columns, Choices: i.choices, Headings: file.Headings, Above: file.Above,
			Encoding: file.Encoding, Encodings: file.Undecided}
		printing = printOne(command, i.answer(read))
	}
	return errors.Join(printing, wrong)
}

// unmapped returns the error that names the columns that are not recognized.
func unmapped(columns []string) error {
	var quoted []string
	example := ""
	for _, column := range columns {
		quoted = append(quoted, strconv.Quote(column))
		if example == "" && !strings.ContainsAny(column, "'") { // that a shell would misread
			example = column
		}
	}
	advice := "Rename these columns, or skip them all with --ignoreUnknown"
	if example != "" {
		advice = fmt.Sprintf("Map a column with --column '%s=FIELD', "+
			"skip it with --column '%[1]s=', or skip them all with --ignoreUnknown", example)
	}
	return fmt.Errorf("columns not recognized: %s. Nothing was imported. %s", strings.Join(quoted, ", "), advice)
}

// shown returns the field of each imported column, and the other columns except the unknown ones.
func shown(columns []string, mapping sheet.Mapping, unknown []string) (mapped row, ignored []string) {
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
