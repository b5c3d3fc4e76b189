package replica

import (
	"context"
	"os"
	"slices"
	"strconv"

	"contactbase/internal/replica/store"
)

// keptGenerations is how many older generations stay in the store.
const keptGenerations = 2

// claim begins a generation for a machine without a lease, or continues the one that it wrote before.
func (r *Replica) claim(ctx context.Context) error {
	c, err := r.findClaim(ctx)
	if err != nil {
		return err
	}
	own, found := c.own, c.found
	if c.current && found.Generation == own.Generation && found.TTL == 0 && own.Store == r.config.URL {
		r.written.set(own)
		return nil
	}
	next, err := r.nextGeneration(ctx, own, found)
	if err != nil {
		return err
	}
	record := lockRecord{Generation: next, From: c.stored, Owner: r.host, Folder: own.Folder}
	if c.current {
		record.Unshipped = found.Unshipped // until the first upload
	}
	if _, err := r.writeLock(ctx, record, c.tag); err != nil {
		return err
	}
	return r.beginGeneration(own, next)
}

// nextGeneration returns the number of a generation that the store has nothing of.
func (r *Replica) nextGeneration(ctx context.Context, own identity, found lockRecord) (int64, error) {
	newest := max(found.Generation, own.Generation)
	if found.Generation == 0 { // lock.json may have been lost
		all, err := generations(ctx, r.store)
		if err != nil {
			return 0, err
		}
		newest = max(newest, slices.Max(append(all, 0)))
	}
	return newest + 1, nil
}

// beginGeneration begins a generation of this process with the databases in the data directory. The store
// has nothing of it.
func (r *Replica) beginGeneration(own identity, generation int64) error {
	for _, file := range []string{dataFile, auxiliaryFile} {
		if err := os.RemoveAll(r.path(file)); err != nil {
			return err
		}
	}
	own = identity{Folder: own.Folder, Store: r.config.URL, Generation: generation}
	if err := r.save(identityName, own); err != nil {
		return err
	}
	r.written.set(own)
	return nil
}

// generations lists the generations that a store has something of, the newest first.
func generations(ctx context.Context, from store.Store) ([]int64, error) {
	names, err := from.Folders(ctx, "")
	if err != nil {
		return nil, err
	}
	var all []int64
	for _, name := range names {
		if generation, err := strconv.ParseInt(name, 10, 64); err == nil && generation > 0 {
			all = append(all, generation)
		}
	}
	slices.Sort(all)
	slices.Reverse(all)
	return all, nil
}

// prune deletes generations that are no longer restored: those before the current one, except for the newest
// keptGenerations. The caller has uploaded the current one.
func (r *Replica) prune(ctx context.Context) error {
	all, err := generations(ctx, r.store)
	if err != nil {
		return err
	}
	older := slices.DeleteFunc(all, func(generation int64) bool { return generation >= r.written.generation.Load() })
	for _, generation := range older[min(keptGenerations, len(older)):] {
		if err := r.store.DeleteFolder(ctx, strconv.FormatInt(generation, 10)); err != nil {
			return err
		}
	}
	return nil
}
