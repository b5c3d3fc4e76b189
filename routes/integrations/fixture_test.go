package integrations_test

import (
	"testing"

	"github.com/pocketbase/pocketbase/tests"

	"contactbase/internal/testkit"
)

const contactsPath = "/api/ext/v1/contacts"

// fixture is a served app with one tenant.
type fixture struct {
	App    *tests.TestApp
	base   string
	tenant string
}

// newAPI returns a client with a key of a new tenant that has all permissions.
func newAPI(t *testing.T) (*testkit.Client, *fixture) {
	t.Helper()
	app := testkit.NewApp(t)
	f := &fixture{App: app, tenant: testkit.Tenant(t, app, "Acme")}
	f.base = testkit.Serve(t, app)
	return testkit.NewClient(t, f.base, testkit.Key(t, app, f.tenant)), f
}

func newAdmin(t *testing.T, f *fixture) *testkit.Client {
	t.Helper()
	admin := testkit.NewClient(t, f.base, "")
	admin.Header.Set("Authorization", testkit.SuperuserToken(t, f.App))
	return admin
}
