package testkit

import (
	"maps"
	"testing"

	"github.com/pocketbase/dbx"
	"github.com/pocketbase/pocketbase/core"
)

// Crowd adds n contacts and their search rows to a tenant by SQL, the oldest first, which takes a hundredth of the
// time of requests. columns has SQL expressions for columns of the contact with the number i, from 1 on; by default
// each contact has its own name, email address and phone number, and neither a company nor an external id. A second
// crowd of an app needs other ids.
func Crowd(tb testing.TB, app core.App, tenantID string, n int, columns map[string]string) {
	tb.Helper()
	of := map[string]string{
		"id": "printf('c%014d', i)", "name": "'Person ' || i",
		"email": "'p' || i || '@example.com'", "phone": "'+49' || (3000000000 + i)",
		"company": "''", "externalId": "''",
	}
	maps.Copy(of, columns)
	err := app.RunInTransaction(func(tx core.App) error {
		// an index that is built afterwards takes a tenth of the time
		var indexes []struct{ Name, SQL string }
		err := tx.DB().NewQuery("SELECT name, sql FROM sqlite_schema " +
			"WHERE type = 'index' AND sql IS NOT NULL AND tbl_name IN ('contacts', '_contactSearch')").
			All(&indexes)
		if err != nil {
			return err
		}
		statements := []string{
			"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {:n}) " +
				"INSERT INTO contacts (id, tenant, name, email, phone, company, externalId, created, updated) " +
				"SELECT " + of["id"] + ", {:tenant}, " + of["name"] + ", " + of["email"] +
				", " + of["phone"] + ", " + of["company"] + ", " + of["externalId"] +
				", strftime('%Y-%m-%d %H:%M:%fZ', 1767225600 + i, 'unixepoch'), " +
				"strftime('%Y-%m-%d %H:%M:%fZ', 1767225600 + i, 'unixepoch') FROM n",
			"INSERT INTO _contactSearch (contact, tenant, email, text, name) " +
				"SELECT id, tenant, lower(email), lower(name), lower(name) || char(1) || name FROM contacts " +
				"WHERE tenant = {:tenant} AND id NOT IN (SELECT contact FROM _contactSearch) ORDER BY created",
		}
		for i, index := range indexes {
			statements = append([]string{"DROP INDEX `" + indexes[i].Name + "`"}, append(statements, index.SQL)...)
		}
		for _, statement := range statements {
			if _, err := tx.DB().NewQuery(statement).Bind(dbx.Params{"n": n, "tenant": tenantID}).Execute(); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		tb.Fatalf("adding %d contacts: %v", n, err)
	}
}
