package replica

import (
	"context"
	"sync/atomic"
)

// told is which events others may be told of: those that the store has.
type told struct {
	newest func() (string, error) // asks the database for the id of the newest event, nil for nobody
	moved  func()                 // called when the store has another one
	last   atomic.Pointer[string] // nil before the first upload
}

// FollowEvents has newest return the id of the newest event before each upload, and moved called when the store has another one. It is
// for Sync, and comes before Start.
func (r *Replica) FollowEvents(newest func() (string, error), moved func()) {
	r.told.newest, r.told.moved = newest, moved
}

// lookAtEvents returns what notes, once an upload that is about to begin has succeeded, that the store has the events of now.
func (r *Replica) lookAtEvents() (shipped func()) {
	if r.told.newest == nil {
		return func() {}
	}
	id, err := r.told.newest()
	return func() {
		if err != nil || r.mayCommit() != nil { // what came late may be there after the successor has read
			return
		}
		if before := r.told.last.Swap(&id); before == nil || *before != id {
			r.told.moved()
		}
	}
}

// NewestEvent returns the id of the newest event that others may be told of, nil where they may be told of all. It waits for the first
// upload. The error is ErrUnreplicated or ErrFenced.
func (r *Replica) NewestEvent(ctx context.Context) (*string, error) {
	if !r.IsSync() {
		return nil, r.mayCommit()
	}
	if r.told.last.Load() == nil {
		if err := r.Acknowledge(ctx); err != nil {
			return nil, err
		}
	}
	newest := r.NewestShipped()
	if newest == nil {
		return nil, ErrUnreplicated
	}
	return newest, r.mayCommit()
}

// NewestShipped returns the id of the newest event that the store had after the last upload, nil before the first one. It waits for
// nothing: where there is more to send, that begins soon.
func (r *Replica) NewestShipped() *string {
	newest := r.told.last.Load()
	if newest != nil {
		r.runner.ships[0].hurry()
	}
	return newest
}
