package credential

import (
	"fmt"
	"time"

	"github.com/pocketbase/pocketbase/core"
)

// MaxOverlap is how long an old key may go on working beside its successor.
const MaxOverlap = 30 * 24 * time.Hour

// Rotate creates a key with the rights of old, which expires after the overlap (at once for 0). A key that expires
// sooner anyway keeps its date.
func Rotate(app core.App, old *Key, overlap time.Duration, now time.Time) (*Key, error) {
	if overlap < 0 || overlap > MaxOverlap {
		return nil, fmt.Errorf("the overlap must be between 0 and %d hours", int(MaxOverlap.Hours()))
	}
	if !old.Revoked().IsZero() {
		return nil, fmt.Errorf("the key %s is revoked: create a new one instead", old.Prefix())
	}
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
	end := now.Add(overlap)
	err = app.RunInTransaction(func(tx core.App) error {
		if err := tx.Save(successor); err != nil {
			return fmt.Errorf("creating the new key: %w", err)
		}
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
