// Package cli is the command line: it reads the settings, assembles the commands and runs the one that
// the arguments name.
package cli

import (
	"context"
	"errors"
	"io/fs"
	"log"
	"os"
	"runtime/debug"
	"sync"

	"github.com/pocketbase/dbx"
	"github.com/pocketbase/pocketbase"
	pbcmd "github.com/pocketbase/pocketbase/cmd"
	"github.com/spf13/cobra"

	"contactbase/cmd"
	"contactbase/internal/app"
	"contactbase/internal/audit"
	"contactbase/internal/extension"
	"contactbase/internal/replica"
	"contactbase/internal/safehttp"
	"contactbase/internal/upgrade"
)

// Program is the command line over PocketBase, before the command runs.
type Program struct {
	Base   *pocketbase.PocketBase // as extensions receive it
	args   []string
	config *config
	serve  *cobra.Command
	app    *app.App
	copied *replica.Replica // nil for none
}

// ExitCode returns the exit code for an error of the program, 3 if another machine has taken over: a supervisor that
// restarts the program makes it the standby.
func ExitCode(err error) int {
	if errors.Is(err, replica.ErrFenced) {
		return 3
	}
	return 1
}

// tuneGC makes garbage collection rarer than Go's default, because little memory is in use: it took a tenth of a
// request's processor time. GOGC and GOMEMLIMIT override it.
func tuneGC() {
	const percent, limit = 400, 320 << 20 // percent of the memory in use; bytes above which it is collected more often
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(percent)
	}
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(limit)
	}
}

// New reads the settings and assembles the commands for the arguments. It opens nothing. The public files are served
// at all paths that have no route.
func New(version string, public fs.FS, args []string) (*Program, error) {
	setUmask()
	tuneGC()
	config, err := newConfig(version, args)
	if err != nil {
		return nil, err
	}
	connect := sync.OnceValue(config.connect) // shared by both pools of a database, once the flags are read
	pb := config.open(func(path string) (*dbx.DB, error) { return connect()(path) })
	// it expects another driver (see ADR 28), and warns where commands print JSON
	pb.OnBootstrap().Unbind(pocketbase.ModerncDepsCheckHookId)
	folder := upgrade.New(pb, os.Stderr)
	var copied *replica.Replica // set once the flags are read
	serve := cmd.NewServeCommand(pb, folder, func(ctx context.Context) error { return copied.AwaitLoss(ctx) })
	given := args
	if isCompletion(args) {
		given = nil // an incomplete command line
	}
	config.served = readServed(pb.DataDir())
	if err := config.parse(pb.RootCmd, serve, given); err != nil {
		return nil, err
	}
	if copied, err = config.openReplica(pb.DataDir()); err != nil {
		return nil, err
	}
	log.SetOutput(safehttp.Quiet(os.Stderr))
	a := app.New(pb, config.app(public, folder, copied))
	a.BindWorkers()
	recordServed(a, serve.PersistentFlags())
	addCommands(pb.RootCmd, serve, a, config, copied)
	extended := *pb // our own writes name their tenants, and those of an extension have none
	extended.App = extension.Record(pb.App)
	return &Program{&extended, args, config, serve, a, copied}, nil
}

// Execute runs the command that the arguments name.
func (p *Program) Execute() error {
	defer p.config.cleanUp()
	addSettings(p.Base.RootCmd, p.serve.PersistentFlags())
	addShell(p.Base.RootCmd)
	shortenHelp(p.Base.RootCmd)
	return p.execute()
}

func addCommands(root, serve *cobra.Command, a *app.App, c *config, copied *replica.Replica) {
	acting := audit.As(a, audit.Operator())
	root.AddCommand(
		pbcmd.NewSuperuserCommand(a.App),
		serve,
		cmd.NewConfigCommand(c.settings, serve.PersistentFlags()),
		cmd.NewTenantCommand(acting, a.Deliveries, c.bounds, c.minFree()),
		cmd.NewKeyCommand(acting),
		cmd.NewMemberCommand(acting, a.Deliveries),
		cmd.NewWebhookCommand(acting, a.Deliveries, a.Sender, c.reach()),
		cmd.NewDeliveryCommand(acting, a.Deliveries),
		cmd.NewEventCommand(acting, a.Deliveries),
		cmd.NewNoticeCommand(acting),
		cmd.NewInboundCommand(acting, a.Deliveries),
		cmd.NewContactCommand(acting),
		cmd.NewListenCommand(c.localSender()),
		cmd.NewBackupCommand(a),
		cmd.NewRestoreCommand(a),
		cmd.NewReplicaCommand(a.App, copied),
		cmd.NewDoctorCommand(a.App),
		cmd.NewHealthCommand(c.settings.Value("http")),
		cmd.NewDemoCommand(a),
		cmd.NewMigrateCommand(a, &c.scripts),
	)
}
