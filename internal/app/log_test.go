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

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/app"
	"contactbase/internal/credential"
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

// While the program serves, its log is also printed, from the level on and without credentials. Each rejected or failed request has
// a line with the request id that its client got.
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
