package app_test

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/pocketbase/dbx"
	"github.com/pocketbase/pocketbase/apis"
	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/app"
	"contactbase/internal/sqlite"
	"contactbase/internal/testkit"
)

func TestMain(m *testing.M) {
	_ = os.Setenv(firstKey, strings.Repeat("1", 32))
	_ = os.Setenv(secondKey, strings.Repeat("2", 32))
	_ = os.Setenv("AWS_ACCESS_KEY_ID", "test")
	_ = os.Setenv("AWS_SECRET_ACCESS_KEY", "test")
	code := m.Run()
	testkit.Cleanup()
	os.Exit(code)
}

// open returns an app on a new directory pb_data with the schema, as main creates it.
func open(t *testing.T, config app.Config) *app.App {
	t.Helper()
	a := openEmpty(t, config)
	if err := a.RunAllMigrations(); err != nil {
		t.Fatal(err)
	}
	return a
}

func openEmpty(t *testing.T, config app.Config) *app.App {
	t.Helper()
	base := newBase(filepath.Join(t.TempDir(), "pb_data"), "")
	a := app.New(base, config)
	if err := base.Bootstrap(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		terminate := &core.TerminateEvent{App: base}
		if err := base.OnTerminate().Trigger(terminate, func(*core.TerminateEvent) error { return base.ResetBootstrapState() }); err != nil {
			t.Error(err)
		}
	})
	return a
}

// newBase returns PocketBase on a data directory, with the encryption key in a variable, "" for none. It does not
// watch for changes by other processes: it would reload them 50 ms later, even if its database is closed by then.
func newBase(folder, variable string) *core.BaseApp {
	base := core.NewBaseApp(core.BaseAppConfig{DataDir: folder, EncryptionEnv: variable, DBConnect: sqlite.Connect(sqlite.Normal)})
	base.OnBootstrap().Unbind("__pbNotifyWatcherSystemHook__")
	return base
}

// serve runs what happens before the program listens.
func serve(t *testing.T, app core.App) error {
	t.Helper()
	router, err := apis.NewRouter(app)
	if err != nil {
		t.Fatal(err)
	}
	return app.OnServe().Trigger(&core.ServeEvent{App: app, Router: router, Server: &http.Server{ReadHeaderTimeout: time.Minute}}, func(*core.ServeEvent) error { return nil })
}

// A file in pb_public beside the data directory replaces the built-in file of its name; its links cannot lead outside.
func TestPublicFolderReplacesFiles(t *testing.T) {
	t.Parallel()
	a := open(t, app.Config{Public: fstest.MapFS{"index.html": {Data: []byte("built in")}, "style.css": {Data: []byte("style")}}})
	folder := filepath.Join(a.DataDir(), "..", "pb_public")
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, "index.html"), []byte("my own"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(a.DataDir(), "data.db"), filepath.Join(folder, "data.txt")); err != nil {
		t.Fatal(err)
	}
	client := testkit.NewClient(t, testkit.Serve(t, a), "")
	for path, want := range map[string]string{"/": "my own", "/style.css": "style"} {
		if got := client.Do("GET", path, ""); got.Status != http.StatusOK || string(got.Body) != want {
			t.Errorf("%s is answered %d %s", path, got.Status, got.Body)
		}
	}
	if got := client.Do("GET", "/data.txt", ""); got.Status != http.StatusNotFound {
		t.Errorf("a link out of the folder is answered %d", got.Status)
	}
}

// The hourly job deletes what is older than the configuration says, and no more.
func TestRetention(t *testing.T) {
	t.Parallel()
	a := open(t, app.Config{Retention: 2 * time.Hour, Audit: 4 * time.Hour})
	tenant := testkit.Tenant(t, a, "Acme")
	for name, age := range map[string]time.Duration{"old": 3 * time.Hour, "new": time.Hour} {
		id := testkit.Record(t, a, "contacts", map[string]any{"tenant": tenant, "name": name}).Id
		created := time.Now().UTC().Add(-age).Format("2006-01-02 15:04:05.000Z")
		if _, err := a.DB().Update("events", dbx.Params{"created": created}, dbx.HashExp{"contact": id}).Execute(); err != nil {
			t.Fatal(err)
		}
	}
	for name, age := range map[string]time.Duration{"old": 5 * time.Hour, "new": 3 * time.Hour} {
		testkit.Execute(t, a, "INSERT INTO audit_log (id, actorName, fields, created) VALUES ({:name}, {:name}, '[]', {:created})",
			dbx.Params{"name": name, "created": time.Now().UTC().Add(-age).Format("2006-01-02 15:04:05.000Z")})
	}
	if err := a.Deliveries.CatchUp(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, job := range a.Cron().Jobs() {
		if job.Id() == "contactbaseRetention" {
			job.Run()
		}
	}
	var names []string
	if err := a.DB().NewQuery("SELECT payload ->> '$.data.name' FROM events").Column(&names); err != nil {
		t.Fatal(err)
	}
	if len(names) != 1 || names[0] != "new" {
		t.Errorf("what is left is about %v", names)
	}
	var entries []string
	if err := a.DB().NewQuery("SELECT actorName FROM audit_log WHERE actorName != ''").Column(&entries); err != nil || len(entries) != 1 || entries[0] != "new" {
		t.Errorf("the entries of the audit log that are left are %v (%v)", entries, err)
	}
}

// A program that cannot serve its metrics or profiles does not start, and names the flag.
func TestInvalidSideAddress(t *testing.T) {
	t.Parallel()
	for flag, config := range map[string]app.Config{
		"--metricsAddr: ": {MetricsAddr: "127.0.0.1:no port"},
		"--debugAddr: ":   {DebugAddr: "127.0.0.1:no port"},
	} {
		if err := serve(t, open(t, config)); err == nil || !strings.HasPrefix(err.Error(), flag) {
			t.Errorf("%s: an address that is none is answered %v", flag, err)
		}
	}
}

// Background work starts and stops with the server.
func TestWorkers(t *testing.T) {
	t.Parallel()
	woken := make(chan struct{}, 100)
	a := open(t, app.Config{Woken: func() { woken <- struct{}{} }})
	a.BindWorkers()
	testkit.Serve(t, a)
	tenant := testkit.Tenant(t, a, "Acme")
	contact := testkit.Record(t, a, "contacts", map[string]any{"tenant": tenant, "name": "Ada"})
	<-woken
	testkit.Eventually(t, "the contact is indexed", func() bool {
		var indexed bool
		err := a.DB().NewQuery("SELECT seq <= upTo FROM _contactSearch, _contactIndexed WHERE contact = {:id}").Bind(dbx.Params{"id": contact.Id}).Row(&indexed)
		return err == nil && indexed
	})
	if err := a.Stop(t.Context()); err != nil {
		t.Error(err)
	}
}
