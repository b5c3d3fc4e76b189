package search

import (
	"context"
	"math"

	"github.com/pocketbase/pocketbase/core"
)

// Index runs an indexer once.
func Index(ctx context.Context, app core.App) { newIndexer(app, nil).run(ctx) }

// IndexWithoutMerging runs an indexer once, which merges no segments.
func IndexWithoutMerging(ctx context.Context, app core.App) {
	x := newIndexer(app, nil)
	x.unmerged = math.MinInt
	x.run(ctx)
}
