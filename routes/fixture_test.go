package routes_test

import (
	"github.com/pocketbase/pocketbase/tests"
)

// fixture is a served app with one tenant.
type fixture struct {
	App    *tests.TestApp
	base   string
	tenant string
}
