package cmd

import (
	"errors"
	"fmt"
	"time"

	"github.com/pocketbase/pocketbase/core"
	"github.com/spf13/cobra"

	"contactbase/internal/replica"
	"contactbase/internal/stamp"
)

// NewReplicaCommand returns the command that inspects and restores the replica.
func NewReplicaCommand(app core.App, r *replica.Replica) *cobra.Command {
	return group("replica", "Manage the copy of the databases that serve --replica keeps off this machine",
		replicaStatus(app, r), replicaRestore(r), replicaRestoreTest(app))
}

func replicaStatus(app core.App, r *replica.Replica) *cobra.Command {
	return &cobra.Command{
		Use:   "status",
		Short: "Show which machine writes the replica, and how far it lags",
		Example: "  contactbase replica status --replica s3://bucket/contacts\n\n" +
			"  It exits with an error if the replica has a fault.",
		Annotations: offlineUsing("replica"),
		RunE: func(command *cobra.Command, _ []string) error {
			found, err := replica.RequestStatus(command.Context(), app.DataDir())
			if errors.Is(err, replica.ErrNotServed) && r != nil {
				found, err = r.ReadStatus(command.Context())
			}
			if err != nil {
				return err
			}
			if err := printOne(command, statusRow(found)); err != nil {
				return err
			}
			return found.Err()
		},
	}
}

func statusRow(s replica.Status) row {
	testedAt, testError := any(nil), any(nil)
	if s.RestoreTest != nil {
		testedAt = stamp.Shown(s.RestoreTest.At)
		if s.RestoreTest.Error != "" {
			testError = s.RestoreTest.Error
		}
	}
	return row{
		{"state", string(s.State)}, {"store", s.Store}, {"mode", string(s.Mode)},
		{"generation", s.Generation}, {"holder", s.Holder},
		{"lagSeconds", s.LagSeconds}, {"lagBytes", s.LagBytes}, {"lagTransactions", s.LagTransactions},
		{"error", orNil(s.Error)}, {"drill", testedAt}, {"drillError", testError},
	}
}

func replicaRestore(r *replica.Replica) *cobra.Command {
	return &cobra.Command{
		Use:   "restore FOLDER",
		Short: "Restore the replica into a new directory",
		Example: "  contactbase replica restore /srv/restored/pb_data --replica s3://bucket/contacts\n\n" +
			"  This does not affect a running server. " +
			"Serve the directory with --dir and the same --replica, once no other machine\n" +
			"  does. Files of custom fields and the key of an encrypted directory are not in the replica.",
		Annotations: offlineUsing("replica", "replicaAcceptLoss"),
		RunE: func(command *cobra.Command, args []string) error {
			if r == nil {
				return errors.New("--replica is required: use the address that serve has")
			}
			began := time.Now()
			done, err := r.Restore(command.Context(), args[0])
			if err != nil {
				return fmt.Errorf("restoring the replica: %w", err)
			}
			return printOne(command, row{
				{"restored", args[0]}, {"generation", done.Generation}, {"holder", done.Holder}, {"rows", done.Rows},
				{"seconds", time.Since(began).Seconds()},
			})
		},
	}
}

func replicaRestoreTest(app core.App) *cobra.Command {
	return &cobra.Command{
		Use:   "drill",
		Short: "Make the server restore its replica into a temporary directory and compare, as it does every night",
		Example: "  contactbase replica drill --dir /var/lib/contactbase/pb_data\n\n" +
			"  It exits with an error if the replica differs.",
		Annotations: offlineUsing("replica"),
		RunE: func(command *cobra.Command, _ []string) error {
			note, err := replica.RequestRestoreTest(command.Context(), app.DataDir())
			if err != nil {
				return err
			}
			if err := printOne(command, row{{"rows", note.Rows}, {"seconds", note.Seconds}, {"error", note.Error}}); err != nil {
				return err
			}
			if note.Error != "" {
				return errors.New("the restore test failed: " + note.Error)
			}
			return nil
		},
	}
}
