package cmd

import (
	"fmt"
	"strings"

	"github.com/pocketbase/pocketbase/core"
	"github.com/spf13/cobra"

	"contactbase/internal/notice"
	"contactbase/internal/tenant"
)

// NewNoticeCommand returns the command that shows notices.
func NewNoticeCommand(app core.App) *cobra.Command {
	return group("notice", "Show notices: what the program has told its administrators", noticeList(app))
}

func noticeList(app core.App) *cobra.Command {
	var tenantName string
	var limit int
	command := &cobra.Command{
		Use:     "list",
		Short:   "List the latest notices, newest first, and whether they were emailed",
		Example: "  contactbase notice list --limit 20",
		RunE: run(app, func(command *cobra.Command, _ []string) error {
			if limit < 1 || limit > maxListed {
				return fmt.Errorf("--limit must be between 1 and %d", maxListed)
			}
			owner := ""
			if tenantName != "" {
				t, err := tenant.Find(app, tenantName)
				if err != nil {
					return err
				}
				owner = t.Id
			}
			latest, err := notice.Latest(app, owner, limit)
			if err != nil {
				return err
			}
			rows := make([]row, 0, len(latest))
			for _, n := range latest {
				rows = append(rows, noticeRow(n))
			}
			return printAll(command, rows)
		}),
	}
	command.Flags().StringVar(&tenantName, "tenant", "", "only those of this tenant")
	command.Flags().IntVar(&limit, "limit", 50, "the maximum number of notices")
	return command
}

func noticeRow(n notice.Written) row {
	shown := row{{"created", n.Created}, {"kind", string(n.Kind)}, {"tenant", nil}, {"title", n.Title}}
	if n.Tenant != nil {
		shown[2].value = n.Tenant.Name
	}
	return append(shown, row{{"lasts", n.Lasts}, {"emails", emailCounts(n.Emails)}, {"detail", n.Detail}}...)
}

// emailCounts are the emails of a notice. Tables say in words what is not 0.
type emailCounts notice.Emails

func (c emailCounts) String() string {
	var parts []string
	for _, part := range []struct {
		n    int
		says string
	}{{c.Sent, "sent"}, {c.Waiting, "waiting"}, {c.GivenUp, "given up"}} {
		if part.n > 0 {
			parts = append(parts, fmt.Sprint(part.n, " ", part.says))
		}
	}
	if len(parts) == 0 {
		return "no recipients"
	}
	return strings.Join(parts, ", ")
}
