// Command contactbase is the contacts API of a CRM in one executable.
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"sync"
	"time"

	"github.com/pocketbase/dbx"
	"github.com/pocketbase/pocketbase"
	"github.com/pocketbase/pocketbase/apis"
	pbcmd "github.com/pocketbase/pocketbase/cmd"
	"github.com/pocketbase/pocketbase/core"
	"github.com/pocketbase/pocketbase/tools/hook"

	"contactbase/cmd"
	"contactbase/dashboard"
	"contactbase/hooks"
	"contactbase/internal/backup"
	"contactbase/internal/contact"
	"contactbase/internal/delivery"
	"contactbase/internal/retention"
	"contactbase/internal/safehttp"
	"contactbase/internal/sqlite"
	_ "contactbase/migrations" // the schema
	"contactbase/routes"
)

func main() {
	keepPrivate()
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "contactbase:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	config, err := newConfig(args)
	if err != nil {
		return err
	}
	defer config.cleanUp()
	connect := sync.OnceValue(config.connect) // for both pools of a database, once the flags are read
	app := pocketbase.NewWithConfig(pocketbase.Config{
		DefaultDataDir: config.dataDir,
		DBConnect:      func(path string) (*dbx.DB, error) { return connect()(path) },
	})
	if err := config.parse(app.RootCmd, args); err != nil {
		return err
	}
	log.SetOutput(safehttp.Quiet(os.Stderr))
	reach := safehttp.Options{AllowPrivate: config.allowPrivateWebhooks, Allow: config.webhookAllow}
	sender := delivery.NewSender(safehttp.New(reach), version)
	registry := newRegistry()
	registry.MustRegister(sqlite.NewCollector(app))
	engine := delivery.NewEngine(app, delivery.Options{Sender: sender, Registerer: registry})
	indexer := contact.NewIndexer(app)
	sweeper := retention.NewSweeper(app)

	bindEncryption(app)
	sqlite.Bind(app)
	backup.Bind(app)
	hooks.Bind(app, func() {
		engine.Wake()
		indexer.Wake()
		sweeper.Wake()
	})
	routes.Bind(app, routes.Config{Version: version, Sender: sender, Wake: engine.Wake, Registerer: registry})
	dashboard.Bind(app)
	bindPublic(app)
	bindWorkers(app, engine, indexer, sweeper)
	bindRetention(app, config.retention())
	bindMetrics(app, config.metricsAddr, registry)
	bindProfiles(app, config.debugAddr)

	app.RootCmd.AddCommand(
		pbcmd.NewSuperuserCommand(app), cmd.NewServeCommand(app),
		cmd.NewTenantCommand(app), cmd.NewKeyCommand(app), cmd.NewWebhookCommand(app, sender, reach), cmd.NewDeliveryCommand(app), cmd.NewInboundCommand(app),
		cmd.NewBackupCommand(app), cmd.NewRestoreCommand(app), cmd.NewDemoCommand(app, config.dataDir),
	)
	if err := cmd.Check(app.RootCmd, args); err != nil {
		return err
	}
	failure := cmd.TrackErrors(app.RootCmd)
	execute := app.Execute
	if cmd.IsOffline(app.RootCmd, args) {
		execute = app.RootCmd.Execute // without opening the database first
	}
	if err := execute(); err != nil {
		return wordStorageError(err, app.DataDir())
	}
	return wordStorageError(failure(), app.DataDir())
}

// bindPublic serves the start page at every address that nothing else takes.
func bindPublic(app core.App) {
	app.OnServe().Bind(&hook.Handler[*core.ServeEvent]{
		Id: "contactbasePublic",
		Func: func(e *core.ServeEvent) error {
			files, err := publicFiles(e.App.DataDir())
			if err != nil {
				return fmt.Errorf("opening the public folder: %w", err)
			}
			e.Router.GET("/{path...}", apis.Static(files, false))
			return e.Next()
		},
		Priority: 999, // after the routes of everybody else
	})
}

// stopPatience is how long requests and deliveries in flight may take, together, when the program ends.
const stopPatience = 10 * time.Second

// bindWorkers runs what works in the background for as long as the program serves. It ends after the HTTP server,
// which still wakes it, and before the database is closed.
func bindWorkers(app core.App, engine *delivery.Engine, indexer *contact.Indexer, sweeper *retention.Sweeper) {
	app.OnServe().BindFunc(func(e *core.ServeEvent) error {
		if err := e.Next(); err != nil {
			return err
		}
		engine.Start()
		indexer.Start()
		sweeper.Start()
		return nil
	})
	var deadline time.Time
	app.OnTerminate().Bind(&hook.Handler[*core.TerminateEvent]{
		Id: "contactbaseDeadline",
		Func: func(e *core.TerminateEvent) error {
			deadline = time.Now().Add(stopPatience)
			return e.Next()
		},
		Priority: -20000, // before the requests are waited for, which counts
	})
	app.OnTerminate().Bind(&hook.Handler[*core.TerminateEvent]{
		Id: "contactbaseWorkers",
		Func: func(e *core.TerminateEvent) error {
			ctx, cancel := context.WithDeadline(context.Background(), deadline)
			defer cancel()
			if err := engine.Stop(ctx); err != nil {
				e.App.Logger().Warn("stopping the deliveries", "error", err)
			}
			indexer.Stop()
			sweeper.Stop()
			return e.Next()
		},
		Priority: -5000,
	})
}

// bindRetention deletes every hour what has been kept long enough.
func bindRetention(app core.App, kept time.Duration) {
	ctx, cancel := context.WithCancel(context.Background())
	app.OnTerminate().BindFunc(func(e *core.TerminateEvent) error {
		cancel()
		return e.Next()
	})
	app.Cron().MustAdd("contactbaseRetention", "23 * * * *", func() {
		if err := retention.Prune(ctx, app, time.Now().Add(-kept)); err != nil && ctx.Err() == nil {
			app.Logger().Error("pruning what was kept for long enough", "error", err)
		}
	})
}
