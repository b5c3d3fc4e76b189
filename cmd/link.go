package cmd

import (
	"fmt"
	"time"

	"github.com/pocketbase/pocketbase/core"
	"github.com/spf13/cobra"

	"contactbase/internal/member"
	"contactbase/internal/stamp"
	"contactbase/internal/tenant"
)

func tenantPortalLink(app core.App) *cobra.Command {
	var options member.LinkOptions
	command := &cobra.Command{
		Use:     "portal-link TENANT",
		Short:   "Create a link that opens a tenant's portal without a password; it is shown once",
		Example: "  contactbase tenant portal-link Acme --role viewer --expires 1h",
		RunE: runOn(app, func(command *cobra.Command, t *tenant.Tenant, _ []string) error {
			if err := oneOf("role", roles, options.Role); err != nil {
				return err
			}
			if options.Duration < member.MinLinkDuration || options.Duration > member.MaxLinkDuration {
				return fmt.Errorf("--expires must be between %s and %s, not %s",
					member.MinLinkDuration, member.MaxLinkDuration, options.Duration)
			}
			link, err := member.NewLink(app, t.Id, options, time.Now())
			if err != nil {
				return validationError("creating the portal link", err)
			}
			return printOne(command, row{
				{"id", link.ID}, {"tenant", t.Id}, {"role", options.Role},
				{"name", options.Name}, {"expires", stamp.Shown(link.Expires)},
				{"token", link.Token}, {"url", link.URL},
			})
		}),
	}
	command.Flags().StringVar(&options.Role, "role", member.RoleViewer, alternatives(roles))
	choices(command, "role", roles)
	command.Flags().StringVar(&options.Name, "name", "", "who uses the link")
	command.Flags().DurationVar(&options.Duration, "expires", member.DefaultLinkDuration,
		"how long the link works, from 5m to 24h")
	return command
}

func tenantRevokeLinks(app core.App) *cobra.Command {
	return &cobra.Command{
		Use:     "revoke-links TENANT",
		Short:   "Revoke all portal links of a tenant immediately",
		Example: "  contactbase tenant revoke-links Acme",
		RunE: runOn(app, func(command *cobra.Command, t *tenant.Tenant, _ []string) error {
			revoked, err := member.RevokeLinks(command.Context(), app, t.Id)
			if err != nil {
				return err
			}
			return printOne(command, row{{"tenant", t.Id}, {"revoked", revoked}})
		}),
	}
}
