package integrations_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/pocketbase/dbx"

	"contactbase/internal/inbound/payload"
	"contactbase/internal/testkit"
	"contactbase/internal/wire"
)

// Costly requests of members have a limit of their own by kind. Superusers and other members have none of it.
func TestCostlyRequestsOfMembersAreLimited(t *testing.T) {
	t.Parallel()
	_, f := newStoppedAPI(t)
	superuser := newAdmin(t, f)
	other := newCustomer(t, f, "Other")
	for i, tc := range []struct{ method, path, body string }{
		{"POST", "/webhooks/{webhook}/ping", ""},
		{"POST", "/webhooks/{webhook}/recover", `{"since":"2026-01-31T12:00:00Z","dryRun":true}`},
		{"POST", "/webhooks/preview-filter", `{"tenant":"{tenant}","filter":"true"}`},
		{"POST", "/deliveries/000000000000000/redeliver", ""},
		{"POST", "/inbound/preview", `{"tenant":"{tenant}","body":{"name":"A"}}`},
		{"GET", "/tenants/{tenant}/duplicates", ""},
		{"GET", "/contacts/export?tenant={tenant}", ""},
		{"GET", "/audit?format=csv", ""},
		{"POST", "/tenants/{tenant}/contacts/000000000000000/merge", `{"from":["000000000000001"]}`},
	} {
		own, what := newCustomer(t, f, fmt.Sprint("Own", i)), tc.method+" "+tc.path
		ids := strings.NewReplacer("{tenant}", own.tenant, "{webhook}", own.ids["webhooks"])
		path, body := integrationsPath+ids.Replace(tc.path), ids.Replace(tc.body)
		got, sent := own.admin.Do(tc.method, path, body), 0
		for ; got.Status != 429 && sent < 200; sent++ {
			got = own.admin.Do(tc.method, path, body)
		}
		if sent != 20 {
			t.Errorf("%s is limited after %d requests", what, sent)
		}
		if got.Status != 429 || got.Code() != "rate_limited" || got.Header.Get("Retry-After") == "" {
			t.Errorf("%s gives %d %s", what, got.Status, got.Body)
		}
		for who, client := range map[string]*testkit.Client{"a superuser": superuser, "another tenant's admin": other.admin} {
			if got := client.Do(tc.method, path, body); got.Status == 429 {
				t.Errorf("%s of %s gives %d %s", what, who, got.Status, got.Body)
			}
		}
	}
}

// A preview has any number of items that a call may have. Members preview 20 times a minute.
func TestPreviewsOfMembersAreLimited(t *testing.T) {
	t.Parallel()
	_, f := newStoppedAPI(t)
	own := newCustomer(t, f, "Own")
	items := func(n int) string {
		item := `{"action":"delete","email":"nobody@example.com"}`
		return `{"tenant":"` + own.tenant + `","access":"full","body":[` + strings.Repeat(item+",", n-1) + item + `]}`
	}
	const path = integrationsPath + "/inbound/preview"
	if got := own.admin.Do("POST", path, items(1_000)); got.Status != 200 {
		t.Errorf("1,000 items give %d %s", got.Status, got.Body)
	}
	for got := own.admin.Do("POST", path, items(1)); got.Status != 429; got = own.admin.Do("POST", path, items(1)) {
		if got.Status == 500 {
			t.Fatalf("a preview gives %d %s", got.Status, got.Body)
		}
	}
}

// A member whose role ends while the body arrives changes nothing.
func TestStalledRequestsLoseTheirRole(t *testing.T) {
	t.Parallel()
	_, f := newAPI(t)
	own := newCustomer(t, f, "Own")
	body, slow := io.Pipe()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, f.base+integrationsPath+"/keys/"+own.ids["api_keys"]+"/rotate", body)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", own.admin.Header.Get("Authorization"))
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Expect", "100-continue") // the server asks for the body once it reads it
	go func() {
		_, _ = slow.Write([]byte(`{"over`))
		testkit.Execute(t, f.App, "UPDATE tenant_members SET role = 'viewer' WHERE id = {:id}", dbx.Params{"id": own.record.Id})
		_, _ = slow.Write([]byte(`lapHours":0}`))
		_ = slow.Close()
	}()
	client := &http.Client{Transport: &http.Transport{ExpectContinueTimeout: time.Minute}}
	got, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer got.Body.Close()
	if got.StatusCode != http.StatusForbidden {
		t.Errorf("a rotation by a former admin gives %d", got.StatusCode)
	}
}

// Members try what an inbound webhook receives, up to its size, and more is refused before it is decoded.
func TestMembersTryLargeBodies(t *testing.T) {
	t.Parallel()
	_, f := newAPI(t)
	own := newCustomer(t, f, "Own")
	body := `{"email":"ada@example.com","lines":[` + strings.Repeat(`"`+strings.Repeat("a line ", 1_000)+`",`, payload.MaxBody/7_003-1) + `0]}`
	input := `{"tenant":"` + own.tenant + `","body":` + string(wire.AppendString(nil, body)) + `}`
	if len(body) < payload.MaxBody-20_000 || len(body) > payload.MaxBody {
		t.Fatalf("the body has %d bytes", len(body))
	}
	const path = integrationsPath + "/inbound/preview"
	if got := own.admin.Do("POST", path, input); got.Status != 200 || got.Data()["unchanged"] != 1.0 {
		t.Errorf("a body of 5 MiB gives %d %s", got.Status, got.Body)
	}
	if got := own.admin.Do("POST", path, strings.Repeat("{", 2*payload.MaxBody+1)); got.Status != 413 {
		t.Errorf("a body of more than 10 MiB gives %d %s", got.Status, got.Body)
	}
}

// Whoever sends it, a large body is refused before it is decoded: this one is not JSON. Without a session
// nothing of it is read.
func TestBodiesAreBounded(t *testing.T) {
	t.Parallel()
	_, f := newAPI(t)
	own := newCustomer(t, f, "Own")
	for who, tc := range map[string]struct {
		client *testkit.Client
		size   int
		status int
	}{"a member": {own.admin, 1<<20 + 1, 413}, "a superuser": {newAdmin(t, f), 1<<20 + 1, 400}, "a guest": {testkit.NewClient(t, f.base, ""), 1 << 17, 401}} {
		body := strings.Repeat("{", tc.size)
		if got := tc.client.Do("POST", integrationsPath+"/keys/"+own.ids["api_keys"]+"/rotate", body); got.Status != tc.status {
			t.Errorf("%s gets %d %s", who, got.Status, got.Body)
		}
	}
}
