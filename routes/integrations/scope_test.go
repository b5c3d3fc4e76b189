package integrations_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pocketbase/dbx"
	"github.com/pocketbase/pocketbase/core"
	"github.com/pocketbase/pocketbase/tools/security"

	"contactbase/api"
	"contactbase/internal/contact"
	"contactbase/internal/event"
	"contactbase/internal/move"
	"contactbase/internal/testkit"
	"contactbase/routes/integrations"
)

const integrationsPath = "/api/integrations"

// customer is a tenant with one record of each kind, and two members.
type customer struct {
	tenant        string
	ids           map[string]string // by table
	admin, viewer *testkit.Client
	record        *core.Record // of the admin
}

// newMember saves a member and returns a client with its token.
func newMember(t *testing.T, f *fixture, tenantID, role string) (*testkit.Client, *core.Record) {
	t.Helper()
	record := testkit.Record(t, f.App, "tenant_members", map[string]any{
		"tenant": tenantID, "role": role, "email": role + "@" + tenantID + ".example.com", "password": "a long password", "passwordConfirm": "a long password", "verified": true,
	})
	token, err := record.NewAuthToken()
	if err != nil {
		t.Fatal(err)
	}
	return signedIn(t, f, token), record
}

func signedIn(t *testing.T, f *fixture, token string) *testkit.Client {
	t.Helper()
	client := testkit.NewClient(t, f.base, "")
	client.Header.Set("Authorization", token)
	return client
}

func newCustomer(t *testing.T, f *fixture, name string) *customer {
	t.Helper()
	c := &customer{tenant: testkit.Tenant(t, f.App, name)}
	c.viewer, _ = newMember(t, f, c.tenant, "viewer")
	c.admin, c.record = newMember(t, f, c.tenant, "admin")
	webhook := testkit.Webhook(t, f.App, c.tenant, "inspect:", "")
	created, err := testkit.Create(f.App, c.tenant, contact.Changes{"name": "Ada", "email": "ada@example.com"})
	if err != nil {
		t.Fatal(err)
	}
	testkit.FanOut(t, f.App)
	token := testkit.Inbound(t, f.App, c.tenant, "full", nil)
	if got := testkit.NewClient(t, f.base, "").Do("POST", "/api/hooks/"+token, `{"name":"Grace"}`); got.Status != 200 {
		t.Fatalf("an inbound call is answered %d %s", got.Status, got.Body)
	}
	imported := c.admin.Do("POST", integrationsPath+"/imports?tenant="+c.tenant+"&name=a.csv", "name\nHedy\n", "Content-Type", "text/csv").Data()
	testkit.Key(t, f.App, c.tenant)
	invited, err := f.App.FindAuthRecordByEmail("tenant_members", "viewer@"+c.tenant+".example.com")
	if err != nil {
		t.Fatal(err)
	}
	c.ids = map[string]string{"tenant_members": invited.Id, "tenants": c.tenant, "webhooks": webhook, "contacts": created.ID, "_imports": imported["id"].(string)}
	for _, table := range []string{"api_keys", "deliveries", "events", "inbound_webhooks", "inbound_requests"} {
		var id string
		if err := f.App.DB().Select("id").From(table).Where(dbx.HashExp{"tenant": c.tenant}).Limit(1).Row(&id); err != nil {
			t.Fatal(table, err)
		}
		c.ids[table] = id
	}
	return c
}

// bodies are those of requests that need one, without the ids that they name.
var bodies = map[string]map[string]any{
	"/webhooks/{id}/recover":   {"since": "2026-01-01T00:00:00Z", "dryRun": true},
	"/webhooks/preview-filter": {"filter": `type == "contact.created"`},
	"/inbound/preview":         {"body": map[string]any{"name": "Ada"}},
	"/imports/{id}/check":      {"mapping": []string{"name"}, "match": "email"},
	"/imports/{id}/start":      {"mapping": []string{"name"}, "match": "email"},
}

