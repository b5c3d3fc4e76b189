package integrations_test

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/pocketbase/dbx"

	"contactbase/internal/testkit"
)

// The members of a tenant share a limit of pings. Superusers and other tenants have none of it.
func TestPingsOfMembersAreLimited(t *testing.T) {
	t.Parallel()
	_, f := newAPI(t)
	superuser := newAdmin(t, f)
	own, other := newCustomer(t, f, "Own"), newCustomer(t, f, "Other")
	ping := func(client *testkit.Client, of *customer) *testkit.Answer {
		return client.Do("POST", integrationsPath+"/webhooks/"+of.ids["webhooks"]+"/ping", "")
	}
	sent := 0
	for got := ping(own.admin, own); got.Status != 429; got = ping(own.admin, own) {
		if sent++; got.Status != 200 || sent > 100 {
			t.Fatalf("ping %d is answered %d %s", sent, got.Status, got.Body)
		}
	}
	if sent < 10 {
		t.Errorf("only %d pings were sent", sent)
	}
	for who, got := range map[string]*testkit.Answer{"a superuser's": ping(superuser, own), "another tenant's": ping(other.admin, other)} {
		if got.Status != 200 {
			t.Errorf("%s ping is answered %d %s", who, got.Status, got.Body)
		}
	}
}

// A preview of many items would hold the writer lock for long, so members preview few.
func TestPreviewsOfMembersAreSmall(t *testing.T) {
	t.Parallel()
	_, f := newAPI(t)
	superuser, own := newAdmin(t, f), newCustomer(t, f, "Own")
	items := func(n int) string {
		item := `{"action":"delete","email":"nobody@example.com"}`
		return `{"tenant":"` + own.tenant + `","access":"full","body":[` + strings.Repeat(item+",", n-1) + item + `]}`
	}
	const path = integrationsPath + "/inbound/preview"
	if got := own.admin.Do("POST", path, items(20)); got.Status == 413 {
		t.Errorf("20 items give %d %s", got.Status, got.Body)
	}
	if got := own.admin.Do("POST", path, items(21)); got.Status != 413 || got.Code() != "payload_too_large" {
		t.Errorf("21 items give %d %s", got.Status, got.Body)
	}
	if got := superuser.Do("POST", path, items(21)); got.Status == 413 {
		t.Errorf("21 items of a superuser give %d %s", got.Status, got.Body)
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

// Whoever sends it, a large body is refused before it is decoded: this one is no JSON. Without a session nothing of it is read.
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
