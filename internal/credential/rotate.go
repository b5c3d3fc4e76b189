package credential

import (
	"fmt"
	"time"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/fault"
)

// MaxOverlapHours is how long an old key may go on working beside its successor.
const MaxOverlapHours = 30 * 24

// Rotate creates a key with the rights of the one with the id, which expires after the overlap (at once for 0). A key
// that expires sooner anyway keeps its date. The overlap is in hours, because more of them than fit into a time.Duration
// would come out as a few minutes. The error is sql.ErrNoRows where there is no such key, and a *fault.Error where it has
// ended.
func Rotate(app core.App, id string, overlapHours int, now time.Time) (successor *Key, err error) {
	if overlapHours < 0 || overlapHours > MaxOverlapHours {
		return nil, fmt.Errorf("the overlap must be between 0 and %d hours", MaxOverlapHours)
	}
	err = app.RunInTransaction(func(tx core.App) error {
		record, err := tx.FindRecordById(CollectionName, id)
		if err != nil {
			return err
		}
		old := KeyOf(record)
		if err := old.checkActive(now); err != nil {
			return err
		}
		if successor, err = succeed(tx, old); err != nil {
			return fmt.Errorf("creating the new key: %w", err)
		}
		end := now.Add(time.Duration(overlapHours) * time.Hour)
		if expires := old.Expires(); expires.IsZero() || end.Before(expires.Time()) {
			old.SetExpires(end)
		}
		if err := tx.Save(old); err != nil {
			return fmt.Errorf("ending the old key: %w", err)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return successor, nil
}

// checkActive returns an error, which says what to do, where the key has ended: a successor with its rights and its end
// would open nothing, or give back what was taken away.
func (k *Key) checkActive(now time.Time) error {
	var why string
	expires := k.Expires()
	switch {
	case !k.Revoked().IsZero():
		why = "is revoked; create a new one instead"
	case !expires.IsZero() && !now.Before(expires.Time()):
		why = "expired at " + expires.Time().UTC().Format(time.RFC3339) + "; create a new one instead, or give it a later end first"
	default:
		return nil
	}
	return fault.New(fault.KeyNotActive, "No key was made: the key is not active: "+k.Prefix()+"… "+why+".")
}

// succeed creates a key with the rights and the end of old.
func succeed(app core.App, old *Key) (*Key, error) {
	successor, err := NewKey(app)
	if err != nil {
		return nil, err
	}
	successor.SetTenant(old.Tenant())
	successor.SetName(old.Name())
	successor.SetPermissions(old.Permissions())
	if expires := old.Expires(); !expires.IsZero() {
		successor.SetExpires(expires.Time())
	}
	return successor, app.Save(successor)
}
