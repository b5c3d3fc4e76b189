package migrations

// While its tenant moves, a sender's scheme does not change, like its secret.
func init() {
	closed := closedWrite{
		"inbound_webhooks", "UPDATE", "`id`, `tenant`, `name`, `access`, `tokenHash`, `prefix`, `mapping`, `verifySecret`, `disabled`", "tenant",
	}
	before := closed.trigger()
	closed.columns += ", `verifyScheme`"
	const drop = "DROP TRIGGER `_moves_inbound_webhooks_update`"
	revertible("1760000037_moves_keep_schemes.go", []string{drop, closed.trigger()}, []string{drop, before})
}
