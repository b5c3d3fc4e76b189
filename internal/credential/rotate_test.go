package credential_test

import (
	"slices"
	"testing"
	"time"

	"contactbase/internal/credential"
	"contactbase/internal/testkit"
)

// A successor may do what its predecessor may, for as long, and no other tenant's.
func TestRotateKeepsTheKey(t *testing.T) {
	t.Parallel()
	app := testkit.NewApp(t)
	now := time.Now().UTC().Truncate(time.Millisecond)
	expires := now.Add(time.Hour)
	old := testkit.Record(t, app, credential.CollectionName, map[string]any{
		"tenant": testkit.Tenant(t, app, "Acme"), "name": "website", "permissions": []string{"contacts:read"}, "expires": expires,
	})
	key, err := credential.Rotate(app, old.Id, credential.Rotation{}, now)
	if err != nil {
		t.Fatal(err)
	}
	got := key.ProxyRecord()
	never, err := credential.Rotate(app, key.ProxyRecord().Id, credential.Rotation{Expires: &time.Time{}}, now)
	if err != nil || !never.Expires().IsZero() {
		t.Errorf("a key without an expiry expires at %v (%v)", never.Expires(), err)
	}
	if got.GetString("tenant") != old.GetString("tenant") || got.GetString("name") != "website" || !key.Expires().Time().Equal(expires) ||
		!slices.Equal(got.GetStringSlice("permissions"), []string{"contacts:read"}) || credential.Minted(got) == credential.Minted(old) {
		t.Errorf("the successor is %v", got)
	}
}
