package cmd

import (
	"fmt"
	"strconv"

	"github.com/pocketbase/pocketbase/core"
	"github.com/spf13/cobra"

	"contactbase/internal/credential"
	"contactbase/internal/delivery/store"
	"contactbase/internal/inbound"
	"contactbase/internal/tenant"
)

var inboundColumns = []string{"id", "tenant", "name", "access", "prefix", "verifyScheme", "disabled", "lastUsed"}

// inboundRow shows an inbound webhook.
func inboundRow(record *core.Record) row {
	shown := columns(record, inboundColumns...)
	for i := range shown {
		scheme := record.GetString("verifyScheme")
		switch {
		case shown[i].name != "verifyScheme" || record.GetString("verifySecret") != "":
		case scheme == "":
			shown[i].value = nil
		default:
			shown[i].value = unusedScheme(scheme)
		}
	}
	return append(shown, property{"rateLimit", inboundRate(record.GetInt("rateLimit"))})
}

// unusedScheme is the verifyScheme of an inbound webhook without a secret. Tables show that it verifies nothing.
type unusedScheme string

func (s unusedScheme) String() string { return string(s) + " (unused without verifySecret)" }

// inboundRate is the rateLimit of an inbound webhook. Tables show which default 0 stands for.
type inboundRate int

func (r inboundRate) String() string {
	if r == 0 {
		return fmt.Sprintf("%d (default)", inbound.DefaultRateLimit)
	}
	return strconv.Itoa(int(r))
}

// NewInboundCommand returns the command that manages inbound webhooks.
func NewInboundCommand(app core.App, deliveries *store.Store) *cobra.Command {
	return group("inbound", "Manage inbound webhooks",
		inboundCreate(app), listCommand(app, "inbound",
			"List the inbound webhooks", inbound.CollectionName, inboundRow),
		inboundRotate(app),
		deleteCommand(app, deliveries, "inbound", "Delete an inbound webhook; its address stops working immediately",
			inbound.CollectionName, "inbound webhook"))
}

func inboundCreate(app core.App) *cobra.Command {
	var name, access, mapping string
	var rateLimit int
	var signing signingFlags
	command := &cobra.Command{
		Use:         "create TENANT",
		Short:       "Create an inbound webhook; its address is shown once",
		Example:     `  contactbase inbound create Acme --name typeform --mapping '{"preset":"typeform"}'`,
		Annotations: using("maxInbound"),
		RunE: runOn(app, func(command *cobra.Command, t *tenant.Tenant, _ []string) error {
			if err := oneOf("access", []string{inbound.AccessUpsert, inbound.AccessFull}, access); err != nil {
				return err
			}
			if err := signing.check(); err != nil {
				return err
			}
			record, err := create(app, inbound.CollectionName, "inbound webhook", map[string]any{
				"tenant": t.Id, "name": name, "access": access, "mapping": mapping,
				"verifySecret": signing.secret, "verifyScheme": signing.scheme, "rateLimit": rateLimit,
				"verifyHeader": signing.header, "verifyFormat": signing.format,
				"verifyHash": signing.hash, "verifyTimestamp": signing.timestamp,
			})
			if err != nil {
				return err
			}
			return printOne(command, append(inboundRow(record), minted(app, record)...))
		}),
	}
	command.Flags().StringVar(&name, "name", "cli", "the sending system")
	command.Flags().StringVar(&access, "access", inbound.AccessUpsert, "upsert, or full to let the sender delete contacts")
	choices(command, "access", []string{inbound.AccessUpsert, inbound.AccessFull})
	command.Flags().StringVar(&mapping, "mapping", "", "how to read contacts from the sender's payload, as JSON")
	signing.add(command)
	command.Flags().IntVar(&rateLimit, "rateLimit", 0,
		fmt.Sprintf("requests per minute, half of them at once; 0 for %d", inbound.DefaultRateLimit))
	return command
}

// signingFlags say how the sender signs.
type signingFlags struct{ secret, scheme, header, format, hash, timestamp string }

func (f *signingFlags) check() error {
	if f.scheme == "" {
		return nil
	}
	return oneOf("verifyScheme", inbound.Schemes(), f.scheme)
}

func (f *signingFlags) add(command *cobra.Command) {
	command.Flags().StringVar(&f.secret, "verifySecret", "",
		"the secret with which the sender signs; rejects requests without a valid signature")
	command.Flags().StringVar(&f.scheme, "verifyScheme", "",
		"how the sender signs: "+alternatives(inbound.Schemes())+" (default: as the preset's sender)")
	choices(command, "verifyScheme", inbound.Schemes())
	command.Flags().StringVar(&f.header, "verifyHeader", "",
		"for hmac and token: the header with the signature or the token")
	command.Flags().StringVar(&f.format, "verifyFormat", "",
		"for hmac: how the header has the signature, hex or base64 (default: hex)")
	choices(command, "verifyFormat", []string{"hex", "base64"})
	command.Flags().StringVar(&f.hash, "verifyHash", "", "for hmac: sha256, sha1 or sha512 (default: sha256)")
	choices(command, "verifyHash", []string{"sha256", "sha1", "sha512"})
	command.Flags().StringVar(&f.timestamp, "verifyTimestamp", "",
		"for hmac: the header with the time, if the sender signs the time, a dot and the body")
}

func inboundRotate(app core.App) *cobra.Command {
	return &cobra.Command{
		Use:     "rotate ID",
		Short:   "Replace an inbound webhook's address; the old one stops working immediately",
		Example: "  contactbase inbound rotate <id>",
		RunE: run(app, func(command *cobra.Command, args []string) error {
			record, err := inbound.RotateToken(app, args[0])
			if err != nil {
				return notFound(err, "inbound webhook", args[0])
			}
			return printOne(command, append(row{{"id", record.Id}}, minted(app, record)...))
		}),
	}
}

func minted(app core.App, record *core.Record) row {
	token := credential.Minted(record)
	return row{{"token", token}, {"url", inbound.Address(app, token)}}
}