// call requests a route, and names these ids: the first that it can name, by table.
func call(client *testkit.Client, s integrations.Scope, ids map[string]string) *testkit.Answer {
	path, values, body := integrationsPath+s.Path, url.Values{}, map[string]any{}
	for name, value := range bodies[s.Path] {
		body[name] = value
	}
	if len(s.Names) > 0 && ids != nil {
		name := s.Names[0]
		switch id := ids[name.Table]; name.In {
		case "path":
			path = strings.Replace(path, "{"+name.Name+"}", id, 1)
		case "query":
			values.Set(name.Name, id)
		case "body":
			body[name.Name] = id
		}
	}
	path = strings.Replace(path, "{id}", "nobody000000000", 1)
	if s.Method == http.MethodPost && s.Path == "/imports" {
		return client.Do(s.Method, path+"?"+values.Encode(), "name\nHedy\n", "Content-Type", "text/csv")
	}
	encoded, err := json.Marshal(body)
	if err != nil {
		client.TB.Fatal(err)
	}
	if s.Method != http.MethodPost || len(body) == 0 {
		encoded = nil
	}
	return client.Do(s.Method, path+"?"+values.Encode(), string(encoded), "If-Match", `"nothing"`) // deletes nothing
}

// doors are what the door of the routes answers; whoever passes gets something else.
var doors = map[int]bool{401: true, 403: true, 404: true, 500: true}

// Every route below /api/integrations is for superusers only, or for members too: with the role of the table, and
// about records of their tenant.
func TestRoutesForMembers(t *testing.T) {
	t.Parallel()
	_, f := newAPI(t)
	superuser, guest := newAdmin(t, f), testkit.NewClient(t, f.base, "")
	own, other := []*customer{newCustomer(t, f, "Own"), newCustomer(t, f, "Own as well")}, newCustomer(t, f, "Other")
	expired := signedIn(t, f, expiredToken(t, own[0].record))
	unknown := map[string]string{}
	for table := range own[0].ids {
		unknown[table] = "unknown"
	}
	for i, s := range integrations.Scopes() {
		acme := own[i%len(own)] // all routes are more than a member may call at once
		expect := func(who string, client *testkit.Client, ids map[string]string, want string) {
			t.Helper()
			got := call(client, s, ids)
			answer := fmt.Sprint(got.Status, " ", got.Code())
			if !doors[got.Status] {
				answer = "passes"
			}
			if answer != want {
				t.Errorf("%s %s by %s is answered %d %s, not %s", s.Method, s.Path, who, got.Status, got.Body, want)
			}
		}
		expect("a guest", guest, acme.ids, "401 unauthorized")
		expect("an expired member", expired, acme.ids, "401 unauthorized")
		if s.Role == "" {
			expect("an admin member", acme.admin, acme.ids, "403 forbidden")
			expect("a viewer", acme.viewer, acme.ids, "403 forbidden")
			continue
		}
		expect("a superuser", superuser, acme.ids, "passes")
		expect("an admin member", acme.admin, acme.ids, "passes")
		if s.Role == "viewer" {
			expect("a viewer", acme.viewer, acme.ids, "passes")
		} else {
			for _, ids := range []map[string]string{acme.ids, other.ids, unknown, nil} {
				expect("a viewer", acme.viewer, ids, "403 insufficient_permission")
			}
		}
		if len(s.Names) > 0 {
			expect("a stranger", other.admin, acme.ids, "404 not_found")
			expect("a member, of nobody,", acme.admin, unknown, "404 not_found")
		}
		if len(s.Names) > 0 && s.Names[0].Name != "ids" {
			expect("a member, of nothing,", acme.admin, nil, "404 not_found")
		}
	}
}

