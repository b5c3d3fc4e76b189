package cmd

import (
	"fmt"
	"time"

	"github.com/pocketbase/pocketbase/core"
	"github.com/spf13/cobra"

	"contactbase/internal/doctor"
	"contactbase/internal/replica"
)

// NewDoctorCommand returns the command that looks for what is wrong with the data folder.
func NewDoctorCommand(app core.App) *cobra.Command {
	command := &cobra.Command{
		Use:   "doctor",
		Short: "Look for what is wrong with the data folder, which may be served, and say what to do",
		Example: "  contactbase doctor --dir /var/lib/contactbase\n\n" +
			"  It changes nothing. It fails where a check does; warnings alone do not count.",
		Args:        named,
		Annotations: map[string]string{offline: "true", folderUse: ownFolder},
		RunE: func(command *cobra.Command, _ []string) error {
			if err := replica.CheckFolder(app.DataDir()); err != nil {
				return err
			}
			findings, err := doctor.Examine(command.Context(), app.DataDir(), time.Now())
			if err != nil {
				return err
			}
			failed := 0
			rows := make([]row, 0, len(findings))
			for _, f := range findings {
				if f.Status == doctor.Failed {
					failed++
				}
				rows = append(rows, row{{"check", f.Check}, {"status", f.Status}, {"found", f.Found}, {"advice", f.Advice}})
			}
			if err := printAll(command, rows); err != nil {
				return err
			}
			if failed > 0 {
				return fmt.Errorf("%d of the checks of %s failed", failed, app.DataDir())
			}
			return nil
		},
	}
	command.Flags().Bool("json", false, "print JSON")
	return command
}
