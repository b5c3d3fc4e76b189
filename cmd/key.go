package cmd

import (
	"fmt"
	"time"

	"github.com/pocketbase/pocketbase/core"
	"github.com/spf13/cobra"

	"contactbase/internal/credential"
	"contactbase/internal/stamp"
	"contactbase/internal/tenant"
)

var keyColumns = []string{"id", "tenant", "name", "prefix", "permissions", "expires", "revoked", "lastUsed"}

// NewKeyCommand returns the command that manages API keys.
func NewKeyCommand(app core.App) *cobra.Command {
	return group("key", "Manage API keys", keyCreate(app),
		listCommand(app, "key", "List the API keys", credential.CollectionName, showing(keyColumns...)),
		keyRevoke(app), keyRotate(app))
}

func keyCreate(app core.App) *cobra.Command {
	var name, expires string
	var permissions []string
	command := &cobra.Command{
		Use:         "create TENANT",
		Short:       "Create an API key; it is shown once",
		Annotations: using("maxKeys"),
		Example:     "  contactbase key create Acme --name website --permission contacts:read",
		RunE: runOn(app, func(command *cobra.Command, t *tenant.Tenant, _ []string) error {
			if err := oneOf("permission", allPermissions(), permissions...); err != nil {
				return err
			}
			values := map[string]any{"tenant": t.Id, "name": name, "permissions": permissions}
			if expires != "" {
				at, err := expiry(expires)
				if err != nil {
					return err
				}
				values["expires"] = at
			}
			record, err := create(app, credential.CollectionName, "key", values)
			if err != nil {
				return err
			}
			return printOne(command, append(columns(record, keyColumns...), property{"key", credential.Minted(record)}))
		}),
	}
	command.Flags().StringVar(&name, "name", "cli", "what the key is for")
	command.Flags().StringSliceVar(&permissions, "permission", nil, alternatives(allPermissions())+
		"; contacts:read and contacts:write by default")
	choices(command, "permission", allPermissions())
	command.Flags().StringVar(&expires, "expires", "", "when the key expires, as an RFC 3339 time")
	return command
}

func allPermissions() []string { return permissionNames(credential.Permissions) }

func permissionNames(permissions []credential.Permission) (names []string) {
	for _, permission := range permissions {
		names = append(names, string(permission))
	}
	return names
}

// expiry reads the flag --expires.
func expiry(text string) (time.Time, error) {
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return at, fmt.Errorf("--expires must be an RFC 3339 time such as 2027-01-31T00:00:00Z, not %q", text)
	}
	if !at.After(time.Now()) {
		return at, fmt.Errorf("--expires must be in the future: %s", text)
	}
	return at, nil
}

func keyRevoke(app core.App) *cobra.Command {
	return &cobra.Command{
		Use:     "revoke ID",
		Short:   "Revoke an API key immediately",
		Example: "  contactbase key revoke <id>",
		RunE: run(app, func(command *cobra.Command, args []string) error {
			record, err := app.FindRecordById(credential.CollectionName, args[0])
			if err != nil {
				return notFound(err, "key", args[0])
			}
			key := credential.KeyOf(record)
			if key.Revoked().IsZero() {
				key.Revoke(time.Now())
				if err := app.Save(key); err != nil {
					return validationError("revoking the key", err)
				}
			}
			return printOne(command, columns(record, keyColumns...))
		}),
	}
}

// keyOverlapHours is how long a rotated key keeps working by default, so that its programs can change to the new one.
const keyOverlapHours = 24

// noteOldKey says until when a rotated key works.
func noteOldKey(command *cobra.Command, app core.App, id string) error {
	record, err := app.FindRecordById(credential.CollectionName, id)
	if err != nil {
		return fmt.Errorf("reading when the old key expires: %w", err)
	}
	end := credential.KeyOf(record).Expires().Time()
	if end.After(time.Now()) {
		fmt.Fprintf(command.ErrOrStderr(), "note: the old key works until %s; end it earlier with: "+
			"contactbase key revoke %s\n", stamp.Shown(end), id)
	} else {
		fmt.Fprintln(command.ErrOrStderr(), "note: the old key has stopped working")
	}
	return nil
}

func keyRotate(app core.App) *cobra.Command {
	var rotation credential.Rotation
	var expires string
	command := &cobra.Command{
		Use:         "rotate ID",
		Short:       "Create a key with the same permissions; the old one expires after --overlapHours",
		Example:     "  contactbase key rotate <id> --overlapHours 0",
		Annotations: using("maxKeys"),
		RunE: run(app, func(command *cobra.Command, args []string) error {
			if expires != "" {
				at, err := expiry(expires)
				if err != nil {
					return err
				}
				rotation.Expires = &at
			}
			key, err := credential.Rotate(app, args[0], rotation, time.Now())
			if err != nil {
				return notFound(err, "key", args[0])
			}
			if end := key.Expires(); expires == "" && !end.IsZero() {
				fmt.Fprintf(command.ErrOrStderr(), "note: the new key expires at %s, "+
					"when the old one was to expire; choose another time with --expires\n", stamp.Shown(end.Time()))
			}
			if err := noteOldKey(command, app, args[0]); err != nil {
				return err
			}
			return printOne(command, append(columns(key.ProxyRecord(), keyColumns...),
				property{"replaces", args[0]}, property{"key", credential.Minted(key.ProxyRecord())}))
		}),
	}
	command.Flags().IntVar(&rotation.OverlapHours, "overlapHours", keyOverlapHours,
		"how many hours the old key keeps working; 0 ends it immediately")
	command.Flags().StringVar(&expires, "expires", "",
		"when the new key expires, as an RFC 3339 time; by default when the old one would have")
	return command
}
