// Package app wires the program. The executable, the tests and the benchmarks share it, so that tests
// run the real wiring.
package app

import (
	"cmp"
	"context"
	"io"
	"io/fs"
	"log/slog"
	"net/url"
	"sync"
	"time"

	"github.com/pocketbase/pocketbase/core"
	"github.com/prometheus/client_golang/prometheus"

	"contactbase/dashboard"
	"contactbase/hooks"
	"contactbase/internal/activity"
	"contactbase/internal/backup"
	"contactbase/internal/body"
	"contactbase/internal/broker"
	"contactbase/internal/contact"
	"contactbase/internal/contact/imports"
	"contactbase/internal/contact/search"
	"contactbase/internal/delivery"
	"contactbase/internal/delivery/store"
	"contactbase/internal/event"
	"contactbase/internal/loop"
	"contactbase/internal/member"
	"contactbase/internal/notice"
	"contactbase/internal/replica"
	"contactbase/internal/retention"
	"contactbase/internal/safehttp"
	"contactbase/internal/sqlite"
	"contactbase/internal/tenant"
	"contactbase/internal/upgrade"
	_ "contactbase/migrations" // the schema
	"contactbase/routes"
	"contactbase/routes/route"
)

// Config is the configuration of the program.
type Config struct {
	Version string           // as responses and deliveries report it
	Given   string           // the path of the data directory before links were resolved; "" if it has none
	Bounds  tenant.Bounds    // how many records a tenant may have; the zero value is tenant.DefaultBounds
	Reach   safehttp.Options // which addresses webhooks may reach
	// whether Reach also holds for webhooks whose URL a member of the tenant has set; they reach public
	// addresses only otherwise
	TrustMembers bool
	// maximum of deliveries in flight, unless the process may open too few files; 0 is the engine's default
	InFlight    int
	PerEndpoint int              // maximum per endpoint; 0 is the engine's default
	NATS        broker.Options   // the server that webhooks may publish to
	Retention   time.Duration    // how long finished deliveries and old events are kept
	Audit       time.Duration    // how long entries of the audit log are kept
	MetricsAddr string           // where to serve metrics, "" for nowhere
	DebugAddr   string           // where to serve profiles, "" for nowhere
	MinFreeDisk uint64           // bytes; with less free space, the program is not ready
	Log         slog.Handler     // receives the log beside PocketBase's table while the program serves; nil for none
	Public      fs.FS            // files served at all other paths
	Woken       func()           // called when the workers are woken; nil for none
	Upgrade     *upgrade.Upgrade // of the data directory; nil for one that reports nothing
	Replica     *replica.Replica // of the data directory; nil for none
	Now         func() time.Time // the clock of the limits of requests; nil for the system's
	Bodies      body.Limits      // of bodies under way; the zero value is body.DefaultLimits
}

// App is the program without its command line.
type App struct {
	core.App
	Sender     *delivery.Sender // of deliveries, and of pings
	Deliveries *store.Store
	Upgrade    *upgrade.Upgrade // of the data directory
	Counter    *activity.Worker // of activity

	engine  *delivery.Engine
	broker  *broker.Broker
	watcher *event.Watcher
	indexer *loop.Loop
	sweeper *loop.Loop
	imports *loop.Loop
	notices *notice.Service
	woken   func()

	lifecycle sync.Mutex // held by Start while it starts the workers; guards stopped
	stopped   bool       // after Stop, Start does nothing
}

// New binds the program to PocketBase's app, which need not be open yet. Background work runs after Start, or while
// the program serves: see BindWorkers.
func New(base core.App, config Config) *App {
	registry := newRegistry()
	registry.MustRegister(sqlite.NewCollector(base), backup.NewCounter(base))
	config.Bounds = cmp.Or(config.Bounds, tenant.DefaultBounds)
	config.Bodies = cmp.Or(config.Bodies, body.DefaultLimits)
	config.Bodies.MinFree = max(config.Bodies.MinFree, config.MinFreeDisk)
	if config.Now == nil {
		config.Now = time.Now
	}
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
			Sender: sender, Queue: deliveries, Backlog: deliveries.Backlog,
			MaxInFlight: config.InFlight, PerEndpoint: config.PerEndpoint,
			// receivers must not learn what a standby does not have; a nil replica acknowledges at once
			BeforeSend: config.Replica.Acknowledge, Registerer: registry,
		}),
		watcher: event.NewWatcher(base),
		broker:  publisher,
		indexer: search.NewIndexer(base, contact.Refold),
		sweeper: retention.NewSweeper(base, deliveries),
		Counter: activity.NewWorker(base, calls),
		imports: imports.NewImporter(base),
		woken:   config.Woken,
	}
	a.bind(config, registry, calls)
	return a
}

