package cmd

import (
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/pocketbase/pocketbase/core"
	"github.com/spf13/cobra"

	"contactbase/internal/delivery/store"
	"contactbase/internal/member"
	"contactbase/internal/stamp"
	"contactbase/internal/tenant"
)

var roles = []string{member.RoleAdmin, member.RoleViewer}

var memberColumns = []string{"id", "tenant", "email", "name", "role", "notify", "link", "created"}

// NewMemberCommand returns the command that manages the members of tenants.
func NewMemberCommand(app core.App, deliveries *store.Store) *cobra.Command {
	return group("member", "Manage the members of a tenant, who sign in to manage its keys and webhooks",
		memberCreate(app), memberInvite(app),
		listCommand(app, "member", "List the members", member.CollectionName, showing(memberColumns...)),
		deleteCommand(app, deliveries, "member",
			"Delete a member, whose sessions end immediately", member.CollectionName, "member"))
}

// newMember is what the flags say about a new member.
type newMember struct{ tenant, email, role, name string }

func (n *newMember) addFlags(command *cobra.Command) {
	command.Flags().StringVar(&n.tenant, "tenant", "", "the tenant, by id or name")
	command.Flags().StringVar(&n.email, "email", "", "the address to sign in with")
	command.Flags().StringVar(&n.role, "role", member.RoleViewer, "what the member may do: "+alternatives(roles))
	choices(command, "role", roles)
	command.Flags().StringVar(&n.name, "name", "", "the member's name")
}

// find checks the flags. It returns the tenant, and the member who has the address already, nil for none.
func (n *newMember) find(app core.App) (*tenant.Tenant, *core.Record, error) {
	if n.tenant == "" || n.email == "" {
		return nil, nil, errors.New("--tenant and --email are required")
	}
	if err := oneOf("role", roles, n.role); err != nil {
		return nil, nil, err
	}
	t, err := tenant.Find(app, n.tenant)
	if err != nil {
		return nil, nil, err
	}
	there, err := app.FindAuthRecordByEmail(member.CollectionName, n.email)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return nil, nil, fmt.Errorf("looking for the member: %w", err)
	}
	return t, there, nil
}

// create creates the member with a password.
func (n *newMember) create(app core.App, t *tenant.Tenant, password string) (*core.Record, error) {
	return create(app, member.CollectionName, "member", map[string]any{
		"tenant": t.Id, "email": n.email, "role": n.role, "name": n.name, "password": password,
	})
}

// errTaken is the error of an address that another member has.
func errTaken(there *core.Record) error {
	return fmt.Errorf("a member of the tenant %s already has the address %s: use another one",
		member.TenantOf(there), there.Email())
}

func memberCreate(app core.App) *cobra.Command {
	var wanted newMember
	var passwordFile string
	command := &cobra.Command{
		Use:         "create --tenant TENANT --email ADDRESS",
		Short:       "Create a member; a generated password is shown once",
		Example:     "  contactbase member create --tenant Acme --email ada@example.com --role admin",
		Annotations: using("maxMembers"),
		RunE: run(app, func(command *cobra.Command, _ []string) error {
			t, there, err := wanted.find(app)
			if err != nil {
				return err
			}
			if there != nil {
				return errTaken(there)
			}
			password, err := choosePassword(passwordFile)
			if err != nil {
				return err
			}
			record, err := wanted.create(app, t, password)
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
	wanted.addFlags(command)
	command.Flags().StringVar(&passwordFile, "passwordFile", "",
		"the file with the password, such as /dev/stdin (default: generated)")
	return command
}

func memberInvite(app core.App) *cobra.Command {
	var wanted newMember
	command := &cobra.Command{
		Use:         "invite --tenant TENANT --email ADDRESS",
		Short:       "Email a new or invited member a link to choose a password, or print it without a mail server",
		Example:     "  contactbase member invite --tenant Acme --email ada@example.com --role admin",
		Annotations: using("maxMembers"),
		RunE: run(app, func(command *cobra.Command, _ []string) error {
			t, record, err := wanted.find(app)
			switch {
			case err != nil:
				return err
			case record == nil:
				record, err = wanted.create(app, t, rand.Text()) // a password that nobody learns
			case member.TenantOf(record) != t.Id:
				err = errTaken(record)
			case command.Flags().Changed("role") && record.GetString("role") != wanted.role:
				err = fmt.Errorf("the member %s has the role %s; change it in the dashboard",
					record.Email(), record.GetString("role"))
			}
			if err != nil {
				return err
			}
			return invite(command, app, record)
		}),
	}
	wanted.addFlags(command)
	return command
}

// invite emails an invitation to a member or, without a mail server, prints its link.
func invite(command *cobra.Command, app core.App, record *core.Record) error {
	mails := app.Settings().SMTP.Enabled
	invitation, err := member.Invite(app, record.Id, mails, time.Now())
	if err != nil {
		return err
	}
	if mails {
		if err := member.NewMailer().Send(command.Context(), app, invitation); err != nil {
			return fmt.Errorf("the invitation could not be emailed: %w; run the command again to send another", err)
		}
	}
	shown := append(columns(record, memberColumns...),
		property{"sent", mails}, property{"expires", stamp.Shown(invitation.Expires)})
	if !mails {
		shown = append(shown, property{"url", invitation.URL})
	}
	return printOne(command, shown)
}

// choosePassword returns the password in the file, or a generated one if file is "".
func choosePassword(file string) (string, error) {
	if file == "" {
		return rand.Text(), nil
	}
	return readSecret("passwordFile", file)
}
