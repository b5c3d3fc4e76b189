package routes_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/credential"
	"contactbase/internal/sqlite"
	"contactbase/internal/testkit"
)

const contactsPath = "/api/ext/v1/contacts"

func TestAuthentication(t *testing.T) {
	t.Parallel()
	good, f := newAPI(t)
	key := good.Header.Get("X-API-Key")
	client := testkit.NewClient(t, f.base, "")
	last := key[len(key)-1]
	mistyped := key[:len(key)-1] + string(map[bool]byte{true: 'b', false: 'a'}[last == 'a'])
	for _, tc := range []struct {
		name   string
		header []string
		status int
		code   string
	}{
		{"no key", nil, 401, "missing_api_key"},
		{"another scheme", []string{"Authorization", "Basic " + key}, 401, "missing_api_key"},
		{"a bare key", []string{"Authorization", key}, 401, "missing_api_key"},
		{"a mistyped key", []string{"X-API-Key", mistyped}, 401, "invalid_api_key"},
		{"an unknown key", []string{"X-API-Key", credential.Mint(credential.KeyPrefix)}, 401, "invalid_api_key"},
		{"X-API-Key counts", []string{"X-API-Key", mistyped, "Authorization", "Bearer " + key}, 401, "invalid_api_key"},
		{"X-API-Key", []string{"X-API-Key", key}, 200, ""},
		{"Bearer", []string{"Authorization", "Bearer " + key}, 200, ""},
		{"bearer", []string{"Authorization", "bearer " + key}, 200, ""},
	} {
		answer := client.Do("GET", contactsPath, "", tc.header...)
		if answer.Status != tc.status || answer.Code() != tc.code {
			t.Errorf("%s: got %d %s", tc.name, answer.Status, answer.Body)
		}
		if challenge := answer.Header.Get("WWW-Authenticate"); (challenge == "Bearer") != (tc.status == 401) {
			t.Errorf("%s: WWW-Authenticate is %q", tc.name, challenge)
		}
	}
}

func TestChangesOfAKeyCountAtOnce(t *testing.T) {
	t.Parallel()
	client, f := newAPI(t)
	var key, tenant *core.Record
	reload := func() {
		var err error
		if key, err = f.App.FindFirstRecordByData("api_keys", "tenant", f.tenant); err != nil {
			t.Fatal(err)
		}
		if tenant, err = f.App.FindRecordById("tenants", f.tenant); err != nil {
			t.Fatal(err)
		}
	}
	save := func(record *core.Record, field string, value any) {
		t.Helper()
		record.Set(field, value)
		if err := f.App.Save(record); err != nil {
			t.Fatal(err)
		}
		reload()
	}
	expect := func(what, method string, status int, code string) {
		t.Helper()
		body := ""
		if method == "POST" {
			body = `{"name":"A"}`
		}
		if answer := client.Do(method, contactsPath, body); answer.Status != status || answer.Code() != code {
			t.Errorf("%s: %s gives %d %s", what, method, answer.Status, answer.Body)
		}
	}
	expect("a full key", "POST", 201, "")
	testkit.Eventually(t, "the use of the key", func() bool { // before the record is saved as it was
		reload()
		return !key.GetDateTime("lastUsed").IsZero()
	})
	save(key, "permissions", []string{"contacts:read"})
	expect("a key for reading", "POST", 403, "insufficient_permission")
	expect("a key for reading", "GET", 200, "")
	save(key, "permissions", []string{"contacts:write"})
	expect("a key for writing", "POST", 201, "")
	expect("a key for writing", "GET", 403, "insufficient_permission")
	save(key, "permissions", nil)
	save(tenant, "apiEnabled", false)
	expect("without the feature", "GET", 403, "feature_not_enabled")
	save(tenant, "apiEnabled", true)
	expect("with the feature", "GET", 200, "")
	save(key, "expires", time.Now().Add(-time.Second))
	expect("an expired key", "GET", 401, "invalid_api_key")
	save(key, "expires", time.Now().Add(time.Hour))
	expect("a key that expires later", "GET", 200, "")

	process := testkit.Reopen(t, f.App)
	if _, err := process.NonconcurrentDB().NewQuery("UPDATE api_keys SET revoked = '2026-01-01 00:00:00.000Z'").Execute(); err != nil {
		t.Fatal(err)
	}
	expect("a key that another process revoked", "GET", 401, "invalid_api_key")
	if _, err := process.NonconcurrentDB().NewQuery("UPDATE api_keys SET revoked = ''").Execute(); err != nil {
		t.Fatal(err)
	}
	expect("a key as before", "GET", 200, "")
	if err := f.App.Delete(key); err != nil {
		t.Fatal(err)
	}
	expect("a deleted key", "GET", 401, "invalid_api_key")
}

