package search

import (
	"context"

	"github.com/pocketbase/pocketbase/core"
)

// Index runs an indexer once.
func Index(ctx context.Context, app core.App) { newIndexer(app, nil).run(ctx) }
