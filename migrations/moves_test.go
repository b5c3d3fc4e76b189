package migrations_test

import (
	"strings"
	"testing"
)

// A moving tenant accepts only the writes of its import, and those that must go on.
func TestMovesCloseTenants(t *testing.T) {
	t.Parallel()
	app := newFolder(t)
	execute(t, app, "INSERT INTO tenants (id, name, created, updated) VALUES ('t', 'Acme', '', ''), ('o', 'Other', '', '')")
	rows := map[string]string{
		"api_keys":         "INSERT INTO api_keys (id, tenant, hash) VALUES (%s)",
		"webhooks":         "INSERT INTO webhooks (id, tenant, url) VALUES (%s)",
		"inbound_webhooks": "INSERT INTO inbound_webhooks (id, tenant, tokenHash) VALUES (%s)",
		"tenant_members":   "INSERT INTO tenant_members (id, tenant, tokenKey) VALUES (%s)",
	}
	row := func(table, values string) string { return strings.Replace(rows[table], "%s", values, 1) }
	for table := range rows {
		execute(t, app, row(table, "'t1', 't', '1'"))
	}
	execute(t, app, "INSERT INTO _moves (tenant, state, created) VALUES ('t', 'frozen', '')")
	refused := func(statement string) {
		t.Helper()
		if _, err := app.DB().NewQuery(statement).Execute(); err == nil || !strings.Contains(err.Error(), "tenant_moving") {
			t.Errorf("%s: %v", statement, err)
		}
	}
	for table := range rows {
		refused(row(table, "'t2', 't', '2'"))
		refused("DELETE FROM " + table + " WHERE id = 't1'")
		execute(t, app, row(table, "'o1', 'o', '3'"))
		execute(t, app, "DELETE FROM "+table+" WHERE id = 'o1'")
	}
	for _, statement := range []string{
		"UPDATE tenants SET name = 'x' WHERE id = 't'", "UPDATE api_keys SET revoked = 'x' WHERE id = 't1'",
		"UPDATE webhooks SET url = 'x' WHERE id = 't1'", "UPDATE tenant_members SET role = 'x' WHERE id = 't1'", "UPDATE inbound_webhooks SET disabled = 1 WHERE id = 't1'", "UPDATE inbound_webhooks SET verifyScheme = 'tally' WHERE id = 't1'", "UPDATE inbound_webhooks SET rateLimit = 1 WHERE id = 't1'", "UPDATE inbound_webhooks SET verifyHeader = 'X' WHERE id = 't1'",
		"INSERT INTO inbound_requests (id, tenant) VALUES ('r', 't')",
		"INSERT INTO _imports (id, tenant, name, status, columns, mapping, created, updated) VALUES ('i', 't', '', 'storing', '[]', '[]', '', '')",
	} {
		refused(statement)
	}
	for _, statement := range []string{
		"UPDATE api_keys SET lastUsed = 'x' WHERE id = 't1'", "UPDATE webhooks SET disabled = 1, disabledReason = 'x', updated = 'x' WHERE id = 't1'",
		"UPDATE tenants SET name = 'x' WHERE id = 'o'", "UPDATE _moves SET open = 1", "UPDATE webhooks SET url = 'y' WHERE tenant = 't'", "UPDATE _moves SET open = 0",
		"DELETE FROM tenants WHERE id = 't'", "DELETE FROM webhooks WHERE tenant = 't'",
	} {
		execute(t, app, statement)
	}
}
