package search_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/pocketbase/pocketbase/core"

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
	if before := segments(t, app); before < steps {
		t.Fatalf("%d steps left %d segments, of which there is nothing to merge", steps, before)
	}
	indexer := search.NewIndexer(app, nil)
	indexer.Start()
	defer indexer.Stop()
	testkit.Eventually(t, "merging the segments", func() bool { return segments(t, app) < steps/4 })
}

func segments(t *testing.T, app core.App) (count int) {
	t.Helper()
	if err := app.DB().NewQuery("SELECT count(DISTINCT segid) FROM _contactGrams_idx").Row(&count); err != nil {
		t.Fatal(err)
	}
	return count
}

// A step leaves one segment, whatever the number of its rows: what is in many segments is merged again and again.
func TestStepsLeaveOneSegment(t *testing.T) {
	t.Parallel()
	app := testkit.NewApp(t)
	tenant := testkit.Tenant(t, app, "Tenant")
	const firstStep = 50
	for i := range firstStep {
		if _, err := testkit.Create(app, tenant, contact.Changes{"name": fmt.Sprintf("Anna%d", i)}); err != nil {
			t.Fatal(err)
		}
	}
	search.IndexWithoutMerging(t.Context(), app)
	if found := segments(t, app); found != 1 {
		t.Errorf("a step of %d rows leaves %d segments", firstStep, found)
	}
}

// A step has few rows if their texts are long.
func TestStepsAreBoundedByText(t *testing.T) {
	t.Parallel()
	app := testkit.NewApp(t)
	tenant := testkit.Tenant(t, app, "Tenant")
	for i := range 10 {
		changes := contact.Changes{"name": fmt.Sprintf("Anna%d", i), "company": strings.Repeat("long ", 50)}
		if _, err := testkit.Create(app, tenant, changes); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := search.IndexPending(app, 10); err != nil {
		t.Fatal(err)
	}
	left := testkit.Count(t, app, "SELECT count(*) FROM _contactSearch WHERE seq > (SELECT upTo FROM _contactIndexed)", nil)
	if left != 5 {
		t.Errorf("after a step of 10 ordinary rows, %d of 10 rows of 300 bytes are left", left)
	}
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
