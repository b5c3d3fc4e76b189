package routes_test

import (
	"slices"
	"strconv"
	"testing"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/testkit"
)

const signInPath = "/api/collections/_superusers/auth-with-password"

// Sign-ins are limited. The client learns when to retry, and others are not affected.
func TestSigningInIsLimited(t *testing.T) {
	t.Parallel()
	client, f := newAPI(t)
	admin := newAdmin(t, f)
	limited := false
	for i := 0; !limited && i < 100; i++ { // on a slow machine, a new minute begins meanwhile
		got := client.Do("POST", signInPath, `{"identity":"root@example.com"}`) // comparing the password is slow
		if i < 10 && got.Status != 400 {
			t.Errorf("try %d gives %d %s", i+1, got.Status, got.Body)
		}
		if got.Status == 400 {
			continue
		}
		limited = true
		if seconds, err := strconv.Atoi(got.Header.Get("Retry-After")); got.Status != 429 || err != nil || seconds < 1 || !ownShape(signInPath, got) {
			t.Errorf("try %d gives %d %v %s", i+1, got.Status, got.Header, got.Body)
		}
	}
	if !limited {
		t.Error("there is no end of tries")
	}
	for range 60 {
		if got := client.Do("GET", contactsPath, ""); got.Status != 200 {
			t.Fatalf("the API gives %d %s", got.Status, got.Body)
		}
		if got := admin.Do("GET", contactRecords, ""); got.Status != 200 {
			t.Fatalf("the dashboard gets %d %s", got.Status, got.Body)
		}
		if got := client.Do("GET", "/api/health", ""); got.Status != 200 {
			t.Fatalf("the health gives %d %s", got.Status, got.Body)
		}
	}
}

// An admin's own limits stay.
func TestOwnRateLimitsStay(t *testing.T) {
	t.Parallel()
	own := []core.RateLimitRule{{Label: "/api/", MaxRequests: 7, Duration: 9}}
	for _, enabled := range []bool{true, false} {
		app := testkit.NewApp(t)
		app.Settings().RateLimits.Enabled = enabled
		app.Settings().RateLimits.Rules = own
		if err := app.Save(app.Settings()); err != nil {
			t.Fatal(err)
		}
		for _, migration := range core.AppMigrations.Items() {
			if migration.File == "1760000014_sign_in_limit.go" {
				if err := migration.Up(app); err != nil {
					t.Fatal(err)
				}
			}
		}
		if err := app.ReloadSettings(); err != nil {
			t.Fatal(err)
		}
		if limits := app.Settings().RateLimits; limits.Enabled != enabled || !slices.Equal(limits.Rules, own) {
			t.Errorf("the limits become %v", limits)
		}
	}
}
