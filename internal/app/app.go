// Package app puts the program together. The executable, the tests and the benchmarks use it, so that what is tested is
// what runs.
package app

import (
	"io/fs"
	"time"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/dashboard"
	"contactbase/hooks"
	"contactbase/internal/backup"
	"contactbase/internal/contact/search"
	"contactbase/internal/delivery"
	"contactbase/internal/delivery/store"
	"contactbase/internal/event"
	"contactbase/internal/retention"
	"contactbase/internal/safehttp"
	"contactbase/internal/sqlite"
	_ "contactbase/migrations" // the schema
	"contactbase/routes"
)

// Config is what the program can be told.
type Config struct {
	Version     string           // of the program, as answers and deliveries name it
	Reach       safehttp.Options // which addresses webhooks may lead to
	Retention   time.Duration    // how long what is finished is kept
	MetricsAddr string           // where metrics are served, "" for nowhere
	DebugAddr   string           // where profiles are served, "" for nowhere
	Public      fs.FS            // what is served where nothing else is
	Woken       func()           // called when the workers are, nil for nobody
}

// App is the program without its command line.
type App struct {
	core.App
	Sender     *delivery.Sender // of deliveries, and of the ping that an admin asks for
	Deliveries delivery.Store

	engine  *delivery.Engine
	watcher *event.Watcher
	indexer *search.Indexer
	sweeper *retention.Sweeper
	woken   func()
}

// New binds the program to PocketBase's app, which need not be open yet. What works in the background does so from
// Start on, or while the program serves: see BindWorkers.
func New(base core.App, config Config) *App {
	registry := newRegistry()
	registry.MustRegister(sqlite.NewCollector(base))
	sender := delivery.NewSender(safehttp.New(config.Reach), config.Version)
	deliveries := store.New(base)
	a := &App{
		App:        base,
		Sender:     sender,
		Deliveries: deliveries,
		engine:     delivery.NewEngine(base, delivery.Options{Sender: sender, Store: deliveries, Registerer: registry}),
		watcher:    event.NewWatcher(base),
		indexer:    search.NewIndexer(base),
		sweeper:    retention.NewSweeper(base, deliveries),
		woken:      config.Woken,
	}
	bindEncryption(base)
	sqlite.Bind(base)
	backup.Bind(base)
	hooks.Bind(base, deliveries, a.wake)
	routes.Bind(base, routes.Config{
		Version: config.Version, Sender: sender, Deliveries: deliveries, Watcher: a.watcher, Wake: a.wake, Registerer: registry,
	})
	dashboard.Bind(base, config.Version)
	if config.Public != nil {
		bindPublic(base, config.Public)
	}
	bindRetention(base, deliveries, config.Retention)
	bindMetrics(base, config.MetricsAddr, registry)
	bindProfiles(base, config.DebugAddr)
	return a
}

func (a *App) wake() {
	a.engine.Wake()
	a.watcher.Wake()
	a.indexer.Wake()
	a.sweeper.Wake()
	if a.woken != nil {
		a.woken()
	}
}
