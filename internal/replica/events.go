package replica

import (
	"context"
	"sync/atomic"
)

// replicatedEvents tracks the newest event that the store has. In Sync mode, clients and receivers see
// events up to that one.
type replicatedEvents struct {
	query    func() (string, error) // reads the ID of the newest event from the database; nil if nobody needs it
	advanced func()                 // called when the store has a newer event
	newest   atomic.Pointer[string] // nil before the first upload
}

// TrackEvents makes the replica call query for the ID of the newest event before each upload, and advanced when the
// store has a newer one. It is for Sync mode, and must be called before Start.
func (r *Replica) TrackEvents(query func() (string, error), advanced func()) {
	r.events.query, r.events.advanced = query, advanced
}

// captureNewestEvent reads the newest event before an upload. The caller calls replicated once that
// upload has succeeded.
func (r *Replica) captureNewestEvent() (replicated func()) {
	if r.events.query == nil {
		return func() {}
	}
	id, err := r.events.query()
	return func() {
		if err != nil || r.Holds() != nil { // a late upload may have arrived after the successor read the store
			return
		}
		if previous := r.events.newest.Swap(&id); previous == nil || *previous != id {
			r.events.advanced()
		}
	}
}

// NewestVisibleEvent returns the ID of the newest event that clients may see, or nil if they may see all. It waits
// for the first upload. The error is ErrUnreplicated or ErrFenced.
func (r *Replica) NewestVisibleEvent(ctx context.Context) (*string, error) {
	if !r.IsSync() {
		return nil, r.Holds()
	}
	if r.events.newest.Load() == nil {
		if err := r.Acknowledge(ctx); err != nil {
			return nil, err
		}
	}
	newest := r.NewestReplicatedEvent()
	if newest == nil {
		return nil, ErrUnreplicated
	}
	return newest, r.Holds()
}

// NewestReplicatedEvent returns the ID of the newest event that the store had after the last upload, or nil before
// the first one. It does not wait, but triggers an upload if there is something to send.
func (r *Replica) NewestReplicatedEvent() *string {
	newest := r.events.newest.Load()
	if newest != nil {
		data := r.replication.uploaders[0]
		if _, commits := data.Lag(); commits > 0 {
			data.Trigger()
		}
	}
	return newest
}