// expiredToken returns a member's token that has expired.
func expiredToken(t *testing.T, record *core.Record) string {
	t.Helper()
	token, err := security.NewJWT(map[string]any{
		"type": "auth", "id": record.Id, "collectionId": record.Collection().Id, "refreshable": true,
	}, record.TokenKey()+record.Collection().AuthToken.Secret, -time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	return token
}

// The OpenAPI document says which role a member needs.
func TestRolesAreDescribed(t *testing.T) {
	t.Parallel()
	var document struct {
		Paths map[string]map[string]json.RawMessage `json:"paths"`
	}
	if err := json.Unmarshal(api.JSON(), &document); err != nil {
		t.Fatal(err)
	}
	for _, s := range integrations.Scopes() {
		var described struct {
			Role     string           `json:"x-member-role"`
			Security []map[string]any `json:"security"`
		}
		if err := json.Unmarshal(document.Paths[integrationsPath+s.Path][strings.ToLower(s.Method)], &described); err != nil {
			t.Errorf("%s %s is not described: %v", s.Method, s.Path, err)
		}
		forMembers := slices.ContainsFunc(described.Security, func(way map[string]any) bool { return way["Member"] != nil })
		if described.Role != s.Role || forMembers != (s.Role != "") {
			t.Errorf("%s %s is described for %q with %v, and is for %q", s.Method, s.Path, described.Role, described.Security, s.Role)
		}
	}
}

// A record of any other auth collection is no member, even with the fields of one.
func TestOtherAccountsAreNotMembers(t *testing.T) {
	t.Parallel()
	_, f := newAPI(t)
	collection := core.NewAuthCollection("staff")
	collection.Fields.Add(&core.TextField{Name: "tenant"}, &core.TextField{Name: "role"})
	if err := f.App.Save(collection); err != nil {
		t.Fatal(err)
	}
	record := testkit.Record(t, f.App, "staff", map[string]any{
		"tenant": f.tenant, "role": "admin", "email": "a@example.com", "password": "a long password", "passwordConfirm": "a long password",
	})
	token, err := record.NewAuthToken()
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/overview", "/imports", "/tenants/counts?ids=" + f.tenant} {
		if got := signedIn(t, f, token).Do("GET", integrationsPath+path, ""); got.Status != 403 || got.Code() != "forbidden" {
			t.Errorf("%s is answered %d %s", path, got.Status, got.Body)
		}
	}
}

// One strange id among own ones is enough to refuse a request, wherever it stands.
func TestEveryNameIsChecked(t *testing.T) {
	t.Parallel()
	_, f := newAPI(t)
	own, other := newCustomer(t, f, "Own"), newCustomer(t, f, "Other")
	const filter = `{"filter":"type != \"\"",`
	for _, tc := range []struct{ method, path, body string }{
		{"GET", "/webhooks/health?ids=" + own.ids["webhooks"] + "," + other.ids["webhooks"], ""},
		{"GET", "/tenants/counts?ids=" + own.tenant + "," + other.tenant, ""},
		{"GET", "/keys/unknown/activity", ""},
		{"POST", "/webhooks/preview-filter", filter + `"webhook":"` + other.ids["webhooks"] + `"}`},
		{"POST", "/webhooks/preview-filter", filter + `"tenant":"` + own.tenant + `","webhook":"` + other.ids["webhooks"] + `"}`},
		{"POST", "/webhooks/preview-filter", filter + `"tenant":"` + own.tenant + `","TENANT":"` + other.tenant + `"}`},
		{"POST", "/inbound/preview", `{"body":{"name":"A"},"tenant":"` + own.tenant + `","Tenant":"` + other.tenant + `"}`},
		{"GET", "/contacts/export?tenant=" + other.tenant + "&tenant=" + own.tenant, ""},
	} {
		if got := own.admin.Do(tc.method, integrationsPath+tc.path, tc.body); got.Status != 404 || got.Code() != "not_found" {
			t.Errorf("%s %s %s is answered %d %s", tc.method, tc.path, tc.body, got.Status, got.Body)
		}
	}
	if got := own.admin.Do("POST", integrationsPath+"/webhooks/preview-filter", filter+`"webhook":"`+own.ids["webhooks"]+`"}`); got.Status != 200 {
		t.Errorf("the own webhook's filter is answered %d %s", got.Status, got.Body)
	}
}

