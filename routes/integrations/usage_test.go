package integrations_test

import (
	"fmt"
	"testing"

	"contactbase/internal/inbound"
	"contactbase/internal/testkit"
)

// Superusers see what any tenant stores, and members what their own does.
func TestTenantUsage(t *testing.T) {
	t.Parallel()
	_, f := newAPI(t)
	root := newAdmin(t, f)
	own, other := newCustomer(t, f, "Own"), newCustomer(t, f, "Other")
	path := func(tenantID string) string { return integrationsPath + "/tenants/" + tenantID + "/usage" }
	for name, c := range map[string]struct {
		client *testkit.Client
		tenant string
		status int
		code   string
	}{
		"a guest":                       {testkit.NewClient(t, f.base, ""), own.tenant, 401, "unauthorized"},
		"a member of another tenant":    {other.admin, own.tenant, 404, "not_found"},
		"a superuser, without a tenant": {root, "nobody000000000", 404, "not_found"},
	} {
		if got := c.client.Do("GET", path(c.tenant), ""); got.Status != c.status || got.Code() != c.code {
			t.Errorf("%s gets %d %s", name, got.Status, got.Body)
		}
	}
	before := own.viewer.Do("GET", path(own.tenant), "").Data()
	token := testkit.Inbound(t, f.App, own.tenant, inbound.AccessUpsert, nil)
	body := `{"name":"Ada","email":"ada@example.com"}`
	if got := testkit.NewClient(t, f.base, "").Do("POST", "/api/hooks/"+token, body); got.Status != 200 {
		t.Fatalf("the request is answered %d %s", got.Status, got.Body)
	}
	for name, client := range map[string]*testkit.Client{
		"a viewer": own.viewer, "an admin": own.admin, "a superuser": root,
	} {
		usage := client.Do("GET", path(own.tenant), "").Data()
		stored, _ := usage["storedBytes"].(float64)
		earlier, _ := before["storedBytes"].(float64)
		if more := stored - earlier; more < float64(len(body)) || more > 4096 {
			t.Errorf("%s: a request counts as %v bytes", name, more)
		}
		got := fmt.Sprint(usage["storedLimit"], usage["importLimit"], usage["importBytes"] == before["importBytes"])
		if got != "6.7108864e+07 1.073741824e+09 true" {
			t.Errorf("%s: the usage is %v", name, usage)
		}
		if imported, _ := usage["importBytes"].(float64); imported == 0 {
			t.Errorf("%s: the import does not count: %v", name, usage)
		}
	}
}
