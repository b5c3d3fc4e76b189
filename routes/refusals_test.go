package routes_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/pocketbase/pocketbase/core"
	"github.com/pocketbase/pocketbase/tools/logger"

	"contactbase/internal/credential"
	"contactbase/internal/testkit"
)

// A flood of rejected requests leaves one log entry, without what the clients sent. Internal errors leave one each,
// within limits, and so do a superuser's mistakes.
func TestLogOfRefusals(t *testing.T) {
	t.Parallel()
	app := testkit.NewApp(t)
	app.OnServe().BindFunc(func(e *core.ServeEvent) error {
		e.Router.GET("/failing", func(e *core.RequestEvent) error { return e.InternalServerError("", errors.New("broken")) })
		return e.Next()
	})
	base := testkit.Serve(t, app)
	app.Settings().Logs.MaxDays = 5 // PocketBase's tests keep none
	guest, admin := testkit.NewClient(t, base, ""), testkit.NewClient(t, base, "")
	admin.Header.Set("Authorization", testkit.SuperuserToken(t, app))

	const rounds, failures = 12, 70
	key, token := credential.Mint(credential.KeyPrefix), credential.Mint(credential.TokenPrefix)
	refused := []struct {
		method, path, body string
		status             int
	}{
		{"GET", contactsPath + "?q=secret", "", 401},
		{"DELETE", contactsPath, "", 405},
		{"POST", "/api/hooks/" + token, "{}", 401},
		{"GET", "/api/ext/v1/secret", "", 404},
		{"GET", "/api/integrations/webhooks/health", "", 401},
		{"GET", "/nothing/secret", "", 404},
		{"GET", contactRecords, "", 403},
		{"POST", "/api/collections/_superusers/auth-with-password", `{"identity":"secret@example.com","password":"secret"}`, 400},
	}
	for range rounds {
		for _, request := range refused {
			if got := guest.Do(request.method, request.path, request.body, "X-API-Key", key); got.Status != request.status && got.Status != 429 {
				t.Fatalf("%s %s gives %d %s", request.method, request.path, got.Status, got.Body)
			}
		}
		guest.Do("GET", "/api/health", "")
	}
	for range failures {
		if got := guest.Do("GET", "/failing", ""); got.Status != 500 {
			t.Fatalf("the failing route gives %d %s", got.Status, got.Body)
		}
	}
	if got := admin.Do("POST", contactRecords, `{"tenant":"nobody"}`); got.Status != 400 || len(got.JSON()) == 0 {
		t.Fatalf("a superuser's mistake gives %d %s", got.Status, got.Body)
	}
	if err := app.OnTerminate().Trigger(&core.TerminateEvent{App: app}); err != nil {
		t.Fatal(err)
	}
	summary, own := map[string]any{}, map[string]int{}
	for _, row := range logs(t, app, 1+60+1) {
		switch {
		case row.Message == "requests refused":
			if len(summary) > 0 {
				t.Errorf("there is a second summary: %v", row.Data)
			}
			summary = row.Data
		case row.Data["type"] == "request":
			own[row.Message]++
		}
		if strings.Contains(row.Message, "secret") || strings.Contains(row.Data.String(), "secret") {
			t.Errorf("the log says %q %s", row.Message, row.Data)
		}
	}
	if want := float64(rounds*len(refused) + failures - 60); summary["count"] != want || summary["client"] != "127.0.0.1" || summary["lastRoute"] != "GET /failing" {
		t.Errorf("instead of %v refused requests there is %v", want, summary)
	}
	if statuses, _ := summary["statuses"].(map[string]any); statuses["405"] != float64(rounds) || statuses["500"] != 10.0 {
		t.Errorf("the statuses are %v", statuses)
	}
	if len(own) != 2 || own["GET /failing"] != 60 || own["POST "+contactRecords] != 1 {
		t.Errorf("beside it there are %v", own)
	}
}

// logs returns the log entries once there are count of them. PocketBase writes them in the background.
func logs(t *testing.T, app core.App, count int) []*core.Log {
	t.Helper()
	var rows []*core.Log
	testkit.Eventually(t, "the rows of the log", func() bool {
		if err := app.Logger().Handler().(*logger.BatchHandler).WriteAll(t.Context()); err != nil {
			t.Fatal(err)
		}
		rows = nil
		if err := app.AuxModelQuery(&core.Log{}).All(&rows); err != nil {
			t.Fatal(err)
		}
		return len(rows) >= count
	})
	return rows
}

// An internal error leaves one entry with the request id and the cause.
func TestLogOfAFailure(t *testing.T) {
	t.Parallel()
	app := testkit.NewApp(t)
	app.OnServe().BindFunc(func(e *core.ServeEvent) error {
		e.Router.GET("/api/ext/v1/defect", func(*core.RequestEvent) error { return errors.New("the cause") })
		e.Router.GET("/api/ext/v1/panic", func(*core.RequestEvent) error { panic("the cause") })
		return e.Next()
	})
	base := testkit.Serve(t, app)
	app.Settings().Logs.MaxDays = 5 // PocketBase's tests keep none
	for _, name := range []string{"defect", "panic"} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, base+"/api/ext/v1/"+name, nil)
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("X-Request-Id", "look-for-"+name)
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		if got := testkit.ReadAnswer(t, response); got.Status != 500 {
			t.Fatalf("%s gives %d %s", name, got.Status, got.Body)
		}
	}
	found := map[string]int{}
	for _, row := range logs(t, app, 2) {
		for _, name := range []string{"defect", "panic"} {
			if text := row.Data.String(); strings.Contains(text, "look-for-"+name) && strings.Contains(text, "the cause") {
				found[name]++
			}
		}
	}
	if found["defect"] != 1 || found["panic"] != 1 {
		t.Errorf("of the failures there are %v rows", found)
	}
}
