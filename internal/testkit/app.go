// Package testkit makes the parts that tests are built from: a fresh app with the production wiring, its HTTP
// server, records, and a receiver of webhooks. Only tests import it.
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

	"github.com/pocketbase/pocketbase/apis"
	"github.com/pocketbase/pocketbase/core"
	"github.com/pocketbase/pocketbase/tests"

	program "contactbase/internal/app"
	"contactbase/internal/safehttp"
	"contactbase/internal/sqlite"
)

// template is a data directory with the schema in it. Cloning it takes a tenth of the time of migrating a new one.
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
	// the app works on a clone of the folder that it was given: what it made becomes the template
	copied := filepath.Join(dir, "data")
	if err := os.Mkdir(copied, 0o700); err != nil {
		return "", err
	}
	for _, name := range []string{"data.db", "auxiliary.db"} {
		_, err := app.NonconcurrentDB().NewQuery("SELECT 1").Execute()
		if err != nil {
			return "", err
		}
		db := app.NonconcurrentDB()
		if name == "auxiliary.db" {
			db = app.AuxNonconcurrentDB()
		}
		if _, err := db.NewQuery(fmt.Sprintf("VACUUM INTO '%s'", filepath.Join(copied, name))).Execute(); err != nil {
			return "", err
		}
	}
	return copied, nil
})

// Cleanup removes what the tests of a package share. TestMain may call it; the system's temporary directory is cleaned anyway.
func Cleanup() {
	if dir, err := template(); err == nil {
		_ = os.RemoveAll(filepath.Dir(dir))
	}
}

// NewApp returns a fresh app, wired as it is in production, in a folder that goes when the test ends. Nothing works in
// the background. woken, where given, is called after each commit that left something to do there.
func NewApp(tb testing.TB, woken ...func()) *tests.TestApp {
	tb.Helper()
	app, _ := newApp(tb, woken)
	return app
}

func newApp(tb testing.TB, woken []func()) (*tests.TestApp, *program.App) {
	tb.Helper()
	dir, err := template()
	if err != nil {
		tb.Fatalf("making the template folder: %v", err)
	}
	app, err := tests.NewTestAppWithConfig(core.BaseAppConfig{DataDir: dir, DBConnect: sqlite.Connect(sqlite.Normal)})
	if err != nil {
		tb.Fatalf("making an app: %v", err)
	}
	tb.Cleanup(app.Cleanup)
	return app, bind(app, woken)
}

// Reopen returns a second app on the folder of the first, as another process has it.
func Reopen(tb testing.TB, first core.App, woken ...func()) core.App {
	tb.Helper()
	return Open(tb, first.DataDir(), woken...)
}

// Open returns an app on a folder with the schema, until the test ends.
func Open(tb testing.TB, dir string, woken ...func()) core.App {
	tb.Helper()
	app := core.NewBaseApp(core.BaseAppConfig{DataDir: dir, DBConnect: sqlite.Connect(sqlite.Normal)})
	if err := app.Bootstrap(); err != nil {
		tb.Fatalf("opening the folder: %v", err)
	}
	tb.Cleanup(func() {
		if err := app.ResetBootstrapState(); err != nil {
			tb.Errorf("closing the app: %v", err)
		}
	})
	bind(app, woken)
	return app
}

// thisMachine is what webhooks may reach in tests besides public addresses.
var thisMachine = safehttp.Options{Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}}

func bind(app core.App, woken []func()) *program.App {
	bound := program.New(app, program.Config{
		Version:   "test",
		Reach:     thisMachine,
		Retention: 30 * 24 * time.Hour,
		Woken: func() {
			for _, f := range woken {
				f()
			}
		},
	})
	app.Store().Set(deliveriesKey, bound.Deliveries)
	app.Store().Set(counterKey, bound.Counter)
	return bound
}

// Serve serves the app on a free port of 127.0.0.1 until the test ends. It returns the address, without a slash at the
// end.
func Serve(tb testing.TB, app core.App) string {
	tb.Helper()
	server := httptest.NewServer(handler(tb, app))
	tb.Cleanup(server.Close)
	return server.URL
}

// ServeHTTP2 serves the app as Serve does, over TLS with HTTP/2. It returns a client that trusts it, too.
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
