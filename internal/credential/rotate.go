package credential

import (
	"fmt"
	"time"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/fault"
)

// MaxOverlapHours is how long an old key can keep working beside its successor.
const MaxOverlapHours = 30 * 24

// Unrotated is the SQL condition that the key `k` was not rotated, so that somebody must act before it expires. A
// rotated key that expires later than the longest overlap was extended, and counts as not rotated.
var Unrotated = fmt.Sprintf("NOT EXISTS (SELECT 1 FROM `audit_log` l "+
	"WHERE l.`record` = k.`id` AND l.`action` = 'rotated' "+
	"AND l.`created` >= strftime('%%Y-%%m-%%d %%H:%%M:%%fZ', k.`expires`, '-%d hours'))", MaxOverlapHours)

// Rotation describes how a key is rotated.
type Rotation struct {
	// how long the old key keeps working. In hours, because too large a time.Duration would overflow to a few minutes
	OverlapHours int
	Expires      *time.Time // when the new key expires: the zero value for never, nil for when the old one does
	Unguarded    bool       // refuse a key that IsGuarded
}

// ErrGuarded means that a portal link may not grant the permissions of IsGuarded, or change or rotate a key with one.
var ErrGuarded = fault.New(fault.MissingPermission,
	"A portal link may not grant permissions that no key has by default, "+
		"such as contacts:delete, or change or rotate a key that has one. Sign in as an admin of the tenant.")

// Rotate creates a successor with the same permissions as the key with this id, which expires after the overlap
// (immediately for 0), or earlier if it would anyway. The error is sql.ErrNoRows if there is no such key, and a
// *fault.Error if it has ended or the rotation is invalid.
func Rotate(app core.App, id string, r Rotation, now time.Time) (successor *Key, err error) {
	if r.OverlapHours < 0 || r.OverlapHours > MaxOverlapHours {
		return nil, fault.InvalidField("overlapHours", fault.CodeInvalidValue,
			fmt.Sprintf("must be between 0 and %d", MaxOverlapHours))
	}
	if r.Expires != nil && !r.Expires.IsZero() && !r.Expires.After(now) {
		return nil, fault.InvalidField("expires", fault.CodeInvalidValue, "must be in the future")
	}
	err = app.RunInTransaction(func(tx core.App) error {
		record, err := tx.FindRecordById(CollectionName, id)
		if err != nil {
			return err
		}
		if r.Unguarded && IsGuarded(record) {
			return ErrGuarded
		}
		old := KeyOf(record)
		if err := old.checkActive(now); err != nil {
			return err
		}
		if successor, err = succeed(tx, old, r.Expires); err != nil {
			return fmt.Errorf("creating the new key: %w", err)
		}
		end := now.Add(time.Duration(r.OverlapHours) * time.Hour)
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

// checkActive returns an error, which says what to do, if the key has ended. A successor would be expired too, or
// restore revoked access.
func (k *Key) checkActive(now time.Time) error {
	var why string
	expires := k.Expires()
	switch {
	case !k.Revoked().IsZero():
		why = "is revoked; create a new one instead"
	case !expires.IsZero() && !now.Before(expires.Time()):
		why = "expired at " + expires.Time().UTC().Format(time.RFC3339) + "; create a new one instead"
	default:
		return nil
	}
	return fault.New(fault.KeyNotActive, "The key was not rotated because it is not active: "+k.Prefix()+"… "+why+".")
}

// succeed creates a key with old's permissions, and its expiry unless another is given.
func succeed(app core.App, old *Key, expires *time.Time) (*Key, error) {
	successor := KeyOf(core.NewRecord(old.Collection()))
	for _, field := range []string{"tenant", "name", "permissions", "expires"} {
		successor.Set(field, old.Get(field))
	}
	if expires != nil {
		successor.SetExpires(*expires)
	}
	successor.SetRaw(RotatedMark, true)
	return successor, app.Save(successor)
}