func TestChecksComeInOrder(t *testing.T) {
	t.Parallel()
	_, f := newAPI(t)
	reader := testkit.NewClient(t, f.base, testkit.Key(t, f.App, f.tenant, "contacts:read"))
	if answer := reader.Do("POST", contactsPath, "not json", "Content-Type", "text/plain"); answer.Code() != "insufficient_permission" {
		t.Errorf("the permission comes before the body: %s", answer.Body)
	}
	tenant, err := f.App.FindRecordById("tenants", f.tenant)
	if err != nil {
		t.Fatal(err)
	}
	tenant.Set("apiEnabled", false)
	if err := f.App.Save(tenant); err != nil {
		t.Fatal(err)
	}
	if answer := reader.Do("POST", contactsPath, ""); answer.Code() != "feature_not_enabled" {
		t.Errorf("the feature comes before the permission: %s", answer.Body)
	}
}

func TestRateLimit(t *testing.T) {
	t.Parallel()
	client, f := newStoppedAPI(t)
	answer := client.Do("GET", contactsPath, "")
	if got := answer.Header.Get("RateLimit-Policy"); got != `"key";q=600;w=60` {
		t.Errorf("RateLimit-Policy is %q", got)
	}
	if got := answer.Header.Get("RateLimit"); got != `"key";r=99;t=1` {
		t.Errorf("RateLimit is %q", got)
	}
	tenant, err := f.App.FindRecordById("tenants", f.tenant)
	if err != nil {
		t.Fatal(err)
	}
	tenant.Set("rateLimit", 12)
	if err := f.App.Save(tenant); err != nil {
		t.Fatal(err)
	}
	for i, want := range []int{200, 200, 429} { // a burst of a sixth of 12
		if answer = client.Do("GET", contactsPath, ""); answer.Status != want {
			t.Errorf("request %d gives %d %s", i, answer.Status, answer.Body)
		}
	}
	if answer.Code() != "rate_limited" || answer.Header.Get("Retry-After") != "5" || !strings.HasPrefix(answer.Header.Get("RateLimit"), `"key";r=0;`) {
		t.Errorf("a refusal gives %v %s", answer.Header, answer.Body)
	}
	if answer = client.Do("POST", contactsPath, "nonsense", "Content-Type", "text/plain"); answer.Status != 429 {
		t.Errorf("the limit comes before the body: %s", answer.Body)
	}
	if answer = testkit.NewClient(t, f.base, testkit.Key(t, f.App, f.tenant)).Do("GET", contactsPath, ""); answer.Status != 200 {
		t.Errorf("another key shares the limit: %s", answer.Body)
	}
}

func TestRefusedAuthenticationsAreLimited(t *testing.T) {
	t.Parallel()
	good, f := newStoppedAPI(t)
	client := testkit.NewClient(t, f.base, "")
	for i := range 30 {
		path := []string{contactsPath, "/api/hooks/" + credential.Mint(credential.TokenPrefix)}[i%2]
		if answer := client.Do("GET", path, ""); answer.Status != 401 {
			t.Fatalf("refusal %d gives %d", i, answer.Status)
		}
	}
	answer := client.Do("GET", contactsPath, "")
	if answer.Status != 429 || answer.Code() != "rate_limited" || answer.Header.Get("Retry-After") == "" {
		t.Errorf("the next gives %d %s", answer.Status, answer.Body)
	}
	if answer := good.Do("GET", contactsPath, ""); answer.Status != 200 {
		t.Errorf("a valid key from the same address gives %d", answer.Status)
	}
}

