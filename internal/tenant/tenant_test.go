package tenant_test

import (
	"strings"
	"testing"

	"contactbase/internal/tenant"
	"contactbase/internal/testkit"
)

func TestFind(t *testing.T) {
	t.Parallel()
	app := testkit.NewApp(t)
	one := testkit.Tenant(t, app, "One")
	twin, other := testkit.Tenant(t, app, "Twin"), testkit.Tenant(t, app, "Twin")
	named := testkit.Tenant(t, app, one) // its name is the other's id
	upper, lower := testkit.Tenant(t, app, "ÄRZTE"), testkit.Tenant(t, app, "ärzte")
	for name, want := range map[string]string{
		"One": one, one: one, named: named, twin: twin, "oNE": one, "ÄRZTE": upper, "ärzte": lower,
	} {
		if found, err := tenant.Find(app, name); err != nil || found.Id != want {
			t.Errorf("%q is %v (%v), not %s", name, found, err, want)
		}
	}
	if _, err := tenant.Find(app, "Nobody"); err == nil || !strings.Contains(err.Error(), `"Nobody"`) {
		t.Errorf("nobody is %v", err)
	}
	if _, err := tenant.Find(app, "Ärzte"); err == nil || !strings.Contains(err.Error(), upper) || !strings.Contains(err.Error(), lower) {
		t.Errorf("of two in other cases it says %v", err)
	}
	if _, err := tenant.Find(app, "Twin"); err == nil || !strings.Contains(err.Error(), twin) || !strings.Contains(err.Error(), other) {
		t.Errorf("of two with a name it says %v", err)
	}
}

func TestTenant(t *testing.T) {
	t.Parallel()
	app := testkit.NewApp(t)
	testkit.Record(t, app, tenant.CollectionName, map[string]any{"name": "Acme", "rateLimit": 60})
	found, err := tenant.Find(app, "Acme")
	if err != nil || found.RateLimit() != 60 || found.Name() != "Acme" {
		t.Errorf("found is %+v (%v)", found, err)
	}
}
