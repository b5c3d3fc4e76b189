package cmd

import (
	"fmt"
	"time"

	"github.com/pocketbase/pocketbase/core"
	"github.com/spf13/cobra"

	"contactbase/internal/audit"
	"contactbase/internal/delivery"
	"contactbase/internal/delivery/store"
	"contactbase/internal/overview"
	"contactbase/internal/webhook"
)

// maxListed is the maximum of --limit.
const maxListed = 1000

var allStatuses = []string{delivery.StatusPending, delivery.StatusDelivered, delivery.StatusFailed}

// NewDeliveryCommand returns the command that manages deliveries.
func NewDeliveryCommand(app core.App, deliveries *store.Store) *cobra.Command {
	return group("delivery", "Manage deliveries", deliveryList(app), deliveryRedeliver(app, deliveries))
}

func deliveryList(app core.App) *cobra.Command {
	var status string
	var limit int
	command := &cobra.Command{
		Use:     "list WEBHOOK",
		Short:   "List a webhook's deliveries, newest first",
		Example: "  contactbase delivery list <webhook-id> --status pending",
		RunE: run(app, func(command *cobra.Command, args []string) error {
			if status != "" {
				if err := oneOf("status", allStatuses, status); err != nil {
					return err
				}
			}
			if limit < 1 || limit > maxListed {
				return fmt.Errorf("--limit must be between 1 and %d", maxListed)
			}
			if _, err := app.FindRecordById(webhook.CollectionName, args[0]); err != nil {
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
			if err := printAll(command, rows); err != nil || page.Next == nil || asJSON(command) {
				return err
			}
			_, err = fmt.Fprintf(command.ErrOrStderr(), "There are older deliveries; --limit lists up to %d.\n", maxListed)
			return err
		}),
	}
	command.Flags().StringVar(&status, "status", "", "only deliveries that are "+alternatives(allStatuses))
	choices(command, "status", allStatuses)
	command.Flags().IntVar(&limit, "limit", 50, "the maximum number of deliveries")
	return command
}

func deliveryRedeliver(app core.App, deliveries *store.Store) *cobra.Command {
	return &cobra.Command{
		Use:     "redeliver ID",
		Short:   "Deliver again now; a running server picks it up within a second",
		Example: "  contactbase delivery redeliver <id>",
		RunE: run(app, func(command *cobra.Command, args []string) error {
			queued, err := deliveries.Redeliver(args[0], time.Now())
			if err != nil {
				return notFound(err, "delivery", args[0])
			}
			if err := audit.WriteAbout(app, audit.Redelivered, "deliveries", args[0], 0); err != nil {
				return err
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

// orNil returns what the pointer points to, or nil.
func orNil[T any](pointer *T) any {
	if pointer == nil {
		return nil
	}
	return *pointer
}
