// Command contactbase is the contacts API of a CRM in one executable.
package main

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"log"
	"os"
	"runtime/debug"
	"sync"

	"github.com/pocketbase/dbx"
	"github.com/pocketbase/pocketbase"
	pbcmd "github.com/pocketbase/pocketbase/cmd"

	"contactbase/cmd"
	"contactbase/internal/app"
	"contactbase/internal/replica"
	"contactbase/internal/safehttp"
	"contactbase/internal/upgrade"
)

//go:embed pb_public
var public embed.FS

func main() {
	keepPrivate()
	growHeap()
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "contactbase:", err)
		os.Exit(exitCode(err))
	}
}

// exitCode is 3 where another machine has taken over: a supervisor that starts the program again has it stand by.
func exitCode(err error) int {
	if errors.Is(err, replica.ErrFenced) {
		return 3
	}
	return 1
}

// growHeap collects garbage less often than Go does by itself, because little is in use at a time: a tenth of the processor
// time of a request was spent on it. The environment variables GOGC and GOMEMLIMIT count, where they are set.
func growHeap() {
	const percent, limit = 400, 320 << 20 // of what is in use; bytes, from which on it is collected more often
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(percent)
	}
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(limit)
	}
}

func run(args []string) error {
	config, err := newConfig(args)
	if err != nil {
		return err
	}
	defer config.cleanUp()
	connect := sync.OnceValue(config.connect) // for both pools of a database, once the flags are read
	pb := pocketbase.NewWithConfig(config.framework(func(path string) (*dbx.DB, error) { return connect()(path) }))
	pb.OnBootstrap().Unbind(pocketbase.ModerncDepsCheckHookId) // it wants another driver, see ADR 28, and says so where commands print JSON
	folder := upgrade.New(pb, os.Stderr)
	var copied *replica.Replica // once the flags are read
	serve := cmd.NewServeCommand(pb, folder, func() <-chan struct{} { return copied.Lost() })
	given := args
	if cmd.IsCompletion(args) {
		given = nil // half a command line
	}
	if err := config.parse(pb.RootCmd, serve, given); err != nil {
		return err
	}
	if copied, err = config.openReplica(pb.DataDir()); err != nil {
		return err
	}
	log.SetOutput(safehttp.Quiet(os.Stderr))
	files, err := fs.Sub(public, "pb_public")
	if err != nil {
		return err
	}
	a := app.New(pb, config.app(files, folder, copied))
	a.BindWorkers()
	pb.RootCmd.AddCommand(
		pbcmd.NewSuperuserCommand(pb), serve, cmd.NewConfigCommand(config.settings, serve.PersistentFlags()),
		cmd.NewTenantCommand(a, a.Deliveries, uint64(config.minFreeDisk)<<20), cmd.NewKeyCommand(a), cmd.NewWebhookCommand(a, a.Deliveries, a.Sender, config.reach()),
		cmd.NewDeliveryCommand(a, a.Deliveries), cmd.NewInboundCommand(a, a.Deliveries), cmd.NewContactCommand(a),
		cmd.NewListenCommand(config.localSender()), cmd.NewBackupCommand(a), cmd.NewRestoreCommand(a), cmd.NewDowngradeCommand(a, folder),
		cmd.NewReplicaCommand(pb, copied), cmd.NewDoctorCommand(pb), cmd.NewHealthCommand(config.settings.Value("http")), cmd.NewDemoCommand(a, config.dataDir),
	)
	cmd.AddShell(pb.RootCmd)
	return execute(pb, args, copied)
}

// execute runs the command that args name.
func execute(pb *pocketbase.PocketBase, args []string, copied *replica.Replica) error {
	if err := cmd.Check(pb.RootCmd, args); err != nil {
		return err
	}
	if err := cmd.CheckFolder(pb.RootCmd, args, pb.DataDir()); err != nil {
		return err
	}
	failure := cmd.TrackErrors(pb.RootCmd)
	execute := pb.Execute
	if cmd.IsOffline(pb.RootCmd, args) {
		execute = pb.RootCmd.Execute // without opening the database first
	} else if proceed, err := cmd.StandBy(pb.RootCmd, args, copied); err != nil || !proceed {
		return err
	} else if err := replica.CheckFolder(pb.DataDir()); err != nil {
		return err
	} else if cmd.IsServer(pb.RootCmd, args) {
		execute = func() error { return serveToEnd(pb) }
	} else if !cmd.IsHelp(pb.RootCmd, args) {
		execute = func() error { return runToEnd(pb) }
	}
	if err := execute(); err != nil {
		return wordStorageError(err, pb.DataDir())
	}
	return wordStorageError(failure(), pb.DataDir())
}