func TestErrorsOfTheRouter(t *testing.T) {
	t.Parallel()
	client, _ := newAPI(t)
	for _, tc := range []struct {
		method, path string
		body         string
		header       []string
		status       int
		code, allow  string
	}{
		{"DELETE", contactsPath + "/x", "", nil, 403, "insufficient_permission", ""},
		{"PUT", contactsPath + "/x", "", nil, 405, "method_not_allowed", "DELETE, GET, HEAD, PATCH"},
		{"DELETE", contactsPath, "", nil, 405, "method_not_allowed", "GET, HEAD, POST"},
		{"OPTIONS", contactsPath, "", []string{"Origin", "https://evil.example", "Access-Control-Request-Method", "GET"}, 405, "method_not_allowed", "GET, HEAD, POST"},
		{"TRACE", contactsPath, "", []string{"Origin", "https://evil.example"}, 405, "method_not_allowed", "GET, HEAD, POST"},
		{"GET", contactsPath + "/", "", nil, 404, "not_found", ""},
		{"GET", "/api/ext/v1", "", nil, 404, "not_found", ""},
		{"GET", "/api/ext/v1/deals", "", []string{"Origin", "https://evil.example"}, 404, "not_found", ""},
		{"POST", "/api/ext/v1/contacts/x/y", "{}", nil, 404, "not_found", ""},
		{"DELETE", "/api/hooks/x", "", nil, 405, "method_not_allowed", "GET, HEAD, POST"},
		{"GET", "/api/hooks", "", nil, 404, "not_found", ""},
		{"GET", "/api/integrations/webhooks/x/ping", "", nil, 405, "method_not_allowed", "POST"},
		{"POST", "/api/integrations/webhooks/x/ping", "", nil, 401, "unauthorized", ""},
		{"POST", contactsPath, `{"name":"A"}`, []string{"Content-Type", "text/plain"}, 415, "unsupported_media_type", ""},
		{"POST", contactsPath, `{"name":"A"}`, []string{"Content-Type", "application/json; charset=latin1"}, 415, "unsupported_media_type", ""},
		{"POST", contactsPath, `{"name":"A"}`, []string{"Content-Type", "application/json; charset=utf8"}, 201, "", ""},
		{"POST", contactsPath, `{"name":"A"}`, []string{"Content-Type", `application/json;charset="UTF_8"`}, 201, "", ""},
		{"POST", contactsPath, `{"name":"A"}`, []string{"Content-Encoding", "gzip"}, 415, "unsupported_media_type", ""},
		{"POST", contactsPath + "/batch", `{"items":[]}`, []string{"Content-Encoding", "br"}, 415, "unsupported_media_type", ""},
		{"POST", contactsPath, `{"name":"A"}`, []string{"Content-Encoding", "identity"}, 201, "", ""},
		{"POST", contactsPath, `{"name":"A"}`, []string{"Content-Type", ""}, 415, "unsupported_media_type", ""},
		{"POST", contactsPath, `{"name":"A"}`, []string{"Content-Type", "application/vnd.x+json; charset=UTF-8"}, 201, "", ""},
		{"POST", contactsPath, `{"name":"` + strings.Repeat("a", 64<<10) + `"}`, nil, 413, "payload_too_large", ""},
		{"PATCH", contactsPath + "/x", `{"name":"` + strings.Repeat("a", 64<<10) + `"}`, nil, 413, "payload_too_large", ""},
		{"GET", contactsPath, "", []string{"X-Request-Id", "caller-1", "Origin", "https://evil.example"}, 200, "", ""},
	} {
		answer := client.Do(tc.method, tc.path, tc.body, tc.header...)
		what := tc.method + " " + tc.path
		if answer.Status != tc.status || answer.Code() != tc.code && tc.method != "TRACE" || answer.Header.Get("Allow") != tc.allow {
			t.Errorf("%s: got %d %s, Allow %q", what, answer.Status, answer.Body, answer.Header.Get("Allow"))
		}
		if answer.Header.Get("X-Request-Id") == "" {
			t.Errorf("%s: no X-Request-Id", what)
		}
		if coded := strings.Contains(string(answer.Body), "Content-Encoding"); coded != (answer.Header.Get("Accept-Encoding") == "identity") {
			t.Errorf("%s: %s accepts %q", what, answer.Body, answer.Header.Get("Accept-Encoding"))
		}
		for name := range answer.Header {
			if strings.HasPrefix(name, "Access-Control-") {
				t.Errorf("%s: the header %s", what, name)
			}
		}
	}
}

