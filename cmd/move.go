package cmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"
	"unicode/utf8"

	"github.com/pocketbase/pocketbase/core"
	"github.com/spf13/cobra"

	"contactbase/internal/audit"
	"contactbase/internal/delivery/store"
	"contactbase/internal/move"
	"contactbase/internal/passphrase"
	"contactbase/internal/tenant"
)

func tenantFreeze(app core.App, deliveries *store.Store) *cobra.Command {
	return &cobra.Command{
		Use:     "freeze TENANT",
		Short:   "Freeze a tenant: reject its writes and send none of its events",
		Example: "  contactbase tenant freeze Acme",
		RunE: runOn(app, func(command *cobra.Command, t *tenant.Tenant, _ []string) error {
			if _, err := move.Freeze(command.Context(), app, deliveries, t.Id); err != nil {
				return err
			}
			return printOne(command, row{{"id", t.Id}, {"state", string(tenant.Frozen)}})
		}),
	}
}

func tenantUnfreeze(app core.App) *cobra.Command {
	return &cobra.Command{
		Use:   "unfreeze TENANT",
		Short: "Open a frozen tenant again",
		Long: "Open a frozen tenant again, if it stays here. " +
			"Never do so after it has moved: it would be written in two places.",
		Example: "  contactbase tenant unfreeze Acme",
		RunE: runOn(app, func(command *cobra.Command, t *tenant.Tenant, _ []string) error {
			if _, err := tenant.Unfreeze(app, t.Id); err != nil {
				return err
			}
			return printOne(command, row{{"id", t.Id}, {"state", stateName(tenant.Open)}})
		}),
	}
}

// moving holds the flags of the commands export and import.
type moving struct {
	app                    core.App
	deliveries             *store.Store
	bounds                 tenant.Bounds
	minFree                uint64
	freeze, resume, frozen bool
	trusted                bool
	passphrase             string // the file that holds it
}

func tenantExport(app core.App, deliveries *store.Store, minFree uint64) *cobra.Command {
	m := &moving{app: app, deliveries: deliveries, minFree: minFree}
	command := &cobra.Command{
		Use:   "export TENANT FILE",
		Short: "Write a tenant and all its data to a file, for another installation",
		Long: "Write a tenant and all its data to a file, for another installation. The tenant must be frozen; " +
			"--freeze freezes it, and it stays frozen. A passphrase encrypts the archive and protects it against " +
			"changes.",
		Example:     "  contactbase tenant export Acme acme.age --freeze",
		Annotations: using("minFreeDisk"),
		RunE: runOn(app, func(command *cobra.Command, t *tenant.Tenant, args []string) error {
			return m.export(command, t, args[1])
		}),
	}
	command.Flags().BoolVar(&m.freeze, "freeze", false, "freeze the tenant first, and wait for deliveries in flight")
	passphraseFlag(command, &m.passphrase)
	return command
}

func (m *moving) export(command *cobra.Command, t *tenant.Tenant, file string) error {
	if err := checkNew(file); err != nil {
		return err
	}
	phrase, err := readPassphrase(command, m.passphrase, true)
	if err != nil {
		return err
	}
	if utf8.RuneCountInString(phrase) < move.MinPassphrase {
		return fmt.Errorf("the passphrase must have at least %d characters", move.MinPassphrase)
	}
	ctx := command.Context()
	closed := false
	if m.freeze {
		if closed, err = move.Freeze(ctx, m.app, m.deliveries, t.Id); err != nil {
			return explainInterrupt(err)
		}
	}
	var moved *move.Summary
	err = writeFile(file, func(to io.Writer) error {
		room, err := move.Room(m.app.DataDir(), m.minFree)
		if err != nil {
			return err
		}
		source := &move.Source{
			App: m.app, Tenant: t.Id, Passphrase: phrase, Room: room, Progress: showProgress(command.ErrOrStderr()),
		}
		moved, err = source.Export(ctx, to)
		return err
	})
	if err != nil {
		err = explainInterrupt(err)
		if closed { // nobody has the archive, so the tenant stays here
			_, opening := tenant.Unfreeze(m.app, t.Id)
			err = errors.Join(err, opening)
		}
		return err
	}
	return m.report(command, audit.Exported, moved, tenant.Frozen)
}

