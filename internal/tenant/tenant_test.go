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
	twins := []string{testkit.Tenant(t, app, "Twin"), testkit.Tenant(t, app, "Twin")}
	named := testkit.Tenant(t, app, one) // its name is the other's id
	for name, want := range map[string]string{"One": one, one: one, named: named, twins[0]: twins[0]} {
		if found, err := tenant.Find(app, name); err != nil || found.Id != want {
			t.Errorf("%q is %v (%v), not %s", name, found, err, want)
		}
	}
	if _, err := tenant.Find(app, "Nobody"); err == nil || !strings.Contains(err.Error(), `"Nobody"`) {
		t.Errorf("nobody is %v", err)
	}
	if _, err := tenant.Find(app, "Twin"); err == nil || !strings.Contains(err.Error(), twins[0]) || !strings.Contains(err.Error(), twins[1]) {
		t.Errorf("of two with a name it says %v", err)
	}
}

func TestNew(t *testing.T) {
	t.Parallel()
	app := testkit.NewApp(t)
	made, err := tenant.New(app)
	if err != nil {
		t.Fatal(err)
	}
	made.SetName("Acme")
	made.SetAPIEnabled(true)
	made.Set("rateLimit", 60)
	if err := app.Save(made); err != nil {
		t.Fatal(err)
	}
	found, err := tenant.Find(app, "Acme")
	if err != nil || !found.APIEnabled() || found.RateLimit() != 60 || found.Name() != "Acme" {
		t.Errorf("found is %+v (%v)", found, err)
	}
}
