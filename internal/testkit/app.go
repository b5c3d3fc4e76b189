// Package testkit helps tests: it makes apps with the production wiring, HTTP servers and records, and checks
// exchanges against the OpenAPI document. Only tests import it.
package testkit

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/pocketbase/dbx"
	"github.com/pocketbase/pocketbase/apis"
	"github.com/pocketbase/pocketbase/core"
	"github.com/pocketbase/pocketbase/tests"

	program "contactbase/internal/app"
	"contactbase/internal/body"
	"contactbase/internal/safehttp"
)

// template is a data directory with the schema. Copying it takes a tenth of the time of migrating a new one.
var template = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "contactbase-template-")
	if err != nil {
		return "", err
	}
	app, err := tests.NewTestAppWithConfig(core.BaseAppConfig{DataDir: dir})
	if err != nil {
		return "", err
	}
	defer app.Cleanup()
	if err := app.RunAllMigrations(); err != nil {
		return "", err
	}
	if err := hashQuickly(app); err != nil {
		return "", err
	}
	// the app works on a copy of dir, which becomes the template
	copied := filepath.Join(dir, "data")
	if err := os.Mkdir(copied, 0o700); err != nil {
		return "", err
	}
	for name, db := range map[string]dbx.Builder{
		"data.db": app.NonconcurrentDB(), "auxiliary.db": app.AuxNonconcurrentDB(),
	} {
		if _, err := db.NewQuery(fmt.Sprintf("VACUUM INTO '%s'", filepath.Join(copied, name))).Execute(); err != nil {
			return "", err
		}
	}
	return copied, nil
})

// hashQuickly lowers the cost of hashing passwords, which otherwise takes most of the time of the tests of sessions.
func hashQuickly(app core.App) error {
	const least = 4 // that bcrypt accepts
	collections, err := app.FindAllCollections(core.CollectionTypeAuth)
	if err != nil {
		return err
	}
	for _, collection := range collections {
		collection.Fields.GetByName(core.FieldNamePassword).(*core.PasswordField).Cost = least
		if err := app.Save(collection); err != nil {
			return err
		}
	}
	return nil
}

// Cleanup deletes the template. TestMain may call it.
func Cleanup() {
	if dir, err := template(); err == nil {
		_ = os.RemoveAll(filepath.Dir(dir))
	}
}

// NewApp returns an app with the production wiring, in a new directory that is deleted when the test ends. No
// background work runs. Each commit that leaves background work calls woken.
func NewApp(tb testing.TB, woken ...func()) *tests.TestApp {
	tb.Helper()
	app, _ := newApp(tb, connect(tb), wiring(woken))
	return app
}

// NewAppAt is NewApp with a clock of its own for the limits of requests.
func NewAppAt(tb testing.TB, now func() time.Time) *tests.TestApp {
	tb.Helper()
	config := wiring(nil)
	config.Now = now
	app, _ := newApp(tb, connect(tb), config)
	return app
}

// NewBoundedApp is NewApp with bounds of its own for bodies under way.
func NewBoundedApp(tb testing.TB, limits body.Limits) *tests.TestApp {
	tb.Helper()
	config := wiring(nil)
	config.Bodies = limits
	app, _ := newApp(tb, connect(tb), config)
	return app
}

// NewAppOn is NewApp with another way to open the databases.
func NewAppOn(tb testing.TB, connect core.DBConnectFunc) *tests.TestApp {
	tb.Helper()
	app, _ := newApp(tb, connect, wiring(nil))
	return app
}

func newApp(tb testing.TB, connect core.DBConnectFunc, config program.Config) (*tests.TestApp, *program.App) {
	tb.Helper()
	dir, err := template()
	if err != nil {
		tb.Fatalf("making the template: %v", err)
	}
	app, err := tests.NewTestAppWithConfig(core.BaseAppConfig{DataDir: dir, DBConnect: connect})
	if err != nil {
		tb.Fatalf("making an app: %v", err)
	}
	tb.Cleanup(app.Cleanup)
	return app, bind(app, config)
}

// NewMailingApp is NewApp without PocketBase's test app, which sends no mails.
func NewMailingApp(tb testing.TB) core.App {
	tb.Helper()
	from, err := template()
	if err != nil {
		tb.Fatalf("making the template: %v", err)
	}
	dir := tb.TempDir()
	if err := os.CopyFS(dir, os.DirFS(from)); err != nil {
		tb.Fatalf("copying the template: %v", err)
	}
	return Open(tb, dir)
}

// Reopen returns a second app on the data directory of the first, like that of another process.
func Reopen(tb testing.TB, first core.App, woken ...func()) core.App {
	tb.Helper()
	return Open(tb, first.DataDir(), woken...)
}

// Open returns an app on a data directory with the schema, until the test ends.
func Open(tb testing.TB, dir string, woken ...func()) core.App {
	tb.Helper()
	app := core.NewBaseApp(core.BaseAppConfig{DataDir: dir, DBConnect: connect(tb)})
	if err := app.Bootstrap(); err != nil {
		tb.Fatalf("opening the data directory: %v", err)
	}
	tb.Cleanup(func() {
		err := app.OnTerminate().Trigger(&core.TerminateEvent{App: app}, func(*core.TerminateEvent) error {
			return app.ResetBootstrapState()
		})
		if err != nil {
			tb.Errorf("closing the app: %v", err)
		}
	})
	bind(app, wiring(woken))
	return app
}

// thisMachine allows webhooks to reach loopback addresses.
var thisMachine = safehttp.Options{Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}}

func wiring(woken []func()) program.Config {
	return program.Config{
		Version:   "test",
		Reach:     thisMachine,
		Retention: 30 * 24 * time.Hour,
		Audit:     365 * 24 * time.Hour,
		Woken: func() {
			for _, f := range woken {
				f()
			}
		},
	}
}

func bind(app core.App, config program.Config) *program.App {
	bound := program.New(app, config)
	app.Store().Set(deliveriesKey, bound.Deliveries)
	app.Store().Set(counterKey, bound.Counter)
	return bound
}

// Serve serves the app on a free port of 127.0.0.1 until the test ends. It returns the base URL without a
// slash at the end.
func Serve(tb testing.TB, app core.App) string {
	tb.Helper()
	server := httptest.NewServer(handler(tb, app))
	tb.Cleanup(server.Close)
	return server.URL
}

// ServeHTTP2 is Serve over TLS with HTTP/2. It also returns a client that trusts the server.
func ServeHTTP2(tb testing.TB, app core.App) (base string, client *http.Client) {
	tb.Helper()
	server := httptest.NewUnstartedServer(handler(tb, app))
	server.EnableHTTP2 = true
	server.StartTLS()
	tb.Cleanup(server.Close)
	return server.URL, server.Client()
}

func handler(tb testing.TB, app core.App) http.Handler {
	tb.Helper()
	router, err := apis.NewRouter(app)
	if err != nil {
		tb.Fatalf("making the router: %v", err)
	}
	router.Bind(apis.CORS(apis.CORSConfig{AllowOrigins: []string{"*"}})) // as apis.Serve does
	event := &core.ServeEvent{App: app, Router: router, Server: &http.Server{ReadHeaderTimeout: time.Minute}}
	err = app.OnServe().Trigger(event, func(e *core.ServeEvent) (err error) {
		e.Server.Handler, err = e.Router.BuildMux()
		return err
	})
	if err != nil {
		tb.Fatalf("binding the routes: %v", err)
	}
	return event.Server.Handler
}
