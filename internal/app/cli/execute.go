package cli

import (
	"fmt"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"github.com/pocketbase/pocketbase"
	"github.com/spf13/cobra"

	"contactbase/cmd"
	"contactbase/internal/backup"
	"contactbase/internal/replica"
	"contactbase/internal/sqlite"
)

// execute runs the command that the arguments name.
func (p *Program) execute() error {
	pb, args := p.Base, p.args
	command, rest, err := find(pb.RootCmd, args)
	if err != nil {
		return err
	}
	if command.Name() == "serve" { // which outlives the reader of its output
		signal.Ignore(syscall.SIGPIPE)
	}
	if err := checkFolder(command, args, pb.DataDir()); err != nil {
		return err
	}
	if err := checkArchive(command, rest); err != nil {
		return err
	}
	failure := trackErrors(pb.RootCmd)
	if !isOffline(command, args) {
		if proceed, err := runStandby(command, rest, p.copied); err != nil || !proceed {
			return err
		}
		if err := replica.CheckFolder(pb.DataDir()); err != nil {
			return err
		}
		if err := p.loadScripts(command); err != nil && !asksForHelp(args) {
			return err
		}
		if found := cmd.FindUnrestored(pb.DataDir()); found != nil && !asksForHelp(args) {
			found.Show(pb, command)
		} else if command.Name() == "serve" {
			cmd.NoteNewFolder(pb)
		}
	}
	if err := runCommand(pb, command, args); err != nil {
		return explainStorageError(err, pb.DataDir())
	}
	return explainStorageError(failure(), pb.DataDir())
}

func runCommand(pb *pocketbase.PocketBase, command *cobra.Command, args []string) error {
	switch {
	case isOffline(command, args):
		return pb.RootCmd.Execute() // without opening the database first
	case asksForHelp(args):
		return pb.Execute()
	case command.Name() == "serve" || command.Name() == cmd.DemoName:
		return serveToEnd(pb)
	default:
		return runToEnd(pb)
	}
}

// find returns the command that args name, and its arguments. The error says that they name none, which PocketBase
// would not report.
func find(root *cobra.Command, args []string) (command *cobra.Command, rest []string, err error) {
	command, rest, err = root.Find(args)
	if err == nil && command != root && command.HasSubCommands() && len(rest) > 0 && !strings.HasPrefix(rest[0], "-") &&
		!asksForHelp(args) {
		if err := command.ValidateArgs(rest[:1]); err != nil { // cobra would first report its unknown flags
			return nil, nil, err
		}
	}
	if isCompletion(args) || err == nil && (command != root || asksForHelp(args)) {
		// cobra adds the help flags later; if added here, PocketBase would open the database for them
		return command, rest, nil
	}
	if err != nil && len(args) > 0 && !strings.HasPrefix(args[0], "-") {
		return nil, nil, fmt.Errorf("unknown command %q; %s", args[0], instead(root, args[0]))
	}
	for _, arg := range args { // PocketBase accepts unknown flags here and takes the next argument as their value
		name, isFlag := strings.CutPrefix(arg, "--")
		name, _, _ = strings.Cut(name, "=")
		if isFlag && name != "" && root.Flags().Lookup(name) == nil && root.PersistentFlags().Lookup(name) == nil {
			return nil, nil, fmt.Errorf("unknown flag: --%s; see --help", name)
		}
	}
	if err != nil {
		return nil, nil, fmt.Errorf("%w; see --help", err)
	}
	return command, rest, nil
}

// instead returns what to enter in place of an unknown command: those with a similar name, and those of that name in
// groups.
func instead(root *cobra.Command, name string) string {
	known := root.SuggestionsFor(name)
	for i, suggested := range known {
		known[i] = root.Name() + " " + suggested
	}
	for _, group := range root.Commands() {
		for _, sub := range group.Commands() {
			if sub.Name() == name {
				known = append(known, sub.CommandPath())
			}
		}
	}
	if len(known) == 0 {
		return "see --help"
	}
	return "did you mean " + strings.Join(known, " or ") + "?"
}

// isOffline reports whether the command must not open the database.
func isOffline(command *cobra.Command, args []string) bool {
	return len(args) == 0 || isCompletion(args) || command.Annotations[cmd.Offline] != ""
}

// isCompletion reports whether a shell requests completions.
func isCompletion(args []string) bool {
	return len(args) > 0 && (args[0] == cobra.ShellCompRequestCmd || args[0] == cobra.ShellCompNoDescRequestCmd)
}

// asksForHelp reports whether the arguments request help or the version.
func asksForHelp(args []string) bool {
	return slices.ContainsFunc(args, func(arg string) bool {
		return slices.Contains([]string{"--help", "-h", "--version", "-v"}, arg)
	})
}

// trackErrors makes the commands remember their first error, which the returned function returns. PocketBase drops
// it, so that every failing command would exit with 0.
func trackErrors(root *cobra.Command) func() error {
	var first error
	remember := func(err error) error {
		if first == nil {
			first = err
		}
		return err
	}
	root.SilenceErrors = true
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return remember(cmd.ExplainFlagError(err)) })
	var wrap func(*cobra.Command)
	wrap = func(command *cobra.Command) {
		command.SilenceUsage = true
		if validate := command.Args; validate != nil {
			command.Args = func(c *cobra.Command, args []string) error { return remember(validate(c, args)) }
		}
		if run := command.RunE; run != nil {
			command.RunE = func(c *cobra.Command, args []string) error { return remember(run(c, args)) }
		}
		for _, sub := range command.Commands() {
			wrap(sub)
		}
	}
	wrap(root)
	return func() error { return first }
}

// explainStorageError explains SQLite's numeric errors about the data directory. It returns other errors unchanged.
func explainStorageError(err error, dataDir string) error {
	if !sqlite.IsUnavailable(err) {
		return err
	}
	if cause := backup.Probe(dataDir); cause != nil {
		return fmt.Errorf("the data directory %s cannot be written: %w", dataDir, cause)
	}
	return fmt.Errorf("the database in %s cannot be used; run contactbase doctor to find out why: %w", dataDir, err)
}
