package version_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"contactbase/internal/testkit"
	"contactbase/internal/version"
)

// The version is added to PocketBase's response, which has more for superusers.
func TestVersion(t *testing.T) {
	t.Parallel()
	app := testkit.NewApp(t)
	base := testkit.Serve(t, app)
	if got, err := version.Ask(t.Context(), base); err != nil || got != "test" {
		t.Errorf("the version is %q, %v", got, err)
	}
	guest := testkit.NewClient(t, base, "").Do("GET", version.Path, "")
	if data, _ := guest.JSON()["data"].(map[string]any); guest.JSON()["message"] != "API is healthy." || len(data) != 1 {
		t.Errorf("a guest reads %s", guest.Body)
	}
	admin := testkit.NewClient(t, base, "").Do("GET", version.Path, "", "Authorization", testkit.SuperuserToken(t, app))
	if data, _ := admin.JSON()["data"].(map[string]any); data["version"] != "test" || data["canBackup"] != true {
		t.Errorf("a superuser reads %s", admin.Body)
	}
}

// Ask rejects other responses.
func TestAskRejectsOthers(t *testing.T) {
	t.Parallel()
	for says, answer := range map[string]http.HandlerFunc{
		"responds with 503 Service Unavailable": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) },
		"is not a Contactbase installation": func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write([]byte(`{"message":"API is healthy.","code":200,"data":{}}`))
		},
		"is not a Contactbase installation: ": func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("<html>")) },
	} {
		server := httptest.NewServer(answer)
		if _, err := version.Ask(t.Context(), server.URL); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("got %v, want %q", err, says)
		}
		server.Close()
	}
}
