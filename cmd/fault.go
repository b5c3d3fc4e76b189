package cmd

import (
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	validation "github.com/pocketbase/ozzo-validation/v4"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"contactbase/internal/settings"
)

// exactArgs returns an error if the arguments are not exactly those that the command's Use names, such as "create
// TENANT URL", "backup [NAME]" or "import TENANT FILE...".
func exactArgs(command *cobra.Command, args []string) error {
	usage := "usage: " + command.UseLine()
	names := strings.Fields(command.Use)[1:]
	if flag := slices.IndexFunc(names, func(name string) bool { return strings.HasPrefix(name, "-") }); flag >= 0 {
		names = names[:flag]
	}
	isOpen := strings.HasSuffix(command.Use, "...")
	if len(args) > len(names) && !isOpen {
		return fmt.Errorf("unknown argument %q; %s", args[len(names)], usage)
	}
	if len(args) < len(names) && !strings.HasPrefix(names[len(args)], "[") {
		return fmt.Errorf("the argument %s is missing; %s", names[len(args)], usage)
	}
	return nil
}

// notFound returns an error that names the record if err says that it is missing. It returns other errors unchanged.
func notFound(err error, what, id string) error {
	if errors.Is(err, sql.ErrNoRows) {
		return fmt.Errorf("no %s has the ID %q; look it up with the list command", what, id)
	}
	return err
}

// validationError returns PocketBase's validation errors as one sentence. It wraps other errors.
func validationError(doing string, err error) error {
	var faults validation.Errors
	if !errors.As(err, &faults) {
		return fmt.Errorf("%s: %w", doing, err)
	}
	messages := make([]string, 0, len(faults))
	for _, field := range slices.Sorted(maps.Keys(faults)) {
		message := strings.TrimRight(faults[field].Error(), ".")
		if sentence, names := strings.CutPrefix(message, "The "); names { // the field
			messages = append(messages, "the "+sentence)
			continue
		}
		messages = append(messages, field+": "+message)
	}
	return fmt.Errorf("%s: %s", doing, strings.Join(messages, "; "))
}

// oneOf returns an error if a value is not allowed.
func oneOf(flag string, allowed []string, values ...string) error {
	for _, value := range values {
		if !slices.Contains(allowed, value) {
			return fmt.Errorf("--%s must be %s, not %q", flag, alternatives(allowed), value)
		}
	}
	return nil
}

// choices makes shells complete the values of a flag.
func choices(command *cobra.Command, flag string, values []string) {
	err := command.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
	if err != nil {
		panic("cmd: " + err.Error()) // unreachable: the flag exists and gets its values once
	}
}

// completeFiles makes shells complete the names of files.
func completeFiles(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return nil, cobra.ShellCompDirectiveDefault
}

// alternatives lists alternatives: "a, b or c".
func alternatives(choices []string) string {
	last := len(choices) - 1
	return strings.Join(choices[:last], ", ") + " or " + choices[last]
}

// ExplainFlagError says which values a flag accepts if err is about an invalid one. It returns other errors unchanged.
func ExplainFlagError(err error) error {
	var wrong *pflag.InvalidValueError
	if !errors.As(err, &wrong) {
		return err
	}
	takes := settings.Takes(wrong.GetFlag().Value.Type())
	if takes == "" {
		return err
	}
	return fmt.Errorf("--%s must be %s, not %q", wrong.GetFlag().Name, takes, wrong.GetValue())
}
