package store_test

import (
	"context"
	"strings"
	"testing"

	"github.com/pocketbase/dbx"

	"contactbase/internal/delivery/store"
	"contactbase/internal/testkit"
)

// TestQueueNeverScans looks at the query plans: whatever runs for each claim or result must find its rows by an index,
// so that it costs the same with ten deliveries and with ten million.
func TestQueueNeverScans(t *testing.T) {
	t.Parallel()
	app := testkit.NewApp(t)
	db := app.NonconcurrentDB().(*dbx.DB).DB()
	tables := []string{"deliveries", "events", "delivery_attempts", "webhooks", "tenants", "contacts", "d", "e", "p", "b", "be", "qe", "n", "ae", "me", "w", "t", "c", "a"}
	for query, args := range store.QueuePlans() {
		rows, err := db.QueryContext(context.Background(), "EXPLAIN QUERY PLAN "+query, args...)
		if err != nil {
			t.Fatalf("%v:\n%s", err, query)
		}
		for rows.Next() {
			var id, parent, unused int
			var step string
			if err := rows.Scan(&id, &parent, &unused, &step); err != nil {
				t.Fatal(err)
			}
			words := strings.Fields(step)
			if step == "SCAN deliveries USING COVERING INDEX idx_deliveries_due" && strings.Contains(query, "ORDER BY webhook LIMIT 1") {
				continue // the first entry of the index, where the hops over the webhooks begin
			}
			if words[0] != "SCAN" || step == "SCAN b" && strings.Contains(query, "FROM backlog b") {
				continue
			}
			for _, table := range tables {
				if words[1] == table {
					t.Errorf("%s in the plan of:\n%s", step, query)
				}
			}
		}
		if err := rows.Err(); err != nil {
			t.Fatal(err)
		}
		_ = rows.Close()
	}
}
