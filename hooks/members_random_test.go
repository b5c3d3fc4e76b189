package hooks_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/pocketbase/dbx"
	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/testenv"
	"contactbase/internal/testkit"
)

// caller sends random requests of the members of a tenant, and looks for what belongs to another.
type caller struct {
	*door
	*rand.Rand
	strange []string // what only the other tenant has
}

var (
	randomFields = []string{
		"id", "tenant", "name", "created", "url", "secret", "headers", "sealedHeaders", "hash", "tokenHash", "prefix", "role", "email", "link", "expires", "tokenKey",
		"verifySecret", "memberOwned", "apiEnabled", "revoked", "disabled", "access", "mapping", "filter", "events",
	}
	randomPaths = []string{
		"tenant.name", "tenant.apiEnabled", "tenant.webhooks_via_tenant.name", "webhooks_via_tenant.secret", "tenant_members_via_tenant.email", "contacts_via_tenant.name",
		"@collection.webhooks.name", "@collection.tenants.name", "@request.auth.tenant.name", "@request.auth.tenant.webhooks_via_tenant.name", "name:lower", "events:each",
		"webhooks(tenant).name", "@now", "geoDistance(1,2,3,4)", "tenant.name:lower", "event.tenant", "",
	}
	randomCollections = []string{
		"webhooks", "tenant_members", "api_keys", "inbound_webhooks", "tenants", "contacts", "events", "deliveries", "audit_log", "users", "_superusers", "Webhooks", "%77ebhooks",
	}
	// randomRoutes have %s where they have an id.
	randomRoutes = []string{
		"POST /webhooks/%s/rotate", "POST /webhooks/%s/recover", "POST /webhooks/preview-filter", "GET /webhooks/health?ids=%s", "GET /webhooks/health?ids=%s,%s",
		"GET /webhooks/%s/activity", "GET /webhooks/%s/inspected", "GET /deliveries?webhook=%s", "GET /deliveries?webhook=%s&webhook=%s", "GET /deliveries/%s", "GET /deliveries/%s/attempts",
		"POST /deliveries/%s/redeliver", "POST /keys/%s/rotate", "GET /keys/%s/activity", "GET /keys/unknown/activity", "POST /inbound/%s/rotate", "POST /inbound/preview",
		"GET /inbound/requests?inbound=%s", "POST /inbound/requests/%s/replay", "GET /contacts/%s/events", "GET /contacts?tenant=%s", "GET /contacts?tenant=%s&tenant=%s", "GET /contacts/count?tenant=%s", "GET /contacts/%s", "PATCH /contacts/%s", "DELETE /contacts/%s", "GET /contacts/export?tenant=%s", "GET /contacts/export?tenant=%s&tenant=%s",
		"GET /imports?tenant=%s", "POST /imports?tenant=%s", "POST /imports?tenant=%s&tenant=%s", "GET /overview?tenant=%s", "GET /audit?tenant=%s", "GET /audit?tenant=%s&tenant=%s",
		"GET /tenants/counts?ids=%s", "POST /tenants/%s/portal-link", "DELETE /tenants/%s/portal-links", "GET /replica", "PUT /webhooks/%s/ping",
	}
)

func (c *caller) one(of []string) string { return of[c.IntN(len(of))] }

func (c *caller) chance(percent int) bool { return c.IntN(100) < percent }

// estateOf returns the estate of the other tenant as often as the own one.
func (c *caller) estateOf() *estate { return []*estate{c.acme, c.other}[c.IntN(2)] }

func (c *caller) id(collection string) string {
	if id := c.estateOf().ids[collection]; id != "" && c.chance(90) {
		return id
	}
	return c.one([]string{c.acme.tenant, c.other.tenant, c.other.ids["webhooks"], "aaaaaaaaaaaaaaa"})
}

func (c *caller) operand() string {
	switch c.IntN(3) {
	case 0:
		return c.one(randomFields)
	case 1:
		return c.one(randomPaths)
	default:
		return "'" + c.one([]string{"Other", "O", "%", "", c.other.tenant, "admin", `\'`}) + "'"
	}
}

func (c *caller) filter(depth int) string {
	if depth < 3 && c.chance(40) {
		return "(" + c.filter(depth+1) + c.one([]string{" && ", " || "}) + c.filter(depth+1) + ")"
	}
	return c.operand() + c.one([]string{"=", "!=", "~", "!~", ">", "<=", "?=", "?~"}) + c.operand()
}

func (c *caller) query() string {
	query := url.Values{}
	for name, value := range map[string]string{
		"filter": c.filter(0), "sort": c.one([]string{"-", ""}) + c.one(append(randomPaths, randomFields...)), "fields": c.one([]string{"*", "*,expand.*", "secret,headers,hash", "expand.tenant.*"}),
		"expand": c.one([]string{"tenant", "tenant.webhooks_via_tenant", "webhooks_via_tenant", "tenant_members(tenant)", "event.tenant", ""}), "perPage": c.one([]string{"500", "0", "-1", "x"}),
	} {
		if c.chance(30) {
			query.Set(name, value)
		}
	}
	return "?" + query.Encode()
}

