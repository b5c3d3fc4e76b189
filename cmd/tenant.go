package cmd

import (
	"fmt"
	"strconv"

	"github.com/pocketbase/dbx"
	"github.com/pocketbase/pocketbase/core"
	"github.com/spf13/cobra"

	"contactbase/internal/delivery/store"
	"contactbase/internal/tenant"
)

// NewTenantCommand returns the command that manages tenants. Exports and imports leave minFree bytes of disk space
// free, and an imported tenant must have no more records than bounds.
func NewTenantCommand(app core.App, deliveries *store.Store, bounds tenant.Bounds, minFree uint64) *cobra.Command {
	return group("tenant", "Manage tenants: the customers of your CRM",
		tenantCreate(app), tenantList(app), tenantDelete(app, deliveries),
		tenantFreeze(app, deliveries), tenantUnfreeze(app),
		tenantExport(app, deliveries, minFree), tenantImport(app, deliveries, bounds, minFree),
		tenantPortalLink(app), tenantRevokeLinks(app))
}

func tenantCreate(app core.App) *cobra.Command {
	var disabled bool
	var rateLimit int
	var country string
	command := &cobra.Command{
		Use:     "create NAME",
		Short:   "Create a tenant with the API enabled",
		Example: "  contactbase tenant create Acme",
		RunE: run(app, func(command *cobra.Command, args []string) error {
			namesakes, err := app.CountRecords(tenant.CollectionName, dbx.HashExp{"name": args[0]})
			if err != nil {
				return fmt.Errorf("looking for tenants with this name: %w", err)
			}
			record, err := create(app, tenant.CollectionName, "tenant",
				map[string]any{"name": args[0], "apiEnabled": !disabled, "rateLimit": rateLimit, "country": country})
			if err != nil {
				return err
			}
			if namesakes > 0 {
				fmt.Fprintf(command.ErrOrStderr(),
					"note: %d tenants are now named %q; use their IDs to tell them apart\n", namesakes+1, args[0])
			}
			return printOne(command, tenantRow(record, tenant.Open))
		}),
	}
	command.Flags().BoolVar(&disabled, "disabled", false, "leave the API disabled")
	command.Flags().StringVar(&country, "country", "",
		"two letters, such as DE: imports and inbound webhooks read phone numbers of this country")
	command.Flags().IntVar(&rateLimit, "rateLimit", 0,
		fmt.Sprintf("requests per minute and key; 0 for %d", tenant.DefaultRateLimit))
	return command
}

func tenantList(app core.App) *cobra.Command {
	return &cobra.Command{
		Use:     "list",
		Short:   "List the tenants",
		Example: "  contactbase tenant list --json",
		RunE: run(app, func(command *cobra.Command, _ []string) error {
			states, err := tenant.States(app)
			if err != nil {
				return err
			}
			return listRecords(command, app, tenant.CollectionName,
				nil, func(record *core.Record) row { return tenantRow(record, states[record.Id]) })
		}),
	}
}

func tenantDelete(app core.App, deliveries *store.Store) *cobra.Command {
	var yes bool
	command := &cobra.Command{
		Use:     "delete TENANT",
		Short:   "Delete a tenant and all its data",
		Example: "  contactbase tenant delete <id> --yes",
		RunE: runOn(app, func(command *cobra.Command, t *tenant.Tenant, _ []string) error {
			if !yes {
				return fmt.Errorf("this deletes the tenant %q with its contacts, keys and webhooks; confirm with --yes", t.Name())
			}
			return deleteWhole(command, app, deliveries, t.ProxyRecord())
		}),
	}
	command.Flags().BoolVar(&yes, "yes", false, "really delete")
	return command
}

func tenantRow(record *core.Record, state tenant.State) row {
	shown := append(columns(record, "id", "name", "apiEnabled"),
		property{"rateLimit", keyRate(record.GetInt("rateLimit"))})
	shown = append(shown, columns(record, "country")...)
	return append(append(shown, property{"state", stateName(state)}), columns(record, "created")...)
}

// keyRate is the rateLimit of a tenant. Tables show which default 0 stands for.
type keyRate int

func (r keyRate) String() string {
	if r == 0 {
		return fmt.Sprintf("%d (default)", tenant.DefaultRateLimit)
	}
	return strconv.Itoa(int(r))
}
