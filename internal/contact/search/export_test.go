package search

import "context"

// Run is run.
func (x *Indexer) Run(ctx context.Context) { x.run(ctx) }
