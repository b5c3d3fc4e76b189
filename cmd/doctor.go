package cmd

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/pocketbase/pocketbase/core"
	"github.com/spf13/cobra"

	"contactbase/internal/doctor"
	"contactbase/internal/replica"
)

// NewDoctorCommand returns the command that checks the data directory for problems.
func NewDoctorCommand(app core.App) *cobra.Command {
	command := &cobra.Command{
		Use:   "doctor",
		Short: "Check the data directory for problems, even while it is served, and say how to fix them",
		Example: "  contactbase doctor --dir /var/lib/contactbase\n\n" +
			"  It changes nothing. It exits with an error if a check fails, but not for warnings.",
		Args:        exactArgs,
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
	}
	command.Flags().Bool("json", false, "print JSON")
	return command
}

// lineWidth is the maximum length of a finding's line, unless a word is longer.
const lineWidth = 120

// printFindings prints a table. Its last column has the finding and, below, what to do.
func printFindings(command *cobra.Command, findings []doctor.Finding) error {
	if asJSON(command) {
		rows := make([]row, 0, len(findings))
		for _, f := range findings {
			rows = append(rows, row{{"check", f.Check}, {"status", f.Status}, {"found", f.Found}, {"advice", f.Advice}})
		}
		return printAll(command, rows)
	}
	lines := [][]string{{"CHECK", "STATUS", "FOUND"}}
	first, second := len("CHECK"), len("STATUS")
	for _, f := range findings {
		first, second = max(first, len(f.Check)), max(second, len(f.Status))
		lines = append(lines, []string{f.Check, f.Status, f.Found})
		if f.Advice != "" {
			lines = append(lines, []string{"", "", "→ " + f.Advice})
		}
	}
	var out strings.Builder
	for _, cells := range lines {
		lead := fmt.Sprintf("%-*s  %-*s  ", first, cells[0], second, cells[1])
		for _, line := range wrap(cells[2], lineWidth-len(lead)) {
			fmt.Fprintln(&out, lead+line)
			lead = strings.Repeat(" ", len(lead))
		}
	}
	_, err := fmt.Fprint(command.OutOrStdout(), out.String())
	return err
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
