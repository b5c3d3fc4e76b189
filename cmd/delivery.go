package cmd

import (
	"fmt"
	"time"

	"github.com/pocketbase/pocketbase/core"
	"github.com/spf13/cobra"

	"contactbase/internal/delivery"
	"contactbase/internal/overview"
)

// maxListed is how many deliveries are listed at the most.
const maxListed = 1000

// allStatuses are the states of a delivery.
var allStatuses = []string{delivery.StatusPending, delivery.StatusDelivered, delivery.StatusFailed}

// NewDeliveryCommand returns the command that manages deliveries.
func NewDeliveryCommand(app core.App, deliveries delivery.Store) *cobra.Command {
	return group("delivery", "Manage deliveries", deliveryList(app), deliveryRedeliver(app, deliveries))
}

func deliveryList(app core.App) *cobra.Command {
	var status string
	var limit int
	command := &cobra.Command{
		Use:     "list WEBHOOK",
		Short:   "List the deliveries of a webhook, the newest first",
		Example: "  contactbase delivery list <id of the webhook> --status failed",
		Args:    exactArgs,
		RunE: run(app, func(command *cobra.Command, args []string) error {
			if status != "" {
				if err := oneOf("status", allStatuses, status); err != nil {
					return err
				}
			}
			if limit < 1 || limit > maxListed {
				return fmt.Errorf("--limit must be between 1 and %d", maxListed)
			}
			if _, err := app.FindRecordById(delivery.WebhooksCollection, args[0]); err != nil {
				return notFound(err, "webhook", args[0])
			}
			page, err := overview.Deliveries(app, overview.Query{Webhook: args[0], Status: status, Limit: limit})
			if err != nil {
				return err
			}
			rows := make([]row, 0, len(page.Deliveries))
			for _, d := range page.Deliveries {
				rows = append(rows, deliveryRow(d))
			}
			return printAll(command, rows)
		}),
	}
	command.Flags().StringVar(&status, "status", "", "only those that are "+either(allStatuses))
	choices(command, "status", allStatuses)
	command.Flags().IntVar(&limit, "limit", 50, "how many at the most")
	return command
}

func deliveryRedeliver(app core.App, deliveries delivery.Store) *cobra.Command {
	return &cobra.Command{
		Use:     "redeliver ID",
		Short:   "Deliver once more, now; a running server takes it up within a second",
		Example: "  contactbase delivery redeliver <id>",
		Args:    exactArgs,
		RunE: run(app, func(command *cobra.Command, args []string) error {
			queued, err := deliveries.Redeliver(args[0], time.Now())
			if err != nil {
				return notFound(err, "delivery", args[0])
			}
			if record, err := app.FindRecordById("deliveries", queued.ID); err == nil {
				warnDisabled(command, app, record.GetString("webhook"))
			}
			return printOne(command, row{{"id", queued.ID}, {"status", queued.Status}})
		}),
	}
}

func deliveryRow(d overview.Delivery) row {
	return row{
		{"id", d.ID},
		{"type", d.Type},
		{"contact", d.Contact},
		{"status", d.Status},
		{"attempts", d.Attempts},
		{"nextAttempt", orNil(d.NextAttempt)},
		{"lastStatus", orNil(d.LastStatus)},
		{"lastError", orNil(d.LastError)},
		{"created", d.Created},
	}
}

// orNil is what the pointer points to, and nil where that is nothing.
func orNil[T any](pointer *T) any {
	if pointer == nil {
		return nil
	}
	return *pointer
}