// report writes a move to the audit log, and prints what was moved.
func (m *moving) report(command *cobra.Command, action audit.Action, moved *move.Summary, state tenant.State) error {
	if err := audit.Write(m.app, audit.Entry{
		Tenant: moved.Tenant, Action: action, Collection: tenant.CollectionName, Record: moved.Tenant,
	}); err != nil {
		return err
	}
	return printOne(command, row{
		{"id", moved.Tenant},
		{"name", moved.Name},
		{"state", stateName(state)},
		{"contacts", moved.Rows["contacts"]},
		{"members", moved.Rows["tenant_members"]},
		{"keys", moved.Rows["api_keys"]},
		{"webhooks", moved.Rows["webhooks"]},
		{"inboundWebhooks", moved.Rows["inbound_webhooks"]},
		{"events", moved.Rows["events"]},
		{"deliveries", moved.Rows["deliveries"]},
		{"checksum", moved.Checksum},
	})
}

// checkNew checks that a file can be created.
func checkNew(file string) error {
	if _, err := os.Stat(file); !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("%s already exists; choose another name", file)
	}
	if folder, err := os.Stat(filepath.Dir(file)); err != nil || !folder.IsDir() {
		return fmt.Errorf("the directory %s for %s does not exist; create it first", filepath.Dir(file), filepath.Base(file))
	}
	return nil
}

// explainInterrupt says what an interrupted freeze leaves behind.
func explainInterrupt(err error) error {
	if errors.Is(err, context.Canceled) {
		return errors.New("interrupted: the tenant is unchanged, and nothing was written")
	}
	return err
}

func tenantImport(app core.App, deliveries *store.Store, bounds tenant.Bounds, minFree uint64) *cobra.Command {
	m := &moving{app: app, deliveries: deliveries, bounds: bounds, minFree: minFree}
	command := &cobra.Command{
		Use:   "import FILE",
		Short: "Import a tenant from an archive written by tenant export",
		Long: "Import a tenant from an archive written by tenant export. IDs do not change, so keys, addresses " +
			"and cursors keep working. The command checks the whole archive before it writes anything. The " +
			"tenant is not served until the import is complete.",
		Example: "  contactbase tenant import acme.age\n" +
			"  contactbase tenant import acme.age --resume --passphraseFile passphrase.txt",
		ValidArgsFunction: completeFiles,
		Annotations:       using("minFreeDisk", "maxKeys", "maxWebhooks", "maxInbound", "maxMembers"),
		RunE:              run(app, func(command *cobra.Command, args []string) error { return m.arrive(command, args[0]) }),
	}
	command.Flags().BoolVar(&m.resume, "resume", false, "continue an interrupted import")
	command.Flags().BoolVar(&m.frozen, "frozen", false,
		"leave the tenant frozen, so that nothing is sent, for example in a rehearsal")
	command.Flags().BoolVar(&m.trusted, "trusted", false, "let the webhooks of a tenant with "+
		"members reach private addresses and NATS as before; only for archives that others cannot change")
	passphraseFlag(command, &m.passphrase)
	return command
}

func (m *moving) arrive(command *cobra.Command, name string) error {
	file, err := os.Open(name)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	phrase, err := readPassphrase(command, m.passphrase, false)
	if err != nil {
		return err
	}
	room, err := move.Room(m.app.DataDir(), m.minFree)
	if err != nil {
		return err
	}
	target := &move.Target{
		App: m.app, Bounds: m.bounds, Passphrase: phrase, Room: room, Resume: m.resume, Frozen: m.frozen, Trusted: m.trusted,
		Progress: showProgress(command.ErrOrStderr()),
	}
	moved, err := target.Import(command.Context(), file)
	if errors.Is(err, context.Canceled) {
		return errors.New("interrupted: continue with --resume, or delete the tenant")
	}
	if err != nil {
		return err
	}
	state := tenant.Open
	if m.frozen {
		state = tenant.Frozen
	}
	return m.report(command, audit.Imported, moved, state)
}

func stateName(state tenant.State) string {
	if state == tenant.Open {
		return "open"
	}
	return string(state)
}

func passphraseFlag(command *cobra.Command, into *string) {
	command.Flags().StringVar(into, "passphraseFile", "", "the file with the passphrase (default: prompt for it)")
}

// readPassphrase reads a passphrase from a file, or prompts for it on the terminal, twice if it is new.
func readPassphrase(command *cobra.Command, file string, isNew bool) (string, error) {
	if file != "" {
		return readSecret("passphraseFile", file)
	}
	return passphrase.Ask(command.Context(), command.ErrOrStderr(), isNew)
}

// progressInterval is the time between two lines about the progress of a move.
const progressInterval = 2 * time.Second

// showProgress returns a function that prints a move's progress now and then.
func showProgress(to io.Writer) move.Progress {
	printed := time.Now()
	return func(done, total int) {
		if now := time.Now(); now.Sub(printed) >= progressInterval {
			printed = now
			fmt.Fprintf(to, "%d of %d rows\n", done, total)
		}
	}
}
