package cmd

import (
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/pocketbase/pocketbase/core"
	"github.com/spf13/cobra"

	"contactbase/internal/audit"
	"contactbase/internal/delivery/store"
	"contactbase/internal/event"
	"contactbase/internal/webhook"
)

// NewEventCommand returns the command that manages events.
func NewEventCommand(app core.App, deliveries *store.Store) *cobra.Command {
	return group("event", "Manage events", eventRedeliver(app, deliveries))
}

func eventRedeliver(app core.App, deliveries *store.Store) *cobra.Command {
	var receiver string
	command := &cobra.Command{
		Use:   "redeliver ID",
		Short: "Deliver an event again now, to the webhooks that received it or to one",
		Example: "  contactbase event redeliver evt_k2v9x0c4m7q1w8z\n" +
			"  contactbase event redeliver evt_k2v9x0c4m7q1w8z --webhook <webhook-id>",
		RunE: run(app, func(command *cobra.Command, args []string) error {
			id := strings.TrimPrefix(args[0], event.IDPrefix)
			owner, err := deliveries.TenantOfEvent(id)
			if err != nil {
				return noEvent(err, args[0])
			}
			if receiver != "" {
				record, err := app.FindRecordById(webhook.CollectionName, receiver)
				if err != nil {
					return notFound(err, "webhook", receiver)
				}
				if record.GetString("tenant") != owner {
					return fmt.Errorf("the webhook %s belongs to another tenant than the event", receiver)
				}
			}
			count, err := deliveries.RedeliverEvent(owner, id, receiver, time.Now())
			if err != nil {
				return noEvent(err, args[0])
			}
			if err := audit.WriteAbout(app, audit.Redelivered, "events", id, count); err != nil {
				return err
			}
			if count == 0 {
				fmt.Fprintln(command.ErrOrStderr(), "note: no webhook has received this event; name one with --webhook")
			}
			if receiver != "" {
				warnDisabled(command, app, receiver)
			}
			return printOne(command, row{{"id", event.IDPrefix + id}, {"count", count}})
		}),
	}
	command.Flags().StringVar(&receiver, "webhook", "",
		"only to this webhook, by its ID, even if it has not received the event")
	return command
}

// noEvent is notFound for events, which no command lists.
func noEvent(err error, id string) error {
	if errors.Is(err, sql.ErrNoRows) {
		return fmt.Errorf("no event has the ID %q; look it up on the page Events, "+
			"or in the header webhook-id of a request", id)
	}
	return err
}
