package mcp_test

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"contactbase/internal/credential"
	"contactbase/internal/mcp"
	"contactbase/internal/testkit"
)

const (
	listTools = `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`
	search    = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"search_contacts"}}`
)

// post sends a message as an MCP client does.
func (i *installation) post(t *testing.T, key, message string, header ...string) *testkit.Answer {
	t.Helper()
	client := testkit.NewClient(t, i.base, "")
	client.HTTP.Timeout = time.Minute
	all := []string{"Accept", "application/json, text/event-stream", "Content-Type", "application/json"}
	if key != "" {
		all = append(all, "Authorization", "Bearer "+key)
	}
	return client.Do("POST", "/mcp", message, append(all, header...)...)
}

func TestRequestsAreGuarded(t *testing.T) {
	t.Parallel()
	i := newInstallation(t)
	key := testkit.Key(t, i, i.tenant)
	closed := testkit.Record(t, i, "tenants", map[string]any{"name": "Closed"}).Id
	for _, tc := range []struct {
		name, key, message string
		header             []string
		status             int
		code               string
	}{
		{"no key", "", listTools, nil, 401, "missing_api_key"},
		{"an unknown key", credential.Mint(credential.KeyPrefix), listTools, nil, 401, "invalid_api_key"},
		{"a tenant without the feature", testkit.Key(t, i, closed), listTools, nil, 403, "feature_not_enabled"},
		{"a page of another site", key, listTools, []string{"Origin", "https://evil.example"}, 403, "forbidden"},
		{"a page of another site, by Sec-Fetch-Site", key, listTools, []string{"Sec-Fetch-Site", "cross-site"}, 403, "forbidden"},
		{"no JSON", key, `{"jsonrpc"`, nil, 400, "invalid_json"},
		{"several messages", key, "[" + listTools + "]", nil, 400, "invalid_json"},
		{"a form", key, "a=b", []string{"Content-Type", "application/x-www-form-urlencoded"}, 415, "unsupported_media_type"},
		{"a large message", key, `{"jsonrpc":"` + strings.Repeat("2", 128<<10) + `"}`, nil, 413, "payload_too_large"},
		{"a message", key, listTools, nil, 200, ""},
		{"a call", key, search, nil, 200, ""},
		{"a notification", key, `{"jsonrpc":"2.0","method":"notifications/initialized"}`, nil, 202, ""},
	} {
		answer := i.post(t, tc.key, tc.message, tc.header...)
		if answer.Status != tc.status || answer.Code() != tc.code {
			t.Errorf("%s: got %d %s", tc.name, answer.Status, answer.Body)
		}
		if challenge := answer.Header.Get("WWW-Authenticate"); (challenge == "Bearer") != (tc.status == 401) {
			t.Errorf("%s: WWW-Authenticate is %q", tc.name, challenge)
		}
		if answer.Header.Get("Cache-Control") != "no-store" || answer.Header.Get("X-Request-Id") == "" || answer.Header.Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("%s: the header is %v", tc.name, answer.Header)
		}
		if tc.status == 200 && (answer.Header.Get("Content-Type") != "application/json" || answer.Header.Get("Mcp-Session-Id") != "") {
			t.Errorf("%s: there is a stream or a session: %v", tc.name, answer.Header)
		}
	}
	for _, method := range []string{"GET", "DELETE", "OPTIONS"} {
		answer := testkit.NewClient(t, i.base, key).Do(method, "/mcp", "")
		if answer.Status != 405 || answer.Header.Get("Allow") != "POST" {
			t.Errorf("%s is answered %d %v", method, answer.Status, answer.Header)
		}
	}
}

// A page whose host name resolves to this machine is refused; a proxy on this machine is not.
func TestHosts(t *testing.T) {
	t.Parallel()
	i := newInstallation(t)
	key := testkit.Key(t, i, i.tenant)
	i.Settings().Meta.AppURL = "https://crm.example.com"
	if err := i.Save(i.Settings()); err != nil {
		t.Fatal(err)
	}
	for host, want := range map[string]int{"evil.example": 403, "crm.example.com": 200, "localhost:1234": 200} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, i.base+"/mcp", strings.NewReader(listTools))
		if err != nil {
			t.Fatal(err)
		}
		request.Host = host
		request.Header.Set("Accept", "application/json, text/event-stream")
		request.Header.Set("Content-Type", "application/json")
		request.Header.Set("X-API-Key", key)
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		if answer := testkit.ReadAnswer(t, response); answer.Status != want {
			t.Errorf("the host %s is answered %d %s", host, answer.Status, answer.Body)
		}
	}
}

// Each message costs one request of the key's limit, which the API shares. A limited tool call returns an error;
// other messages are rejected.
func TestLimit(t *testing.T) {
	t.Parallel()
	i := newInstallation(t)
	const burst = 5
	tenant := testkit.Record(t, i, "tenants", map[string]any{"name": "Limited", "apiEnabled": true, "rateLimit": burst * 6}).Id
	for what, message := range map[string]string{"calls": search, "lists": listTools, "calls of nothing": strings.Replace(search, "search", "no", 1)} {
		key := testkit.Key(t, i, tenant)
		for range burst - 1 {
			if answer := i.post(t, key, message); answer.Status != 200 || strings.Contains(string(answer.Body), "isError") {
				t.Fatalf("%s: %d %s", what, answer.Status, answer.Body)
			}
		}
		if left := testkit.NewClient(t, i.base, key).Do("GET", "/api/ext/v1/contacts", "").Header.Get("RateLimit"); !strings.Contains(left, "r=0;") {
			t.Errorf("%s cost something else than one: %s", what, left)
		}
		if answer := i.post(t, key, listTools); answer.Status != 429 || answer.Code() != "rate_limited" || answer.Header.Get("Retry-After") == "" {
			t.Errorf("%s: a list beyond the limit is answered %d %s", what, answer.Status, answer.Body)
		}
		if answer := i.post(t, key, search); answer.Status != 200 || !strings.Contains(string(answer.Body), `rate_limited: This key has made too many requests. Try again in`) {
			t.Errorf("%s: a call beyond the limit is answered %d %s", what, answer.Status, answer.Body)
		}
	}
}

func TestRefusedAuthenticationsAreLimited(t *testing.T) {
	t.Parallel()
	i := newInstallation(t)
	for range 30 {
		if answer := i.post(t, "", search); answer.Status != 401 {
			t.Fatalf("%d %s", answer.Status, answer.Body)
		}
	}
	if answer := i.post(t, "", search); answer.Status != 429 || answer.Code() != "rate_limited" {
		t.Errorf("%d %s", answer.Status, answer.Body)
	}
	if answer := i.post(t, testkit.Key(t, i, i.tenant), search); answer.Status != 200 {
		t.Errorf("a good key: %d %s", answer.Status, answer.Body)
	}
}

// There is no event stream, so that no request stays open.
func TestNothingToListenTo(t *testing.T) {
	t.Parallel()
	i := newInstallation(t)
	const version = "2026-07-28"
	answer := i.post(t, testkit.Key(t, i, i.tenant), `{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true},
		"_meta":{"io.modelcontextprotocol/protocolVersion":"`+version+`","io.modelcontextprotocol/clientInfo":{"name":"test","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}}}`,
		"Mcp-Protocol-Version", version, "Mcp-Method", "subscriptions/listen")
	if answer.Status != 200 || !strings.Contains(string(answer.Body), `"result"`) {
		t.Errorf("%d %s", answer.Status, answer.Body)
	}
}

// router has one handler in place of the API.
type router struct{ http.HandlerFunc }

func (r router) BuildMux() (http.Handler, error) {
	if r.HandlerFunc == nil {
		return nil, errors.New("there are no routes")
	}
	return r.HandlerFunc, nil
}

// An API failure ends only the call. The client gets the request id, the log the cause.
func TestFailures(t *testing.T) {
	t.Parallel()
	const defect = "internal_error: Something went wrong. Quote the request ID r1 when you ask for help; the log has the cause."
	for what, tc := range map[string]struct {
		api          http.HandlerFunc
		told, logged string
	}{
		"a defect": {func(w http.ResponseWriter, r *http.Request) {
			http.Error(w, `{"error":{"code":"internal_error","message":"Something went wrong for `+r.RemoteAddr+" "+r.Header.Get("X-API-Key")+`.","requestId":"`+r.Header.Get("X-Request-Id")+`"}}`, http.StatusInternalServerError)
		}, "internal_error: Something went wrong for 192.0.2.1:0 cmk_test. The request ID is r1.", ""},
		"a panic":        {func(http.ResponseWriter, *http.Request) { panic("oops") }, defect, "calling the API: oops"},
		"another answer": {func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "<html>", http.StatusBadGateway) }, defect, "the API answered 502"},
		"no API":         {nil, defect, "there are no routes"},
	} {
		var log bytes.Buffer
		server := mcp.NewServer("test", router{tc.api}, "/api", slog.New(slog.NewTextHandler(&log, nil)))
		request := httptest.NewRequestWithContext(t.Context(), "POST", "/mcp", nil)
		request.Header.Set("Accept", "application/json, text/event-stream")
		request.Header.Set("Content-Type", "application/json")
		answer := httptest.NewRecorder()
		got, err := server.Answer(request, mcp.Caller{Key: "cmk_test", Identity: &credential.Identity{}, Address: "192.0.2.1:0", RequestID: "r1"}, []byte(search))
		if err == nil {
			err = got.Send(answer)
		}
		if err != nil {
			t.Fatal(err)
		}
		if body := answer.Body.String(); !strings.Contains(body, tc.told+`"}],"isError":true`) {
			t.Errorf("%s: %d %s", what, answer.Code, body)
		}
		if got := log.String(); !strings.Contains(got, tc.logged) || (got == "") != (tc.logged == "") {
			t.Errorf("%s: the log says %q", what, got)
		}
	}
}

// Clients learn why their key is rejected.
func TestConnectingWithoutAKey(t *testing.T) {
	t.Parallel()
	i := newInstallation(t)
	if _, err := i.dial(t.Context(), "cmk_wrong"); err == nil || !strings.Contains(fmt.Sprint(err), "Unauthorized") {
		t.Errorf("connecting with a wrong key: %v", err)
	}
}
