// Package cmd holds the commands of the executable: what the dashboard does, from a shell.
package cmd

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/pocketbase/pocketbase/core"
	"github.com/pocketbase/pocketbase/tools/types"
	"github.com/spf13/cobra"

	"contactbase/internal/credential"
	"contactbase/internal/replica"
	"contactbase/internal/stamp"
	"contactbase/internal/tenant"
	"contactbase/internal/wire"
)

// The annotations of commands.
const (
	Offline     = "offline"  // on commands that must not open the database
	settingsUse = "settings" // see SettingsOf
	// what the command needs of the data directory; without it, an existing one unless it is offline
	FolderUse = "folder"
	OwnFolder = "own" // for FolderUse: owned by the user, may be empty
)

// using returns the annotations of a command that also has these settings of serve as flags.
func using(settings ...string) map[string]string {
	return map[string]string{settingsUse: strings.Join(settings, " ")}
}

// offlineUsing is using for a command that must not open the database.
func offlineUsing(settings ...string) map[string]string {
	annotations := using(settings...)
	annotations[Offline] = "true"
	return annotations
}

// SettingsOf returns the names of the settings of serve that the command also has as flags.
func SettingsOf(command *cobra.Command) []string {
	return strings.Fields(command.Annotations[settingsUse])
}

// run wraps a command's work. It migrates the database first, because PocketBase does so only when it serves.
func run(app core.App, do func(command *cobra.Command, args []string) error) func(*cobra.Command, []string) error {
	return func(command *cobra.Command, args []string) error {
		if err := app.RunAllMigrations(); err != nil {
			return fmt.Errorf("updating the database schema: %w", err)
		}
		if err := do(command, args); tenant.IsMoving(err) {
			return errors.New("the tenant is closed for writes because it is moving to another installation; " +
				"to keep it here, run: contactbase tenant unfreeze")
		} else if err != nil {
			return err
		}
		if err := replica.Flush(command.Context(), app.DataDir()); err != nil {
			return fmt.Errorf("the change is written, but may be lost with this machine: %w", err)
		}
		return nil
	}
}

// group returns a command that only has subcommands. They take the arguments that their Use names, and
// have the flag --json.
func group(use, short string, subcommands ...*cobra.Command) *cobra.Command {
	command := &cobra.Command{
		Use:         use,
		Short:       short,
		Annotations: map[string]string{Offline: "true"}, // its help needs no data directory
		Args: func(command *cobra.Command, args []string) error {
			if len(args) > 0 {
				return fmt.Errorf("%s has no command %q; see %s --help", command.CommandPath(), args[0], command.CommandPath())
			}
			return nil
		},
		RunE: func(command *cobra.Command, _ []string) error {
			if err := command.Help(); err != nil {
				return err
			}
			return fmt.Errorf("%s needs a subcommand", use)
		},
	}
	command.PersistentFlags().Bool("json", false, "print JSON")
	for _, sub := range subcommands {
		sub.Args = exactArgs
	}
	command.AddCommand(subcommands...)
	return command
}

// alone returns a command that belongs to no group, with the flag --json.
func alone(command *cobra.Command) *cobra.Command {
	command.Args = exactArgs
	command.Flags().Bool("json", false, "print JSON")
	return command
}

// property is a name and a value of a record.
type property struct {
	name  string
	value any
}

// whenEmpty is what tables show of a list without elements, by its name.
var whenEmpty = map[string]string{
	"events":      "contact events",
	"permissions": strings.Join(permissionNames(credential.ByDefault), ","),
}

// text returns the value as tables show it.
func (p property) text() string {
	if list, ok := p.value.([]string); ok && len(list) == 0 && whenEmpty[p.name] != "" {
		return whenEmpty[p.name]
	}
	return text(p.value)
}

// row is a record as a command shows it, in the order of its columns.
type row []property

// MarshalJSON encodes the row as an object in the order of its columns.
func (r row) MarshalJSON() ([]byte, error) {
	parts := make([]string, 0, len(r))
	for _, p := range r {
		var value bytes.Buffer
		if err := printJSON(&value, p.value); err != nil {
			return nil, err
		}
		parts = append(parts, string(wire.AppendString(nil, p.name))+":"+value.String())
	}
	return []byte("{" + strings.Join(parts, ",") + "}"), nil
}

// printOne prints a record: one property a line, or a JSON object.
func printOne(command *cobra.Command, r row) error {
	if asJSON(command) {
		return printJSON(command.OutOrStdout(), r)
	}
	table := tabwriter.NewWriter(command.OutOrStdout(), 0, 0, 2, ' ', 0)
	for _, p := range r {
		fmt.Fprintf(table, "%s\t%s\n", p.name, p.text())
	}
	return table.Flush()
}

// printAll prints records: a table, or a JSON array.
func printAll(command *cobra.Command, rows []row) error {
	if asJSON(command) {
		if rows == nil {
			rows = []row{}
		}
		return printJSON(command.OutOrStdout(), rows)
	}
	if len(rows) == 0 {
		_, err := fmt.Fprintln(command.OutOrStdout(), "none")
		return err
	}
	table := tabwriter.NewWriter(command.OutOrStdout(), 0, 0, 2, ' ', 0)
	for i, r := range rows {
		if i == 0 {
			for _, p := range r {
				fmt.Fprintf(table, "%s\t", strings.ToUpper(p.name))
			}
			fmt.Fprintln(table)
		}
		for _, p := range r {
			fmt.Fprintf(table, "%s\t", p.text())
		}
		fmt.Fprintln(table)
	}
	return table.Flush()
}

func asJSON(command *cobra.Command) bool {
	wanted, err := command.Flags().GetBool("json")
	return err == nil && wanted
}

func printJSON(out io.Writer, value any) error {
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	return encoder.Encode(value)
}

func text(value any) string {
	switch v := value.(type) {
	case nil:
		return "-"
	case string:
		if v == "" {
			return "-"
		}
		return v
	case []string:
		return text(strings.Join(v, ","))
	case float64: // seconds
		return strconv.FormatFloat(v, 'f', 2, 64)
	case map[string]int:
		counts := make([]string, 0, len(v))
		for _, name := range slices.Sorted(maps.Keys(v)) {
			counts = append(counts, fmt.Sprintf("%s=%d", name, v[name]))
		}
		return text(strings.Join(counts, ","))
	default:
		return fmt.Sprint(v)
	}
}

// columns returns fields of a record as a command shows them: numbers are whole, and an empty time is nil.
func columns(record *core.Record, names ...string) row {
	shown := make(row, 0, len(names))
	for _, name := range names {
		value := record.Get(name)
		switch v := value.(type) {
		case float64:
			value = int(v)
		case types.DateTime:
			if value = nil; !v.IsZero() {
				value = stamp.Shown(v.Time())
			}
		}
		shown = append(shown, property{name, value})
	}
	return shown
}
