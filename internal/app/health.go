package app

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"

	"github.com/pocketbase/pocketbase/apis"
	"github.com/pocketbase/pocketbase/core"
	"github.com/prometheus/client_golang/prometheus"

	"contactbase/internal/delivery"
	"contactbase/internal/disk"
	"contactbase/internal/extension"
	"contactbase/internal/health"
	"contactbase/internal/notice"
	"contactbase/internal/order"
	"contactbase/internal/requests"
	"contactbase/internal/sqlite"
)

// newMonitor returns the monitor of the program's readiness. With less than minFree bytes of free disk space, the
// program is not ready.
func newMonitor(app core.App, engine *delivery.Engine, minFree uint64, more ...health.Check) *health.Monitor {
	var ending, migrated atomic.Bool
	order.OnStop(app, "contactbaseHealth", order.WaitsEnd, func() { ending.Store(true) })
	monitor := health.NewMonitor(append([]health.Check{
		{Name: "program", Look: func(context.Context) error {
			if ending.Load() {
				return errors.New("the program is shutting down")
			}
			return nil
		}},
		{Name: "database", Look: func(context.Context) error { return sqlite.Writable(app) }},
		{Name: "migrations", Look: func(ctx context.Context) error {
			if migrated.Load() {
				return nil
			}
			err := checkMigrations(ctx, app)
			migrated.Store(err == nil)
			return err
		}},
		{Name: "engine", Look: func(context.Context) error { return engine.Working() }},
		{Name: "extensions", Look: func(context.Context) error { return extension.Working(app) }},
		{Name: "disk", Look: func(context.Context) error { return checkDisk(app, minFree) }},
	}, more...)...)
	monitor.Warnings = func() []string { return mailWarnings(app.Settings()) }
	return monitor
}

// mailWarnings says why mail servers will refuse the program's mails.
func mailWarnings(settings *core.Settings) []string {
	var mail notice.MailSettings
	mail.Meta.SenderAddress = settings.Meta.SenderAddress
	mail.SMTP.Enabled, mail.SMTP.LocalName = settings.SMTP.Enabled, settings.SMTP.LocalName
	return mail.Warnings()
}

// checkMigrations returns an error if the database schema is out of date.
func checkMigrations(ctx context.Context, app core.App) error {
	var names []string
	query := app.ConcurrentDB().Select("file").From(core.DefaultMigrationsTable).WithContext(ctx)
	if err := query.Column(&names); err != nil {
		return fmt.Errorf("the database cannot be read: %w", err)
	}
	done := make(map[string]bool, len(names))
	for _, name := range names {
		done[name] = true
	}
	open := 0
	for _, list := range []core.MigrationsList{core.SystemMigrations, core.AppMigrations} {
		for _, migration := range list.Items() {
			if !done[migration.File] {
				open++
			}
		}
	}
	if open > 0 {
		return fmt.Errorf(
			"the database schema is out of date (%d pending migrations): restart the server to upgrade it", open,
		)
	}
	return nil
}

// errUnknown means that the free disk space cannot be read, for example because the data directory was moved.
var errUnknown = errors.New("the free disk space is unknown")

func checkDisk(app core.App, minFree uint64) error {
	space, err := disk.Of(app.DataDir())
	if err != nil {
		return fmt.Errorf("%w: %w", errUnknown, err)
	}
	if space.Free < minFree {
		return fmt.Errorf("the disk has %d MiB left, less than the %d MiB of --minFreeDisk: free some space",
			space.Free>>20, minFree>>20)
	}
	return nil
}

// operatorChecks are the checks of readiness that the operator is notified of.
func operatorChecks(app core.App, config Config) []notice.Check {
	checks := []notice.Check{
		{Kind: notice.DiskLow, Look: func(context.Context) error {
			if err := checkDisk(app, config.MinFreeDisk); !errors.Is(err, errUnknown) { // /readyz reports the unknown
				return err
			}
			return nil
		}},
	}
	for _, check := range checkReplica(config.Replica) {
		checks = append(checks, notice.Check{Kind: notice.ReplicaBehind, Look: check.Look})
	}
	return checks
}

// bindHealth serves the health checks on the API's address. Monitors call them all the time, so they are neither
// logged nor counted.
func bindHealth(app core.App, monitor *health.Monitor) {
	app.OnServe().BindFunc(func(e *core.ServeEvent) error {
		for path, answer := range healthHandlers(monitor) {
			e.Router.GET(path, apis.WrapStdHandler(answer)).
				Unbind(apis.DefaultActivityLoggerMiddlewareId, apis.DefaultLoadAuthTokenMiddlewareId, requests.ObserverID)
		}
		return e.Next()
	})
}

func healthHandlers(monitor *health.Monitor) map[string]http.Handler {
	return map[string]http.Handler{
		health.LivePath:  http.HandlerFunc(health.ServeLive),
		health.ReadyPath: http.HandlerFunc(monitor.ServeReady),
	}
}

// newDiskMetrics returns the metrics of the data directory's disk.
func newDiskMetrics(app core.App, minFree uint64) []prometheus.Collector {
	gauge := func(name, help string, value func() uint64) prometheus.Collector {
		return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "contactbase_disk_" + name, Help: help},
			func() float64 { return float64(value()) })
	}
	space := func() disk.Space {
		found, _ := disk.Of(app.DataDir()) // if unknown, /readyz reports it
		return found
	}
	return []prometheus.Collector{
		gauge("free_bytes", "Free space on the disk of the data directory.", func() uint64 { return space().Free }),
		gauge("size_bytes", "Size of the disk of the data directory.", func() uint64 { return space().Size }),
		gauge("least_bytes", "Free space that /readyz requires.", func() uint64 { return minFree }),
	}
}
