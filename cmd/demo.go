package cmd

import (
	"fmt"

	"github.com/pocketbase/pocketbase/core"
	"github.com/spf13/cobra"

	"contactbase/internal/demo"
)

// DemoName is the name of the demo command, which works in a temporary directory.
const DemoName = "demo"

// NewDemoCommand returns the command that demonstrates the program in the app's data directory: an empty temporary
// one, which the caller deletes afterwards.
func NewDemoCommand(app core.App) *cobra.Command {
	var listening string
	command := &cobra.Command{
		Use:     DemoName,
		Short:   "Try it out: a server with a tenant, a key, contacts and a receiver that verifies signatures",
		Example: "  contactbase demo",
		Args:    exactArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			if err := app.RunAllMigrations(); err != nil {
				return fmt.Errorf("creating the database: %w", err)
			}
			return demo.Serve(command.Context(), app, listening, command.OutOrStdout())
		},
	}
	command.Flags().StringVar(&listening, "http", "127.0.0.1:8090", "the address to listen on")
	return command
}