// bind registers the parts of the program with PocketBase's app.
func (a *App) bind(config Config, registry *prometheus.Registry, calls *activity.CallCounter) {
	bindEncryption(a.App)
	sqlite.Bind(a.App)
	backup.Bind(a.App)
	hooks.Bind(a.App, config.Bounds, a.Sender, a.wake)
	event.BindOwn(a.App, a.wake)
	warnOfBounds(a.App, config.Bounds)
	logProxy(a.App, config.Reach.Proxy)
	monitor := newMonitor(a.App, a.engine, config.MinFreeDisk, checkReplica(config.Replica)...)
	a.notices = notice.New(a.App, operatorChecks(a.App, config), a.wake)
	registry.MustRegister(monitor, a.notices)
	registry.MustRegister(member.NewMetrics(a.App)...)
	routes.Bind(a.App, route.Config{
		Version: config.Version, Sender: a.Sender, Deliveries: a.Deliveries,
		Watcher: a.watcher, Wake: a.wake, ReadOnly: a.Upgrade.Running, NATS: config.NATS.URL != "",
		Calls: calls, Reasons: monitor.Reasons, Registerer: registry,
		Log: bindLog(a.App, config.Log), Replica: forRoutes(config.Replica), Imports: a.imports,
		Now: config.Now, Bodies: config.Bodies,
	})
	dashboard.Bind(a.App, config.Version)
	if config.Public != nil {
		bindPublic(a.App, config.Public, cmp.Or(config.Given, a.DataDir()))
	}
	a.OnRecordAfterUpdateSuccess(tenant.CollectionName).BindFunc(func(e *core.RecordEvent) error {
		a.imports.Wake() // imports go on when the tenant has API access again
		return e.Next()
	})
	a.bindRetention(config.Retention, config.Audit)
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

// warnOfBounds logs a warning, while the program serves, if a setting counts as less than what it says.
func warnOfBounds(app core.App, bounds tenant.Bounds) {
	app.OnServe().BindFunc(func(e *core.ServeEvent) error {
		if bounds.Webhooks > tenant.MaxWebhooks {
			e.App.Logger().Warn("--maxWebhooks counts as the most webhooks that a tenant may have; those that it has above stay",
				"maxWebhooks", bounds.Webhooks, "most", tenant.MaxWebhooks)
		}
		return e.Next()
	})
}

// logProxy logs, when the program serves, that webhooks go through a proxy, which is then what must refuse private
// addresses.
func logProxy(app core.App, proxy *url.URL) {
	app.OnServe().BindFunc(func(e *core.ServeEvent) error {
		if proxy != nil {
			e.App.Logger().Info("webhooks go through a proxy, which must block private addresses: "+
				"names that only it can resolve are not checked here", "proxy", proxy.Scheme+"://"+proxy.Host)
		}
		return e.Next()
	})
}

func newSender(config Config, publisher *broker.Broker) *delivery.Sender {
	config.Reach.IdleConnections = config.InFlight
	sender := delivery.NewSender(safehttp.New(config.Reach), config.Version)
	if config.Reach.Proxy != nil {
		sender.UseProxy(config.Reach.Proxy)
	}
	if config.TrustMembers {
		sender.TrustMembers()
	}
	sender.Handle(delivery.InspectScheme, delivery.Inspector{})
	sender.Handle(broker.Scheme, publisher)
	return sender
}

// RunAllMigrations implements core.App. It backs up an older data directory first.
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

// filesShare is the part of the process's file limit, as a divisor, that deliveries may take. A delivery in flight
// takes one file, and so does an idle connection; the rest is for requests and databases.
const filesShare = 4

// inFlight returns how many deliveries may be in flight, given the setting and the process's file limit, 0 for none.
func inFlight(asked int, files uint64) int {
	asked = cmp.Or(asked, delivery.DefaultInFlight)
	if files == 0 {
		return asked
	}
	return max(1, int(min(uint64(asked), files/filesShare)))
}
