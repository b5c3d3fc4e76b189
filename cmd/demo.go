package cmd

import (
	"errors"
	"fmt"

	"github.com/pocketbase/pocketbase/core"
	"github.com/spf13/cobra"

	"contactbase/internal/demo"
)

// DemoName is the name of the demo command, which works in a temporary directory.
const DemoName = "demo"

// NewDemoCommand returns the command that demonstrates the program in an empty temporary directory, which the caller deletes
// afterwards. It refuses any other directory.
func NewDemoCommand(app core.App, folder string) *cobra.Command {
	var listening string
	command := &cobra.Command{
		Use:     DemoName,
		Short:   "Try it out: a server with a tenant, a key, contacts and a receiver that verifies signatures",
		Example: "  contactbase demo",
		Args:    exactArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			if folder == "" || app.DataDir() != folder {
				return errors.New("the demo creates its own directory: run contactbase demo without --dir")
			}
			if err := app.RunAllMigrations(); err != nil {
				return fmt.Errorf("creating the database: %w", err)
			}
			return demo.Serve(command.Context(), app, listening, command.OutOrStdout())
		},
	}
	command.Flags().StringVar(&listening, "http", "127.0.0.1:8090", "the address to listen on")
	return command
}