func (c *caller) body() string {
	values := map[string]any{"tenant": c.estateOf().tenant, "webhook": c.id("webhooks"), "name": "By a member", "url": c.one([]string{"inspect:", "https://example.com", "http://127.0.0.1:1"})}
	values["email"], values["role"], values["access"] = fmt.Sprintf("m%d@example.com", c.IntN(1e6)), c.one([]string{"admin", "viewer", "owner"}), "full"
	values["filter"], values["body"], values["since"], values["dryRun"] = "type != ''", `{"email":"other@example.com"}`, "2026-01-01T00:00:00Z", c.chance(50)
	for range c.IntN(3) {
		field := c.one(randomFields)
		if field == "name" {
			continue // may be any text, so that a list would show the other tenant's ID that a member once sent
		}
		values[field+c.one([]string{"", "", "+", "-", ":autogenerate"})] = []any{c.other.tenant, true, nil, []any{}, map[string]any{}, 1, c.id("webhooks")}[c.IntN(7)]
	}
	for name := range values {
		if c.chance(20) {
			delete(values, name)
		}
	}
	encoded, _ := json.Marshal(values)
	if c.chance(10) { // the same property twice, or in another case
		return strings.TrimSuffix(string(encoded), "}") + `,"` + c.one([]string{"tenant", "Tenant", "WEBHOOK"}) + `":"` + c.id("webhooks") + `"}`
	}
	return string(encoded)
}

func (c *caller) record() (method, path, body string) {
	collection := c.one(randomCollections)
	path = recordsOf(collection)
	switch c.IntN(5) {
	case 0:
		return "GET", path + c.query(), ""
	case 1:
		return "GET", path + "/" + c.id(collection) + c.query(), ""
	case 2:
		return "POST", path + c.query(), c.body()
	case 3:
		return "PATCH", path + "/" + c.id(collection) + c.query(), c.body()
	default:
		return "DELETE", path + "/" + c.other.ids["webhooks"], "" // the own ones are needed
	}
}

func (c *caller) request() (method, path, body string) {
	switch {
	case c.chance(50):
		return c.record()
	case c.chance(80):
		method, path, _ = strings.Cut(c.one(randomRoutes), " ")
		for strings.Contains(path, "%s") {
			path = strings.Replace(path, "%s", c.id(c.one([]string{"webhooks", "api_keys", "inbound_webhooks", "contacts", "tenants"})), 1)
		}
		if method == "POST" {
			body = c.body()
		}
		return method, "/api/integrations" + path, body
	default:
		method, path, body = c.record()
		if body != "" { // the batch takes the query as values of the record, so that a list would show what a member once sent
			path, _, _ = strings.Cut(path, "?")
		}
		request := map[string]any{"method": method, "url": path, "body": json.RawMessage(body)}
		if body == "" {
			delete(request, "body")
		}
		encoded, _ := json.Marshal(map[string]any{"requests": []any{request}})
		return "POST", "/api/batch", string(encoded)
	}
}

// send sends a random request, and checks that the response has nothing of the other tenant but what the request names.
func (c *caller) send(who *core.Record) {
	method, path, body := c.request()
	got := c.as(who).Do(method, path, body)
	sent, _ := url.QueryUnescape(path)
	leaked := slices.ContainsFunc(c.strange, func(text string) bool {
		return strings.Contains(string(got.Body), text) && !strings.Contains(sent+body, text)
	})
	if leaked || got.Status >= 500 {
		c.t.Errorf("%s %s %s gives %d %s", method, sent, body, got.Status, got.Body)
	}
}

// stored returns all rows of the other tenant, without the uses of its keys.
func (c *caller) stored() string {
	var all strings.Builder
	for _, table := range []string{"webhooks", "api_keys", "inbound_webhooks", "contacts", "tenant_members", "events", "deliveries", "_imports"} {
		var rows []dbx.NullStringMap
		if err := c.app.DB().NewQuery("SELECT * FROM {{" + table + "}} WHERE tenant = {:tenant} ORDER BY id").Bind(dbx.Params{"tenant": c.other.tenant}).All(&rows); err != nil {
			c.t.Fatal(err)
		}
		fmt.Fprintln(&all, table, rows)
	}
	return all.String()
}

// Whatever members send, they see and change nothing of another tenant, and the server does not fail.
func TestRandomRequestsOfMembers(t *testing.T) {
	t.Parallel()
	d := newDoor(t)
	d.app.Settings().RateLimits.Enabled = false
	if err := d.app.Save(d.app.Settings()); err != nil {
		t.Fatal(err)
	}
	seed := rand.Uint64()
	t.Logf("the seed is %d", seed)
	c := &caller{door: d, Rand: rand.New(rand.NewPCG(seed, 0)), strange: []string{"Other", "other@example.com", d.other.tenant}}
	for _, id := range d.other.ids {
		c.strange = append(c.strange, id)
	}
	testkit.FanOut(t, d.app) // as the server does
	before := c.stored()
	for range testenv.Count(400, 20_000) {
		c.send([]*core.Record{d.admin, d.viewer, d.link, nil}[c.IntN(4)])
	}
	if after := c.stored(); after != before {
		t.Errorf("the other tenant was changed from\n%s\nto\n%s", before, after)
	}
}
