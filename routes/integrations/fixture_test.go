package integrations_test

import (
	"testing"
	"time"

	"github.com/pocketbase/pocketbase/tests"

	"contactbase/internal/testkit"
	"contactbase/routes/integrations"
	"contactbase/routes/route"
)

// Each route has a scenario test here, or of a contact in the package routes.
func TestMain(m *testing.M) {
	var patterns []string
	for _, r := range integrations.Routes(route.Config{}, integrations.Shared{}) {
		patterns = append(patterns, r.Method+" /api/integrations"+r.Path)
	}
	testkit.TryRoutes(m, patterns)
}

const contactsPath = "/api/ext/v1/contacts"

// fixture is a served app with one tenant.
type fixture struct {
	App    *tests.TestApp
	base   string
	tenant string
	began  time.Time
}

// newAPI returns a client with a key of a new tenant that has all permissions.
func newAPI(t *testing.T) (*testkit.Client, *fixture) {
	t.Helper()
	return serve(t, testkit.NewApp(t))
}

// newStoppedAPI is newAPI with a stopped clock: spent limits do not refill.
func newStoppedAPI(t *testing.T) (*testkit.Client, *fixture) {
	t.Helper()
	now := time.Now()
	return serve(t, testkit.NewAppAt(t, func() time.Time { return now }))
}

func serve(t *testing.T, app *tests.TestApp) (*testkit.Client, *fixture) {
	t.Helper()
	f := &fixture{App: app, tenant: testkit.Tenant(t, app, "Acme"), began: time.Now()}
	f.base = testkit.Serve(t, app)
	return testkit.NewClient(t, f.base, testkit.Key(t, app, f.tenant)), f
}

func newAdmin(t *testing.T, f *fixture) *testkit.Client {
	t.Helper()
	admin := testkit.NewClient(t, f.base, "")
	admin.Header.Set("Authorization", testkit.SuperuserToken(t, f.App))
	return admin
}
