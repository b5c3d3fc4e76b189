package migrations

import (
	"github.com/pocketbase/pocketbase/core"
	"github.com/pocketbase/pocketbase/tools/types"
)

// How many requests per minute an inbound webhook receives, 0 for the default. It stays while its tenant moves.
func init() {
	add("1760000052_inbound_rate.go", "inbound_webhooks", &core.NumberField{
		Name: "rateLimit", OnlyInt: true, Min: types.Pointer(0.0), Max: types.Pointer(1_000_000.0),
	})
	closed := closedWrite{
		"inbound_webhooks", "UPDATE", "`id`, `tenant`, `name`, `access`, `tokenHash`, `prefix`, `mapping`, `verifySecret`, `disabled`, `verifyScheme`", "tenant",
	}
	before := closed.trigger()
	closed.columns += ", `rateLimit`"
	const drop = "DROP TRIGGER `_moves_inbound_webhooks_update`"
	revertible("1760000052_inbound_rate_moves.go", []string{drop, closed.trigger()}, []string{drop, before})
}
