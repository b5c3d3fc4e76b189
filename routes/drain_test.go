package routes_test

import (
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/testkit"
)

// When the program stops, a running request is answered; a new one is asked to retry.
func TestRequestsEndBeforeTheServer(t *testing.T) {
	t.Parallel()
	app := testkit.NewApp(t)
	running, finish := make(chan struct{}), make(chan struct{})
	app.OnServe().BindFunc(func(e *core.ServeEvent) error {
		e.Router.GET("/slow", func(e *core.RequestEvent) error {
			close(running)
			<-finish
			return e.NoContent(http.StatusNoContent)
		})
		return e.Next()
	})
	base := testkit.Serve(t, app)
	answered := make(chan int, 1)
	go func() {
		response, err := http.Get(base + "/slow")
		if err != nil {
			t.Error(err)
			answered <- 0
			return
		}
		response.Body.Close()
		answered <- response.StatusCode
	}()
	<-running
	terminated := make(chan error, 1)
	go func() {
		terminated <- app.OnTerminate().Trigger(&core.TerminateEvent{App: app})
	}()
	client := testkit.NewClient(t, base, "")
	for client.Do("GET", contactsPath, "").Status != http.StatusServiceUnavailable { // until the shutdown has begun
	}
	for _, path := range []string{"/api/health", "/docs", "/api/collections/contacts/records", "/api/realtime", "/nothing", contactsPath, "/api/hooks/x"} {
		got := client.Do("GET", path, "")
		if got.Status != http.StatusServiceUnavailable || got.Header.Get("Retry-After") == "" || !ownShape(path, got) {
			t.Errorf("%s gives %d %v %s", path, got.Status, got.Header, got.Body)
		}
	}
	close(finish)
	if status := <-answered; status != http.StatusNoContent {
		t.Errorf("the running request gives %d", status)
	}
	if err := <-terminated; err != nil {
		t.Error(err)
	}
}

// A stream whose client does not read ends with the server, which does not wait for it as long as for a request.
func TestStalledStreamsEndWithTheServer(t *testing.T) {
	t.Parallel()
	client, f := newAPI(t)
	f.App.Settings().Logs.MaxDays = 5 // PocketBase's tests keep none
	client.Do("POST", contactsPath, `{"name":"Ada"}`)
	// more than the kernel buffers
	testkit.Execute(t, f.App, "UPDATE events SET payload = json_object('long', hex(zeroblob(8 * 1024 * 1024)))", nil)
	response := requestStream(t, client, "?after=")
	defer response.Body.Close()
	if _, err := response.Body.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	if err := f.App.OnTerminate().Trigger(&core.TerminateEvent{App: f.App}); err != nil {
		t.Fatal(err)
	}
	for _, row := range logs(t, f.App, 0) {
		if row.Level >= int(slog.LevelWarn) {
			t.Errorf("the log has %s %v", row.Message, row.Data)
		}
	}
}

// ownShape reports whether an error has the shape for its path: our envelope, or PocketBase's.
func ownShape(path string, got *testkit.Answer) bool {
	if strings.HasPrefix(path, "/api/ext/") || strings.HasPrefix(path, "/api/hooks/") {
		return got.Code() != ""
	}
	body := got.JSON()
	data, ok := body["data"].(map[string]any)
	return body["status"] == float64(got.Status) && body["message"] != "" && ok && len(data) == 0
}