// No cache may store a response, not even an error.
func TestNoCaching(t *testing.T) {
	t.Parallel()
	client, f := newAPI(t)
	guest := testkit.NewClient(t, f.base, "")
	token := testkit.Inbound(t, f.App, f.tenant, "upsert", nil)
	created := client.Do("POST", contactsPath, `{"name":"Ada"}`)
	for what, tc := range map[string]struct {
		got  *testkit.Answer
		vary bool
	}{
		"a creation":         {created, true},
		"a list":             {client.Do("GET", contactsPath, ""), true},
		"an unchanged one":   {client.Do("GET", created.Header.Get("Location"), "", "If-None-Match", created.Header.Get("ETag")), true},
		"no key":             {guest.Do("GET", contactsPath, ""), true},
		"a wrong path":       {guest.Do("GET", "/api/ext/v1", ""), true},
		"a wrong method":     {client.Do("DELETE", contactsPath, ""), true},
		"an odd method":      {client.Do("LINK", contactsPath, ""), true},
		"an inbound call":    {guest.Do("POST", "/api/hooks/"+token, `{"name":"A"}`), false},
		"a wrong token":      {guest.Do("POST", "/api/hooks/x", `{}`), false},
		"a superuser's list": {newAdmin(t, f).Do("GET", "/api/integrations/inbound/presets", ""), false},
	} {
		if got := tc.got.Header.Values("Cache-Control"); len(got) != 1 || got[0] != "no-store" {
			t.Errorf("%s (%d): Cache-Control is %q", what, tc.got.Status, got)
		}
		if varies := strings.Contains(strings.Join(tc.got.Header.Values("Vary"), ", "), "Authorization, X-API-Key"); varies != tc.vary {
			t.Errorf("%s (%d): Vary is %q", what, tc.got.Status, tc.got.Header.Values("Vary"))
		}
	}
}

func TestRequestID(t *testing.T) {
	t.Parallel()
	client, f := newAPI(t)
	for sent, kept := range map[string]bool{
		"req-1": true, "01:AB_c.d~/+=@": true, strings.Repeat("a", 128): true,
		strings.Repeat("a", 129): false, "a b": false, "ä": false, "": false, `"><script>`: false,
		"key:" + testkit.Key(t, f.App, f.tenant): false, testkit.Inbound(t, f.App, f.tenant, "upsert", nil): false,
	} {
		answer := client.Do("GET", "/api/ext/v1/deals", "", "X-Request-Id", sent)
		got := answer.Header.Get("X-Request-Id")
		if (got == sent) != kept || got == "" {
			t.Errorf("%q gives %q", sent, got)
		}
		if id := answer.JSON()["error"].(map[string]any)["requestId"]; id != got {
			t.Errorf("the body says %q, the header %q", id, got)
		}
	}
}

func TestDefectsAreHidden(t *testing.T) {
	t.Parallel()
	app := testkit.NewApp(t)
	app.OnServe().BindFunc(func(e *core.ServeEvent) error {
		e.Router.GET("/api/ext/v1/panic", func(*core.RequestEvent) error { panic("secret cause") })
		e.Router.GET("/api/ext/v1/defect", func(*core.RequestEvent) error { return errors.New("secret cause") })
		e.Router.GET("/api/ext/v1/busy", func(*core.RequestEvent) error { return fmt.Errorf("secret cause: %w", sqlite.ErrBatch) })
		return e.Next()
	})
	base := testkit.Serve(t, app)
	for path, want := range map[string]string{"panic": "500 internal_error", "defect": "500 internal_error", "busy": "503 unavailable"} {
		response, err := http.Get(base + "/api/ext/v1/" + path)
		if err != nil {
			t.Fatal(err)
		}
		answer := testkit.ReadAnswer(t, response)
		response.Body.Close()
		if got := fmt.Sprintf("%d %s", answer.Status, answer.Code()); got != want || strings.Contains(string(answer.Body), "secret cause") {
			t.Errorf("%s gives %s %s", path, got, answer.Body)
		}
	}
}

// Messages are shown in terminals: angle brackets are not escaped for HTML.
func TestMessagesAreNotEscaped(t *testing.T) {
	t.Parallel()
	client, _ := newAPI(t)
	client.Header.Del("X-API-Key")
	if got := client.Do("GET", contactsPath, ""); !strings.Contains(string(got.Body), "Bearer <key>") {
		t.Errorf("got %s", got.Body)
	}
}
