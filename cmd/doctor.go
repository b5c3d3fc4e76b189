package cmd

import (
	"fmt"
	"os"
	"time"

	"github.com/pocketbase/pocketbase/core"
	"github.com/spf13/cobra"

	"contactbase/internal/doctor"
	"contactbase/internal/replica"
)

// NewDoctorCommand returns the command that checks the data directory for problems.
func NewDoctorCommand(app core.App) *cobra.Command {
	return alone(&cobra.Command{
		Use:   "doctor",
		Short: "Check the data directory for problems, even while it is served, and say how to fix them",
		Example: "  contactbase doctor --dir /var/lib/contactbase/pb_data\n\n" +
			"  It changes nothing. It exits with an error if a check fails, but not for warnings.",
		Annotations: map[string]string{Offline: "true", FolderUse: OwnFolder},
		RunE: func(command *cobra.Command, _ []string) error {
			if err := replica.CheckFolder(app.DataDir()); err != nil {
				return err
			}
			findings, err := doctor.Examine(command.Context(), app.DataDir(), os.Getenv(app.EncryptionEnv()), time.Now())
			if err != nil {
				return err
			}
			if !asJSON(command) {
				err = doctor.Print(command.OutOrStdout(), findings)
			} else {
				rows := make([]row, 0, len(findings))
				for _, f := range findings {
					rows = append(rows, row{{"check", f.Check}, {"status", f.Status}, {"found", f.Found}, {"advice", f.Advice}})
				}
				err = printAll(command, rows)
			}
			if err != nil {
				return err
			}
			failed := 0
			for _, f := range findings {
				if f.Status == doctor.Failed {
					failed++
				}
			}
			if failed > 0 {
				return fmt.Errorf("%d of the checks of %s failed", failed, app.DataDir())
			}
			return nil
		},
	})
}
