package credential

import (
	"fmt"
	"time"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/fault"
)

// MaxOverlapHours is how long an old key can keep working beside its successor.
const MaxOverlapHours = 30 * 24

// Rotate creates a successor with the same permissions as the key with this id, which expires after the overlap (immediately for 0),
// or earlier if it would anyway. The overlap is in hours, because too large a time.Duration would overflow to a few minutes. The
// error is sql.ErrNoRows if there is no such key, and a *fault.Error if it has ended.
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
		old.SetRaw(RotatedMark, true)
		if err := tx.Save(old); err != nil {
			return fmt.Errorf("expiring the old key: %w", err)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return successor, nil
}

// checkActive returns an error, which says what to do, if the key has ended. A successor would be expired too, or restore revoked
// access.
func (k *Key) checkActive(now time.Time) error {
	var why string
	expires := k.Expires()
	switch {
	case !k.Revoked().IsZero():
		why = "is revoked; create a new one instead"
	case !expires.IsZero() && !now.Before(expires.Time()):
		why = "expired at " + expires.Time().UTC().Format(time.RFC3339) + "; create a new one instead, or extend this one first"
	default:
		return nil
	}
	return fault.New(fault.KeyNotActive, "The key was not rotated because it is not active: "+k.Prefix()+"… "+why+".")
}

// succeed creates a key with old's permissions and expiry.
func succeed(app core.App, old *Key) (*Key, error) {
	successor := KeyOf(core.NewRecord(old.Collection()))
	for _, field := range []string{"tenant", "name", "permissions", "expires"} {
		successor.Set(field, old.Get(field))
	}
	return successor, app.Save(successor)
}
