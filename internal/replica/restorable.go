package replica

import (
	"context"

	"github.com/benbjohnson/litestream"

	"contactbase/internal/replica/shipping"
	"contactbase/internal/replica/store"
)

// restorePosition returns the position to restore, given the lock record of the store. It is zero if nothing was ever
// replicated. If it is earlier than the last acknowledged position, or if files before the newest one are missing,
// the error is a lossError, unless the operator has accepted that loss.
//
// Only the current generation and the one that it began with are considered. A holder acknowledges nothing of its
// generation before the lock record has a position in it. So a generation without files in the store may be skipped
// only while the record has no position in it.
func (r *Replica) restorePosition(ctx context.Context, from store.Store, found lockRecord) (Position, error) {
	at, expected := Position{Generation: found.Generation}, found.acknowledged()
	has, err := shipping.NewFiles(from, at.Generation, dataFile).Extent(ctx)
	if err == nil && has.Newest == 0 && found.Position == 0 {
		at.Generation = found.From.Generation
		has, err = shipping.NewFiles(from, at.Generation, dataFile).Extent(ctx)
	}
	if err != nil {
		return Position{}, err
	}
	at.Transaction = has.Restorable
	if newest := (Position{at.Generation, has.Newest}); expected.before(newest) {
		expected = newest
	}
	if found.Generation > 0 && found.Unshipped == 0 && !at.before(expected) {
		return at, nil
	}
	if at.Transaction == 0 {
		if at, err = newestRestorable(ctx, from); err != nil {
			return Position{}, err
		}
	}
	lost := &lossError{where: theReplica, found: at, acknowledged: expected, unshipped: found.Unshipped}
	return at, lost.unlessAccepted(r.config.AcceptLoss)
}

// newestRestorable returns the last position of the newest generation that can be restored at all.
func newestRestorable(ctx context.Context, from store.Store) (Position, error) {
	all, err := generations(ctx, from)
	if err != nil {
		return Position{}, err
	}
	for _, generation := range all {
		has, err := shipping.NewFiles(from, generation, dataFile).Extent(ctx)
		if err != nil || has.Restorable > 0 {
			return Position{generation, has.Restorable}, err
		}
	}
	return Position{}, nil
}

// storedPosition returns the last position that the store has, given its lock record. It is zero if nothing was ever
// replicated. Without a lock record, it is in the newest generation. A data directory that is earlier than that is
// outdated: it is, or was replaced by, an old copy.
func (r *Replica) storedPosition(ctx context.Context, from store.Store, found lockRecord) (stored Position, err error) {
	generation := found.Generation
	stored = found.acknowledged()
	if generation == 0 {
		all, err := generations(ctx, from)
		if err != nil || len(all) == 0 {
			return Position{}, err
		}
		generation = all[0]
		stored.Generation = generation
	}
	has, err := shipping.NewFiles(from, generation, dataFile).Extent(ctx)
	if newest := (Position{generation, has.Newest}); has.Newest > 0 && stored.before(newest) {
		stored = newest
	}
	return stored, err
}

// localPosition returns the position of the databases in the data directory, or zero unless a generation of this
// store began with them. Litestream syncs its files of a transaction to the disk before it uploads them. So this is
// never earlier than their position in the store, unless the data directory is outdated.
func (r *Replica) localPosition(own identity) (Position, error) {
	if own.Generation <= 0 {
		return Position{}, nil
	}
	db := litestream.NewDB(r.path(dataFile)) // only for the files beside it
	db.SetMetaPath(r.path(dataFile))
	_, last, err := db.MaxLTX()
	return Position{own.Generation, last}, err
}
