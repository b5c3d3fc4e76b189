package replica

import (
	"context"
	"errors"
	"path"
	"sync"

	"github.com/benbjohnson/litestream"
	"github.com/superfly/ltx"

	"contactbase/internal/replica/store"
)

// extent is what the store has of a database in a generation.
type extent struct {
	restorable ltx.TXID // the last transaction that can be restored; 0 for none
	newest     ltx.TXID // the last transaction of any file; later than restorable if files are missing
}

// extent lists all levels at once, and returns what the store has of the database.
func (c *client) extent(ctx context.Context) (found extent, err error) {
	var files []*ltx.FileInfo
	var mu sync.Mutex
	var listing sync.WaitGroup
	for level := 0; level <= litestream.SnapshotLevel; level++ {
		listing.Go(func() {
			some, listErr := c.files(ctx, level)
			mu.Lock()
			defer mu.Unlock()
			files, err = append(files, some...), errors.Join(err, listErr)
		})
	}
	listing.Wait()
	if err != nil {
		return extent{}, err
	}
	for grown := true; grown; {
		grown = false
		for _, file := range files {
			found.newest = max(found.newest, file.MaxTXID)
			if file.MinTXID <= found.restorable+1 && file.MaxTXID > found.restorable {
				found.restorable, grown = file.MaxTXID, true
			}
		}
	}
	return found, nil
}

// files returns the files of a level that the store has.
func (c *client) files(ctx context.Context, level int) (files []*ltx.FileInfo, err error) {
	objects, err := c.store.List(ctx, litestream.LTXLevelDir(c.folder, level))
	for _, object := range objects {
		first, last, parseErr := ltx.ParseFilename(path.Base(object.Name))
		if parseErr != nil {
			continue
		}
		files = append(files, &ltx.FileInfo{Level: level, MinTXID: first, MaxTXID: last, Size: object.Size, CreatedAt: object.Modified.UTC()})
	}
	return files, err
}

// restorePosition returns the position to restore, given the lock record of the store. It is zero if nothing was ever replicated. If it is
// earlier than what was acknowledged, or if files before the newest one are missing, the error is a lossError, unless the operator has
// accepted that loss.
//
// Only the current generation and the one that it began with are considered. A holder acknowledges nothing of its generation before the
// lock record has a position in it. So a generation of which the store has nothing may be skipped only while the record has none.
func (r *Replica) restorePosition(ctx context.Context, from store.Store, found lockRecord) (Position, error) {
	at, expected := Position{Generation: found.Generation}, found.acknowledged()
	has, err := newClient(from, at.Generation, dataFile).extent(ctx)
	if err == nil && has.newest == 0 && found.Position == 0 {
		at.Generation = found.From.Generation
		has, err = newClient(from, at.Generation, dataFile).extent(ctx)
	}
	if err != nil {
		return Position{}, err
	}
	at.Transaction = has.restorable
	if newest := (Position{at.Generation, has.newest}); expected.before(newest) {
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
		has, err := newClient(from, generation, dataFile).extent(ctx)
		if err != nil || has.restorable > 0 {
			return Position{generation, has.restorable}, err
		}
	}
	return Position{}, nil
}

// dataDirPosition returns the position of the data directory, and the least position that the store has of it, given the lock record of
// the store. A data directory that is earlier than that is outdated: it was replaced by an old copy.
func (r *Replica) dataDirPosition(ctx context.Context, from store.Store, own identity, found lockRecord) (local, stored Position, err error) {
	if local, err = r.localPosition(own); err != nil {
		return local, stored, err
	}
	stored = found.acknowledged()
	has, err := newClient(from, found.Generation, dataFile).extent(ctx)
	if newest := (Position{found.Generation, has.newest}); has.newest > 0 && stored.before(newest) {
		stored = newest
	}
	return local, stored, err
}

// localPosition returns the position of the databases in the data directory, or zero unless a generation of this store began with them.
// Litestream syncs its files of a transaction to the disk before it uploads them. So this is never earlier than what the store has of
// them, unless the data directory is outdated.
func (r *Replica) localPosition(own identity) (Position, error) {
	if own.Generation <= 0 {
		return Position{}, nil
	}
	db := litestream.NewDB(r.path(dataFile)) // only for the files beside it
	db.SetMetaPath(r.path(dataFile))
	_, last, err := db.MaxLTX()
	return Position{own.Generation, last}, err
}
