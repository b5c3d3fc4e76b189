package replica

import (
	"context"
	"errors"
	"fmt"
)

// refusal is the error of a data directory that must not be served with this replica.
type refusal struct{ error }

func (e refusal) Unwrap() error { return e.error }

func isRefusal(err error) bool {
	_, refused := errors.AsType[refusal](err)
	return refused
}

// Check returns an error if the data directory must not be served, because the replica has acknowledged writes
// that it lacks. It changes nothing. Start finds out later if the store is unreachable. With a lease,
// RunStandby checks more.
func (r *Replica) Check(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, r.config.Timeout)
	defer cancel()
	if _, err := r.findClaim(ctx); isRefusal(err) {
		return err
	}
	return nil
}

// claim has the records of the store about the data directory, and of the data directory about the store.
type claim struct {
	own     identity
	found   lockRecord
	tag     string   // of found
	stored  Position // the last position that the store has; zero for none
	current bool     // whether the data directory wrote the generation that the store has, and has all of it
}

// findClaim returns the claim of a machine without a lease. The error is a refusal unless the store has nothing, the
// data directory has everything that was acknowledged, or the operator has accepted the loss of the rest.
func (r *Replica) findClaim(ctx context.Context) (c claim, err error) {
	if c.found, c.tag, err = r.readLock(ctx); err != nil {
		return c, err
	}
	if c.own, err = r.readIdentity(c.found.Folder); err != nil {
		return c, err
	}
	if c.found.TTL > 0 && !c.found.Released && c.found.Folder != c.own.Folder {
		return c, refusal{fmt.Errorf("the replica belongs to %s, which serves with --lease: "+
			"serve with --lease here, too, or replicate to another location", c.found.Owner)}
	}
	c.stored, err = r.storedPosition(ctx, r.store, c.found)
	if err != nil || c.stored == (Position{}) {
		c.current = c.own.wrote(c.found, c.stored)
		return c, err
	}
	lost, err := r.findLoss(c)
	if err != nil {
		return c, err
	}
	if !lost.found.before(c.stored) && lost.unshipped == 0 {
		c.current = c.own.wrote(c.found, c.stored)
		return c, nil
	}
	if c.own.isRestoredFrom(c.found) && lost.unlessAccepted(c.own.Restored) == nil {
		return c, nil
	}
	if err := lost.unlessAccepted(r.config.AcceptLoss); err != nil {
		return c, refusal{err}
	}
	return c, nil
}

// findLoss returns what the data directory lacks of a store that is not empty.
func (r *Replica) findLoss(c claim) (lost *lossError, err error) {
	lost = newLoss(c.found, c.stored)
	lost.where, lost.found = otherData, Position{1, 0} // before everything
	switch {
	case c.own.wrote(c.found, c.stored):
		lost.where, lost.unshipped = theDataDirectory, 0 // it has commits that it did not upload
		lost.found, err = r.localPosition(c.own)
	case c.own.isRestoredFrom(c.found):
		lost.where, lost.found = theDataDirectory, c.own.Restored.From
	case c.own.Generation > 0 && c.own.Generation < c.found.Generation:
		lost.where = fmt.Sprintf("another machine, %s, has replaced this one, whose data is outdated: %s",
			c.found.Owner, theDataDirectory)
		lost.found, err = r.localPosition(c.own)
	}
	return lost, err
}
