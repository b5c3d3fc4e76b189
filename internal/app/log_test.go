package app_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/pocketbase/dbx"
	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/app"
	"contactbase/internal/credential"
	"contactbase/internal/tenant"
	"contactbase/internal/testkit"
)

// lines collects the output of a log.
type lines struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *lines) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(line)
}

func (l *lines) all(t *testing.T) []map[string]any {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	var entries []map[string]any
	for line := range strings.Lines(l.text.String()) {
		var entry map[string]any
		if err := json.Unmarshal([]byte(line), &entry); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		entries = append(entries, entry)
	}
	return entries
}

// While the program serves, its log is also printed, from the level on and without credentials. Each rejected or
// failed request has a line with the request id that its client got.
func TestPrintedLog(t *testing.T) {
	t.Parallel()
	printed := &lines{}
	a := open(t, app.Config{Log: app.NewLog(printed, true, slog.LevelInfo)})
	a.OnServe().BindFunc(func(e *core.ServeEvent) error {
		e.Router.GET("/api/ext/v1/failing", func(*core.RequestEvent) error { return errors.New("broken") })
		return e.Next()
	})
	a.Logger().Error("before the program serves")
	key := credential.Mint(credential.KeyPrefix)
	base := testkit.Serve(t, a)
	client := testkit.NewClient(t, base, "")
	a.Logger().Info("somebody mistyped "+key, "key", key)
	a.Logger().WithGroup("group").With("name", "value").Warn("with attributes")
	a.Logger().Debug("below the level")

	refused := client.Do("GET", "/api/ext/v1/contacts?q=secret", "", "X-API-Key", key)
	failed, err := http.Get(base + "/api/ext/v1/failing?q=secret")
	if err != nil {
		t.Fatal(err)
	}
	failed.Body.Close()
	client.Do("GET", "/nothing/secret", "")
	client.Do("GET", "/livez", "")
	testkit.Eventually(t, "three lines about requests", func() bool { return len(printed.all(t)) == 5 })

	got := printed.all(t)
	for i, want := range []string{
		"INFO somebody mistyped [redacted] <nil> <nil> <nil>",
		"WARN with attributes <nil> <nil> <nil>",
		"INFO request refused " + refused.Header.Get("X-Request-Id") + " GET /api/ext/v1/contacts invalid_api_key",
		"ERROR request failed " + failed.Header.Get("X-Request-Id") + " GET /api/ext/v1/failing internal_error",
		"INFO request refused <nil> / <nil>",
	} {
		entry := got[i]
		if said := fmt.Sprintln(entry["level"], entry["msg"], entry["requestId"], entry["route"], entry["code"]); said != want+"\n" {
			t.Errorf("the line %d says %s, not %s", i, said, want)
		}
	}
	if !strings.Contains(fmt.Sprint(got[3]["error"]), "broken") || !strings.Contains(fmt.Sprint(got[1]["group"]), "value") {
		t.Errorf("what is said in addition is %v and %v", got[3]["error"], got[1]["group"])
	}
	if all := fmt.Sprint(got); strings.Contains(all, "secret") || strings.Contains(all, key) {
		t.Errorf("the log says %s", all)
	}
}

// A larger bound of webhooks counts as the most that there may be. The program serves, and says so.
func TestBoundOfWebhooks(t *testing.T) {
	t.Parallel()
	printed := &lines{}
	bounds := tenant.DefaultBounds
	bounds.Webhooks = 5_000
	a := open(t, app.Config{Bounds: bounds, Log: app.NewLog(printed, true, slog.LevelInfo)})
	acme := testkit.Tenant(t, a, "Acme")
	testkit.Serve(t, a)
	if got := printed.all(t); len(got) != 1 || got[0]["level"] != "WARN" ||
		!strings.HasPrefix(fmt.Sprint(got[0]["msg"]), "--maxWebhooks ") {
		t.Errorf("the log says %v", got)
	}
	add := func(n int, id string) {
		testkit.Execute(t, a, `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {:n})
			INSERT INTO webhooks (id, tenant, url) SELECT {:id} || printf('%014d', i), {:tenant}, 'https://hooks.example.com' FROM n`,
			dbx.Params{"n": n, "id": id, "tenant": acme})
	}
	add(199, "a")
	testkit.Record(t, a, "webhooks", map[string]any{"tenant": acme, "url": "https://hooks.example.com"})
	add(100, "b") // of an earlier version
	webhooks, err := a.FindCollectionByNameOrId("webhooks")
	if err != nil {
		t.Fatal(err)
	}
	one := core.NewRecord(webhooks)
	one.Load(map[string]any{"tenant": acme, "url": "https://hooks.example.com"})
	if err := a.Save(one); err == nil ||
		!strings.HasSuffix(err.Error(), "The tenant can have at most 200 webhooks. Delete some..") {
		t.Errorf("one more is answered with %v", err)
	}
	kept, err := a.FindRecordById("webhooks", "b"+fmt.Sprintf("%014d", 1))
	if err != nil {
		t.Fatal(err)
	}
	kept.Set("name", "one of 300")
	if err := a.Save(kept); err != nil {
		t.Errorf("a change of one that is there is answered with %v", err)
	}
}

// The dashboard still sets the level of PocketBase's table.
func TestTableKeepsItsLevel(t *testing.T) {
	t.Parallel()
	a := open(t, app.Config{Log: app.NewLog(&lines{}, false, slog.LevelError)})
	for _, level := range []slog.Level{slog.LevelWarn, slog.LevelDebug} {
		a.Settings().Logs.MinLevel = int(level)
		if err := a.Save(a.Settings()); err != nil {
			t.Fatal(err)
		}
		for _, entry := range []slog.Level{slog.LevelDebug, slog.LevelInfo, slog.LevelWarn} {
			if enabled := a.Logger().Enabled(t.Context(), entry); enabled != (entry >= level) {
				t.Errorf("with the level %s, whether %s is logged: %v", level, entry, enabled)
			}
		}
	}
}
