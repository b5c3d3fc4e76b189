package cmd

import (
	"fmt"

	"github.com/pocketbase/pocketbase/core"
	"github.com/spf13/cobra"

	"contactbase/internal/delivery"
	"contactbase/internal/tenant"
)

// NewWebhookCommand returns the command that manages outbound webhooks.
func NewWebhookCommand(app core.App) *cobra.Command {
	return group("webhook", "Manage outbound webhooks",
		webhookCreate(app), webhookList(app), webhookDelete(app), webhookRotate(app))
}

func webhookCreate(app core.App) *cobra.Command {
	var name, secret string
	var events []string
	command := &cobra.Command{
		Use:     "create TENANT URL",
		Short:   "Create a webhook; its secret is shown once",
		Example: "  contactbase webhook create Acme https://example.com/hook --event contact.created",
		Args:    cobra.ExactArgs(2),
		RunE: run(app, func(command *cobra.Command, args []string) error {
			t, err := tenant.Find(app, args[0])
			if err != nil {
				return err
			}
			collection, err := app.FindCachedCollectionByNameOrId(delivery.WebhooksCollection)
			if err != nil {
				return err
			}
			record := core.NewRecord(collection)
			if secret == "" {
				secret = delivery.NewSecret()
			}
			record.Load(map[string]any{"tenant": t.Id, "name": name, "url": args[1], "events": events, "secret": secret})
			if err := app.Save(record); err != nil {
				return fmt.Errorf("creating the webhook: %w", err)
			}
			return printOne(command, append(webhookRow(record), property{"secret", secret}))
		}),
	}
	command.Flags().StringVar(&name, "name", "", "what the webhook is for")
	command.Flags().StringVar(&secret, "secret", "", "a secret of your own, 8 to 256 characters; generated where none is given")
	command.Flags().StringSliceVar(&events, "event", nil, "an event kind to deliver; all where none is given")
	return command
}

func webhookList(app core.App) *cobra.Command {
	var tenantName string
	command := &cobra.Command{
		Use:   "list",
		Short: "List the webhooks",
		Args:  cobra.NoArgs,
		RunE:  run(app, listOf(app, delivery.WebhooksCollection, &tenantName, webhookRow)),
	}
	command.Flags().StringVar(&tenantName, "tenant", "", "only those of a tenant")
	return command
}

func webhookDelete(app core.App) *cobra.Command {
	return deleteCommand(app, delivery.WebhooksCollection, "Delete a webhook with its deliveries")
}

func webhookRotate(app core.App) *cobra.Command {
	return &cobra.Command{
		Use:   "rotate ID",
		Short: "Give a webhook a new secret; the old one signs beside it for 24 hours",
		Args:  cobra.ExactArgs(1),
		RunE: run(app, func(command *cobra.Command, args []string) error {
			secret, err := delivery.RotateSecret(app, args[0])
			if err != nil {
				return err
			}
			return printOne(command, row{{"id", args[0]}, {"secret", secret}})
		}),
	}
}

// deleteCommand returns a command that deletes a record of the collection.
func deleteCommand(app core.App, collection, short string) *cobra.Command {
	return &cobra.Command{
		Use:   "delete ID",
		Short: short,
		Args:  cobra.ExactArgs(1),
		RunE: run(app, func(command *cobra.Command, args []string) error {
			record, err := app.FindRecordById(collection, args[0])
			if err != nil {
				return fmt.Errorf("%s has nothing with the id %q: %w", collection, args[0], err)
			}
			if err := app.Delete(record); err != nil {
				return fmt.Errorf("deleting: %w", err)
			}
			return printOne(command, row{{"deleted", record.Id}})
		}),
	}
}

func webhookRow(record *core.Record) row {
	return row{
		{"id", record.Id},
		{"tenant", record.GetString("tenant")},
		{"name", record.GetString("name")},
		{"url", record.GetString("url")},
		{"events", record.GetStringSlice("events")},
		{"disabled", record.GetBool("disabled")},
		{"disabledReason", record.GetString("disabledReason")},
	}
}
