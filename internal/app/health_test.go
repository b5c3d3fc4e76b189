package app_test

import (
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/pocketbase/pocketbase/core"
	"github.com/pocketbase/pocketbase/tools/hook"

	"contactbase/internal/app"
	"contactbase/internal/backup"
	"contactbase/internal/testkit"
)

// reasons returns the failed checks of /readyz with their messages.
func reasons(t *testing.T, client *testkit.Client) string {
	t.Helper()
	got := client.Do("GET", "/readyz", "")
	var said []string
	for _, reason := range got.JSON()["reasons"].([]any) {
		said = append(said, fmt.Sprint(reason.(map[string]any)["check"], ": ", reason.(map[string]any)["message"]))
	}
	want := map[bool]int{true: http.StatusOK, false: http.StatusServiceUnavailable}[len(said) == 0]
	if got.Status != want {
		t.Errorf("with the reasons %q the status is %d", said, got.Status)
	}
	return strings.Join(said, "; ")
}

// The program is ready when it serves and its workers run; otherwise it reports what is missing.
func TestReady(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		config  app.Config
		prepare func(t *testing.T, a *app.App)
		workers bool
		says    string
	}{
		"all is well": {workers: true},
		"no workers":  {says: "engine: the delivery engine does not run"},
		"stopped while it starts": {workers: true, says: "engine: the delivery engine does not run",
			prepare: func(t *testing.T, a *app.App) {
				if err := a.Stop(t.Context()); err != nil {
					t.Fatal(err)
				}
			}},
		"too little disk space": {config: app.Config{MinFreeDisk: 1 << 62}, workers: true, says: "disk: the disk has "},
		"a pending migration": {workers: true, says: "migrations: the database schema is out of date (1 pending migrations)",
			prepare: func(t *testing.T, a *app.App) {
				testkit.Execute(t, a, "DELETE FROM _migrations WHERE file = (SELECT max(file) FROM _migrations)", nil)
			}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := open(t, tc.config)
			if tc.workers {
				a.BindWorkers()
			}
			if tc.prepare != nil {
				tc.prepare(t, a)
			}
			client := testkit.NewClient(t, testkit.Serve(t, a), "")
			if got := reasons(t, client); !strings.HasPrefix(got, tc.says) || tc.says == "" && got != "" || strings.Contains(got, ";") {
				t.Errorf("the reasons are %q, not %q", got, tc.says)
			}
			if got := client.Do("GET", "/livez", ""); got.Status != http.StatusOK || got.JSON()["status"] != "alive" {
				t.Errorf("/livez gives %d %s", got.Status, got.Body)
			}
		})
	}
}

// beside returns a configuration with a free address for metrics, and a client for it.
func beside(t *testing.T) (app.Config, *testkit.Client) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	address := listener.Addr().String()
	return app.Config{MetricsAddr: address}, testkit.NewClient(t, "http://"+address, "")
}

// The metrics address reports the shutdown before anything is stopped.
func TestNotReadyAtTheEnd(t *testing.T) {
	t.Parallel()
	config, client := beside(t)
	a := open(t, config)
	a.BindWorkers()
	testkit.Serve(t, a)
	said := ""
	a.OnTerminate().Bind(&hook.Handler[*core.TerminateEvent]{
		Func: func(e *core.TerminateEvent) error {
			if said == "" { // the end of the test stops the app again
				said = reasons(t, client)
			}
			return e.Next()
		},
		Priority: -15000,
	})
	if err := a.OnTerminate().Trigger(&core.TerminateEvent{App: a}); err != nil {
		t.Fatal(err)
	}
	if said != "program: the program is shutting down" {
		t.Errorf("at the end the reasons are %q", said)
	}
}

// Successful and failed backups are counted, and free disk space is reported.
func TestMetricsOfTheFolder(t *testing.T) {
	t.Parallel()
	config, client := beside(t)
	config.MinFreeDisk = 5 << 20
	a := open(t, config)
	testkit.Serve(t, a)
	if _, err := backup.Create(t.Context(), a, "good"); err != nil {
		t.Fatal(err)
	}
	a.Settings().Backups.S3 = core.S3Config{Enabled: true, Endpoint: "http://127.0.0.1:1", Bucket: "none", Region: "none", AccessKey: "none", Secret: "none"}
	if err := a.CreateBackup(t.Context(), "bad.zip"); err == nil {
		t.Fatal("a backup into nowhere succeeds")
	}
	metrics := string(client.Do("GET", "/metrics", "").Body)
	for _, line := range []string{`contactbase_backups_total{result="made"} 1`, `contactbase_backups_total{result="failed"} 1`, "contactbase_disk_least_bytes 5.24288e+06", "contactbase_disk_free_bytes ", "contactbase_disk_size_bytes "} {
		if !strings.Contains(metrics, "\n"+line) {
			t.Errorf("the metrics lack %s", line)
		}
	}
	if strings.Contains(metrics, "contactbase_disk_free_bytes 0") {
		t.Error("the disk is full")
	}
}

// elsewhere is an app whose data directory has been moved.
type elsewhere struct{ core.App }

func (e elsewhere) DataDir() string { return e.App.DataDir() + "-moved" }

// The operator hears of a full disk, but not of one whose free space is unknown.
func TestDiskNotice(t *testing.T) {
	t.Parallel()
	config := app.Config{MinFreeDisk: 1 << 62}
	a := open(t, config)
	for _, tc := range []struct {
		app  core.App
		says string
	}{{a, "the disk has "}, {elsewhere{a}, "<nil>"}} {
		if got := fmt.Sprint(app.OperatorChecks(tc.app, config)[0].Look(t.Context())); !strings.HasPrefix(got, tc.says) {
			t.Errorf("the check says %s, not %s", got, tc.says)
		}
	}
}