// Members see their tenant in the overview and the list of imports, and nothing of the operator's.
func TestMembersSeeTheirTenantOnly(t *testing.T) {
	t.Parallel()
	_, f := newAPI(t)
	own, other := newCustomer(t, f, "Own"), newCustomer(t, f, "Other")
	testkit.Execute(t, f.App, "UPDATE webhooks SET disabled = 1, disabledReason = 'gone'", nil)
	testkit.Execute(t, f.App, "UPDATE api_keys SET expires = {:at}", dbx.Params{"at": time.Now().Add(24 * time.Hour).UTC().Format("2006-01-02 15:04:05.000Z")})
	testkit.Emit(t, f.App, other.tenant, other.ids["contacts"], event.ContactUpdated)
	for table, id := range map[string]string{"webhooks": other.ids["webhooks"], "webhooks'": own.ids["webhooks"]} {
		testkit.Execute(t, f.App, "INSERT INTO _activity (kind, grain, start, of, done) VALUES ('webhook', 3600, {:hour}, {:webhook}, {:n})",
			dbx.Params{"hour": time.Now().UTC().Format("2006-01-02 15"), "webhook": id, "n": len(table)})
	}
	for _, key := range []string{own.ids["api_keys"], other.ids["api_keys"], ""} {
		testkit.Execute(t, f.App, "INSERT INTO _activity (kind, grain, start, of, done, refused) VALUES ('key', 3600, {:hour}, {:key}, 2, 1)",
			dbx.Params{"hour": time.Now().UTC().Format("2006-01-02 15"), "key": key})
	}

	overview := own.viewer.Do("GET", integrationsPath+"/overview", "").Data()
	sums := map[string]float64{}
	for _, step := range overview["steps"].([]any) {
		for name, value := range step.(map[string]any) {
			if n, isNumber := value.(float64); isNumber {
				sums[name] += n
			}
		}
	}
	if got := fmt.Sprint(sums["created"], sums["updated"], sums["delivered"], sums["calls"], sums["refused"], overview["contacts"]); got != "2 0 9 3 1 2" {
		t.Errorf("the activity is %s: %v", got, sums)
	}
	kinds := ""
	for _, p := range overview["problems"].([]any) {
		problem := p.(map[string]any)
		owner, _ := problem["tenant"].(map[string]any)
		kinds += fmt.Sprint(problem["kind"], " ", owner["name"], ", ")
	}
	if kinds != "webhook_disabled Own, key_expires Own, " {
		t.Errorf("the problems are %s", kinds)
	}
	imports := own.admin.Do("GET", integrationsPath+"/imports", "").JSON()["data"].([]any)
	if len(imports) != 1 || imports[0].(map[string]any)["id"] != own.ids["_imports"] {
		t.Errorf("the imports are %v", imports)
	}
}

// Without API access, and while their tenant moves, members only read. A deleted tenant has none.
func TestMembersOfClosedTenants(t *testing.T) {
	t.Parallel()
	_, f := newAPI(t)
	own := newCustomer(t, f, "Own")
	expect := func(path, want string) {
		t.Helper()
		for _, method := range []string{"GET " + integrationsPath + "/contacts/export?tenant=" + own.tenant, "POST " + integrationsPath + path} {
			method, path, _ := strings.Cut(method, " ")
			got := own.admin.Do(method, path, "")
			if answer := fmt.Sprint(got.Status, " ", got.Code()); answer != want && (method == "POST" || got.Status != 200) {
				t.Errorf("%s %s is answered %d %s", method, path, got.Status, got.Body)
			}
		}
	}
	setAPI := func(enabled int) {
		t.Helper()
		testkit.Execute(t, f.App, "UPDATE tenants SET apiEnabled = {:enabled} WHERE id = {:id}", dbx.Params{"enabled": enabled, "id": own.tenant})
	}
	setAPI(0)
	expect("/webhooks/"+own.ids["webhooks"]+"/rotate", "403 feature_not_enabled")
	setAPI(1)
	if changed, err := move.Freeze(t.Context(), f.App, testkit.Deliveries(f.App), own.tenant); err != nil || !changed {
		t.Fatal(changed, err)
	}
	expect("/webhooks/"+own.ids["webhooks"]+"/ping", "503 tenant_moving")
	testkit.Execute(t, f.App, "DELETE FROM _moves", nil)
	testkit.Execute(t, f.App, "DELETE FROM tenants WHERE id = {:id}", dbx.Params{"id": own.tenant})
	if got := own.admin.Do("GET", integrationsPath+"/overview", ""); got.Status != 401 {
		t.Errorf("a member of a deleted tenant is answered %d %s", got.Status, got.Body)
	}
}
