package cmd

import (
	"crypto/rand"
	"errors"
	"fmt"

	"github.com/pocketbase/pocketbase/core"
	"github.com/spf13/cobra"

	"contactbase/internal/delivery/store"
	"contactbase/internal/member"
	"contactbase/internal/tenant"
)

var roles = []string{member.RoleAdmin, member.RoleViewer}

var memberColumns = []string{"id", "tenant", "email", "name", "role", "notify", "link", "created"}

// NewMemberCommand returns the command that manages the members of tenants.
func NewMemberCommand(app core.App, deliveries *store.Store) *cobra.Command {
	return group("member", "Manage the members of a tenant, who sign in to manage its keys and webhooks",
		memberCreate(app), listCommand(app, "member", "List the members", member.CollectionName, showing(memberColumns...)),
		deleteCommand(app, deliveries, "member",
			"Delete a member, whose sessions end immediately", member.CollectionName, "member"))
}

func memberCreate(app core.App) *cobra.Command {
	var tenantName, email, role, name, passwordFile string
	command := &cobra.Command{
		Use:         "create --tenant TENANT --email ADDRESS",
		Short:       "Create a member; a generated password is shown once",
		Example:     "  contactbase member create --tenant Acme --email ada@example.com --role admin",
		Annotations: using("maxMembers"),
		RunE: run(app, func(command *cobra.Command, _ []string) error {
			if tenantName == "" || email == "" {
				return errors.New("--tenant and --email are required")
			}
			if err := oneOf("role", roles, role); err != nil {
				return err
			}
			t, err := tenant.Find(app, tenantName)
			if err != nil {
				return err
			}
			if there, err := app.FindAuthRecordByEmail(member.CollectionName, email); err == nil {
				return fmt.Errorf("another member, of the tenant %s, has the address %s", there.GetString("tenant"), email)
			}
			password, err := choosePassword(passwordFile)
			if err != nil {
				return err
			}
			record, err := create(app, member.CollectionName, "member",
				map[string]any{"tenant": t.Id, "email": email, "role": role, "name": name, "password": password})
			if err != nil {
				return err
			}
			created := columns(record, memberColumns...)
			if passwordFile == "" {
				created = append(created, property{"password", password})
			}
			return printOne(command, created)
		}),
	}
	command.Flags().StringVar(&tenantName, "tenant", "", "the tenant, by id or name")
	command.Flags().StringVar(&email, "email", "", "the address to sign in with")
	command.Flags().StringVar(&role, "role", member.RoleViewer, "what the member may do: "+alternatives(roles))
	choices(command, "role", roles)
	command.Flags().StringVar(&name, "name", "", "the member's name")
	command.Flags().StringVar(&passwordFile, "passwordFile", "",
		"the file with the password, such as /dev/stdin (default: generated)")
	return command
}

// choosePassword returns the password in the file, or a generated one if file is "".
func choosePassword(file string) (string, error) {
	if file == "" {
		return rand.Text(), nil
	}
	return readSecret("passwordFile", file)
}
