package search_test

import (
	"fmt"
	"testing"

	"contactbase/internal/contact"
	"contactbase/internal/contact/search"
	"contactbase/internal/testkit"
)

// Each step of indexing leaves a segment of the index, all of which a search asks. The indexer merges them.
func TestIndexerMergesSegments(t *testing.T) {
	t.Parallel()
	app := testkit.NewApp(t)
	tenant := testkit.Tenant(t, app, "Tenant")
	const steps = 40
	for i := range steps {
		if _, err := testkit.Create(app, tenant, contact.Changes{"name": fmt.Sprintf("Anna%d", i), "email": fmt.Sprintf("a%d@example.com", i)}); err != nil {
			t.Fatal(err)
		}
		if _, err := search.IndexPending(app, 1); err != nil {
			t.Fatal(err)
		}
	}
	segments := func() (count int) {
		if err := app.DB().NewQuery("SELECT count(DISTINCT segid) FROM _contactGrams_idx").Row(&count); err != nil {
			t.Fatal(err)
		}
		return count
	}
	if before := segments(); before < steps {
		t.Fatalf("%d steps left %d segments, of which there is nothing to merge", steps, before)
	}
	indexer := search.NewIndexer(app, nil)
	indexer.Start()
	defer indexer.Stop()
	testkit.Eventually(t, "merging the segments", func() bool { return segments() < steps/4 })
}

// A run ends when nothing is left, though the first step takes a few rows only.
func TestIndexerGoesOnToTheEnd(t *testing.T) {
	t.Parallel()
	app := testkit.NewApp(t)
	tenant := testkit.Tenant(t, app, "Tenant")
	for i := range 120 { // more than two steps
		if _, err := testkit.Create(app, tenant, contact.Changes{"name": fmt.Sprintf("Anna%d", i)}); err != nil {
			t.Fatal(err)
		}
	}
	search.Index(t.Context(), app)
	if left := testkit.Count(t, app, "SELECT count(*) FROM _contactSearch WHERE seq > (SELECT upTo FROM _contactIndexed)", nil); left != 0 {
		t.Errorf("%d rows are left", left)
	}
}
