package cmd

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/pocketbase/pocketbase/core"
	"github.com/spf13/cobra"

	"contactbase/internal/contact/list"
)

// shortPause is how long the command may stop writers without confirmation.
const shortPause = 50 * time.Millisecond

func contactIndex(app core.App) *cobra.Command {
	var remove, yes bool
	command := &cobra.Command{
		Use:   "index FIELD",
		Short: "Let the API filter contacts by the company or a custom field",
		Long: "Add the index that the API needs to filter contacts by the company or a custom field. Nothing can " +
			"be written while the index is built. The command says how long that takes, and asks for --yes if it " +
			"takes longer than 50 ms.",
		Example: "  contactbase contact index company --yes\n  contactbase contact index company --remove",
		RunE: run(app, func(command *cobra.Command, args []string) error {
			field, err := filterField(app, args[0])
			switch {
			case err != nil:
				return err
			case remove:
				return removeIndex(command, app, field)
			case field.Index == "":
				return addIndex(command, app, field, yes)
			default:
				return printOne(command, row{{"field", field.Name}, {"index", field.Index}})
			}
		}),
	}
	command.Flags().BoolVar(&remove, "remove", false, "remove the index")
	command.Flags().BoolVar(&yes, "yes", false, "stop writers for as long as it takes")
	return command
}

func filterField(app core.App, name string) (list.FilterField, error) {
	fields, err := list.FilterFields(app)
	if err != nil {
		return list.FilterField{}, err
	}
	names := make([]string, len(fields))
	for i, field := range fields {
		names[i] = field.Name
	}
	at := slices.Index(names, name)
	if at < 0 {
		return list.FilterField{}, fmt.Errorf("%q is not a field that takes an index to filter by; choose one of: %s",
			name, strings.Join(names, ", "))
	}
	return fields[at], nil
}

func addIndex(command *cobra.Command, app core.App, field list.FilterField, yes bool) error {
	contacts, pause, err := list.IndexTime(app)
	if err != nil {
		return err
	}
	if pause > shortPause {
		warning := fmt.Sprintf("building the index for %d contacts takes about %.1f s, "+
			"and nothing can be written meanwhile", contacts, pause.Seconds())
		if !yes {
			return fmt.Errorf("%s; confirm with --yes", warning)
		}
		fmt.Fprintln(command.ErrOrStderr(), "note:", warning)
	}
	if err := list.AddIndex(app, field.Name); err != nil {
		return err
	}
	return printOne(command, row{{"field", field.Name}, {"index", list.IndexName(field.Name)}})
}

func removeIndex(command *cobra.Command, app core.App, field list.FilterField) error {
	switch field.Index {
	case list.IndexName(field.Name):
	case "":
		return fmt.Errorf("%q has no index", field.Name)
	default:
		return fmt.Errorf("this command did not add the index %q; "+
			"remove it in the dashboard, in the collection contacts", field.Index)
	}
	if err := list.RemoveIndex(app, field.Name); err != nil {
		return err
	}
	return printOne(command, row{{"removed", field.Index}})
}
