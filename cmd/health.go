package cmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"time"

	"github.com/spf13/cobra"

	"contactbase/internal/address"
	"contactbase/internal/version"
)

// healthTimeout is how long the server has to answer.
const healthTimeout = 5 * time.Second

// NewHealthCommand returns the command with which a container's supervisor checks the server. Its default address is
// the one that the settings give serve, "" if none.
func NewHealthCommand(listening string) *cobra.Command {
	listening = cmp.Or(listening, "127.0.0.1:8090")
	command := &cobra.Command{
		Use:         "healthcheck",
		Short:       "Exit with 0 if the server on this machine answers",
		Example:     "  contactbase healthcheck --http 127.0.0.1:8090",
		Args:        exactArgs,
		Annotations: map[string]string{Offline: "true"},
		RunE: func(command *cobra.Command, _ []string) error {
			base, err := address.Local(listening)
			if err != nil {
				return fmt.Errorf("--http: %w", err)
			}
			ctx, cancel := context.WithTimeout(command.Context(), healthTimeout)
			defer cancel()
			running, err := version.Ask(ctx, base)
			var absent *url.Error
			if errors.As(err, &absent) {
				return fmt.Errorf("no server answers at %s (%w); choose its address with --http", base, absent.Err)
			}
			if err != nil {
				return err
			}
			fmt.Fprintf(command.OutOrStdout(), "Contactbase %s answers at %s\n", running, base)
			return nil
		},
	}
	command.Flags().StringVar(&listening, "http", listening, "the value of --http that serve was started with")
	return command
}
