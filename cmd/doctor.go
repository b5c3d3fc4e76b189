package cmd

import (
	"fmt"
	"strings"
	"text/tabwriter"
	"time"
	"unicode/utf8"

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
		Example: "  contactbase doctor --dir /var/lib/contactbase\n\n" +
			"  It changes nothing. It exits with an error if a check fails, but not for warnings.",
		Annotations: map[string]string{Offline: "true", FolderUse: OwnFolder},
		RunE: func(command *cobra.Command, _ []string) error {
			if err := replica.CheckFolder(app.DataDir()); err != nil {
				return err
			}
			findings, err := doctor.Examine(command.Context(), app.DataDir(), time.Now())
			if err != nil {
				return err
			}
			if err := printFindings(command, findings); err != nil {
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

// lineWidth is the maximum length of a finding's line, unless a word is longer.
const lineWidth = 120

// foundWidth is what the first columns leave of that.
const foundWidth = lineWidth - len("permissions  warning  ")

// printFindings prints a table. Its last column has the finding and, below, what to do.
func printFindings(command *cobra.Command, findings []doctor.Finding) error {
	if asJSON(command) {
		rows := make([]row, 0, len(findings))
		for _, f := range findings {
			rows = append(rows, row{{"check", f.Check}, {"status", f.Status}, {"found", f.Found}, {"advice", f.Advice}})
		}
		return printAll(command, rows)
	}
	table := tabwriter.NewWriter(command.OutOrStdout(), 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "CHECK\tSTATUS\tFOUND")
	for _, f := range findings {
		lines := wrap(f.Found, foundWidth)
		if f.Advice != "" {
			lines = append(lines, wrap("→ "+f.Advice, foundWidth)...)
		}
		lead := f.Check + "\t" + f.Status + "\t"
		for _, line := range lines {
			fmt.Fprintln(table, lead+line)
			lead = "\t\t"
		}
	}
	return table.Flush()
}

// wrap breaks a text at spaces into lines of at most width characters.
func wrap(text string, width int) (lines []string) {
	line := ""
	for word := range strings.SplitSeq(text, " ") {
		if line != "" && utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > width {
			lines, line = append(lines, line), ""
		}
		if line != "" {
			line += " "
		}
		line += word
	}
	return append(lines, line)
}
