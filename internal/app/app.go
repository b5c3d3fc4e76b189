// Package app puts the program together. The executable, the tests and the benchmarks use it, so that what is tested is
// what runs.
package app

import (
	"context"
	"io"
	"io/fs"
	"log/slog"
	"sync"
	"time"

	"github.com/pocketbase/pocketbase/core"
	"github.com/prometheus/client_golang/prometheus"

	"contactbase/dashboard"
	"contactbase/hooks"
	"contactbase/internal/activity"
	"contactbase/internal/backup"
	"contactbase/internal/broker"
	"contactbase/internal/contact/imports"
	"contactbase/internal/contact/search"
	"contactbase/internal/delivery"
	"contactbase/internal/delivery/store"
	"contactbase/internal/event"
	"contactbase/internal/loop"
	"contactbase/internal/replica"
	"contactbase/internal/retention"
	"contactbase/internal/safehttp"
	"contactbase/internal/sqlite"
	"contactbase/internal/upgrade"
	_ "contactbase/migrations" // the schema
	"contactbase/routes"
)

// Config is what the program can be told.
type Config struct {
	Version     string           // of the program, as answers and deliveries name it
	Reach       safehttp.Options // which addresses webhooks may lead to
	InFlight    int              // how many deliveries are in flight at most, if the process may open as many files; 0 is the engine's default
	PerEndpoint int              // how many of them at an endpoint; 0 is the engine's default
	NATS        broker.Options   // where webhooks may publish
	Retention   time.Duration    // how long what is finished is kept
	MetricsAddr string           // where metrics are served, "" for nowhere
	DebugAddr   string           // where profiles are served, "" for nowhere
	MinFreeDisk uint64           // below how many free bytes the program is not ready
	Log         slog.Handler     // takes the log beside PocketBase's table while the program serves, nil for nobody
	Public      fs.FS            // what is served where nothing else is
	Woken       func()           // called when the workers are, nil for nobody
	Upgrade     *upgrade.Upgrade // of the data directory, nil for one that tells nobody
	Replica     *replica.Replica // of the data directory, nil for none
}

// App is the program without its command line.
type App struct {
	core.App
	Sender     *delivery.Sender // of deliveries, and of the ping that an admin asks for
	Deliveries delivery.Store
	Upgrade    *upgrade.Upgrade // of the data directory
	Counter    *activity.Worker // of what happens

	engine  *delivery.Engine
	broker  *broker.Broker
	watcher *event.Watcher
	indexer *loop.Loop
	sweeper *loop.Loop
	imports *loop.Loop
	woken   func()

	lifecycle sync.Mutex // held by Start while it starts the workers; guards stopped
	stopped   bool       // Stop was called: Start does nothing any more
}

// New binds the program to PocketBase's app, which need not be open yet. What works in the background does so from
// Start on, or while the program serves: see BindWorkers.
func New(base core.App, config Config) *App {
	registry := newRegistry()
	registry.MustRegister(sqlite.NewCollector(base), backup.NewCounter(base))
	if config.Upgrade == nil {
		config.Upgrade = upgrade.New(base, io.Discard)
	}
	config.InFlight = inFlight(config.InFlight, openFiles())
	publisher := broker.New(config.NATS, config.Version)
	sender := newSender(config, publisher)
	deliveries := store.New(base)
	calls := activity.NewCallCounter()
	a := &App{
		App:        base,
		Sender:     sender,
		Deliveries: deliveries,
		Upgrade:    config.Upgrade,
		engine: delivery.NewEngine(base, delivery.Options{
			Sender: sender, Store: deliveries, MaxInFlight: config.InFlight, PerEndpoint: config.PerEndpoint,
			BeforeSend: beforeSend(config.Replica), Registerer: registry,
		}),
		watcher: event.NewWatcher(base),
		broker:  publisher,
		indexer: search.NewIndexer(base),
		sweeper: retention.NewSweeper(base, deliveries),
		Counter: activity.NewWorker(base, calls),
		imports: imports.NewImporter(base),
		woken:   config.Woken,
	}
	a.bind(config, registry, calls)
	return a
}

// bind has PocketBase's app call the parts of the program.
func (a *App) bind(config Config, registry *prometheus.Registry, calls *activity.CallCounter) {
	bindEncryption(a.App)
	sqlite.Bind(a.App)
	backup.Bind(a.App)
	hooks.Bind(a.App, a.Deliveries, a.Sender, a.wake)
	monitor := newMonitor(a.App, a.engine, config.MinFreeDisk, checkReplica(config.Replica)...)
	registry.MustRegister(monitor)
	routes.Bind(a.App, routes.Config{
		Version: config.Version, Sender: a.Sender, Deliveries: a.Deliveries, Watcher: a.watcher, Wake: a.wake, ReadOnly: a.Upgrade.Running,
		Calls: calls, Reasons: monitor.Reasons, Registerer: registry, Log: bindLog(a.App, config.Log), Replica: forRoutes(config.Replica), Imports: a.imports,
	})
	dashboard.Bind(a.App, config.Version)
	if config.Public != nil {
		bindPublic(a.App, config.Public)
	}
	a.bindRetention(config.Retention)
	bindMoves(a.App)
	if config.Replica != nil {
		registry.MustRegister(config.Replica)
		bindReplica(a.App, config.Replica, a.watcher)
	}
	registry.MustRegister(newDiskMetrics(a.App, config.MinFreeDisk)...)
	bindHealth(a.App, monitor)
	bindMetrics(a.App, config.MetricsAddr, registry, monitor)
	bindProfiles(a.App, config.DebugAddr)
}

// newSender returns the sender of deliveries to all kinds of receivers.
func newSender(config Config, publisher *broker.Broker) *delivery.Sender {
	config.Reach.IdleConnections = config.InFlight
	sender := delivery.NewSender(safehttp.New(config.Reach), config.Version)
	sender.Handle(delivery.InspectScheme, delivery.Inspector{})
	sender.Handle(broker.Scheme, publisher)
	return sender
}

// RunAllMigrations implements core.App. A data directory of an older version is backed up first.
func (a *App) RunAllMigrations() error { return a.Upgrade.Run(context.Background()) }

func (a *App) wake() {
	a.engine.Wake()
	a.watcher.Wake()
	a.indexer.Wake()
	a.sweeper.Wake()
	if a.woken != nil {
		a.woken()
	}
}
