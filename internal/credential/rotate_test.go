package credential_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"contactbase/internal/credential"
	"contactbase/internal/fault"
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
		!slices.Equal(got.GetStringSlice("permissions"), []string{"contacts:read"}) || credential.Minted(got) == credential.Minted(old) ||
		key.Prefix() != credential.Minted(got)[:12] {
		t.Errorf("the successor is %v", got)
	}
}

// The old key works for the overlap, but never longer than it would anyway.
func TestRotateEndsTheOldKey(t *testing.T) {
	t.Parallel()
	app := testkit.NewApp(t)
	tenant := testkit.Tenant(t, app, "Acme")
	now := time.Now().UTC().Truncate(time.Millisecond)
	never, soon, late := time.Time{}, now.Add(time.Hour), now.Add(1_000*time.Hour)
	for _, tt := range []struct {
		expires time.Time
		overlap int
		want    time.Time
	}{
		{never, 0, now}, {never, 720, now.Add(720 * time.Hour)}, {soon, 0, now}, {soon, 24, soon}, {late, 24, now.Add(24 * time.Hour)},
	} {
		old := testkit.Record(t, app, credential.CollectionName, map[string]any{"tenant": tenant, "name": "website", "expires": tt.expires})
		if _, err := credential.Rotate(app, old.Id, credential.Rotation{OverlapHours: tt.overlap}, now); err != nil {
			t.Fatal(err)
		}
		stored, err := app.FindRecordById(credential.CollectionName, old.Id)
		if err != nil {
			t.Fatal(err)
		}
		if got := credential.KeyOf(stored).Expires().Time(); !got.Equal(tt.want) {
			t.Errorf("rotated for %d hours, a key that expires at %v expires at %v, want %v", tt.overlap, tt.expires, got, tt.want)
		}
	}
}

// An invalid rotation, and one of a key that has ended, creates no key.
func TestRotateRefuses(t *testing.T) {
	t.Parallel()
	app := testkit.NewApp(t)
	tenant := testkit.Tenant(t, app, "Acme")
	now := time.Now().UTC().Truncate(time.Millisecond)
	active := map[string]any{"tenant": tenant, "name": "website"}
	for name, tt := range map[string]struct {
		key      map[string]any
		rotation credential.Rotation
		want     fault.Code
		says     string
	}{
		"a negative overlap":     {active, credential.Rotation{OverlapHours: -1}, fault.ValidationFailed, "must be between 0 and 720"},
		"more than 30 days":      {active, credential.Rotation{OverlapHours: 721}, fault.ValidationFailed, "must be between 0 and 720"},
		"an expiry that is over": {active, credential.Rotation{Expires: &now}, fault.ValidationFailed, "must be in the future"},
		"a key that has expired": {map[string]any{"tenant": tenant, "name": "website", "expires": now}, credential.Rotation{}, fault.KeyNotActive, "expired at 20"},
		"a revoked key":          {map[string]any{"tenant": tenant, "name": "website", "revoked": now}, credential.Rotation{}, fault.KeyNotActive, "is revoked; create a new one"},
	} {
		before := testkit.Record(t, app, credential.CollectionName, tt.key)
		count := testkit.Count(t, app, "SELECT count(*) FROM api_keys", nil)
		var refused *fault.Error
		if _, err := credential.Rotate(app, before.Id, tt.rotation, now); !errors.As(err, &refused) || refused.Code != tt.want || !strings.Contains(refused.Message, tt.says) {
			t.Errorf("%s gives %v", name, err)
		}
		if left := testkit.Count(t, app, "SELECT count(*) FROM api_keys", nil); left != count {
			t.Errorf("after %s there are %d keys, want %d", name, left, count)
		}
	}
}
