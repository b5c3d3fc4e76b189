package routes_test

import (
	"testing"

	"github.com/pocketbase/pocketbase/tests"

	"contactbase/internal/testkit"
	"contactbase/routes"
)

// Each route of integrators and other systems has a scenario test.
func TestMain(m *testing.M) { testkit.TryRoutes(m, routes.Patterns()) }

// fixture is a served app with one tenant.
type fixture struct {
	App    *tests.TestApp
	base   string
	tenant string
}

func newAdmin(t *testing.T, f *fixture) *testkit.Client {
	t.Helper()
	admin := testkit.NewClient(t, f.base, "")
	admin.Header.Set("Authorization", testkit.SuperuserToken(t, f.App))
	return admin
}
