package migrations

import (
	"fmt"
	"slices"

	"github.com/pocketbase/pocketbase/core"
	m "github.com/pocketbase/pocketbase/migrations"
)

// PocketBase comes with its rate limits switched off: passwords of superusers could be guessed as fast as the machine
// compares them. This limits signing in, per client address, to more than people need. It leaves alone what an admin
// has set, and the API, which has limits of its own.
func init() {
	m.Register(func(app core.App) error {
		settings, err := app.Settings().Clone()
		if err != nil {
			return fmt.Errorf("reading the settings: %w", err)
		}
		untouched := []core.RateLimitRule{
			{Label: "*:auth", MaxRequests: 2, Duration: 3},
			{Label: "*:create", MaxRequests: 20, Duration: 5},
			{Label: "/api/batch", MaxRequests: 3, Duration: 1},
			{Label: "/api/", MaxRequests: 300, Duration: 10},
		}
		limits := &settings.RateLimits
		if limits.Enabled || len(limits.Rules) > 0 && !slices.Equal(limits.Rules, untouched) {
			return nil
		}
		limits.Enabled = true
		limits.Rules = []core.RateLimitRule{{Label: "*:auth", MaxRequests: 10, Duration: 60}}
		if err := app.Save(settings); err != nil {
			return fmt.Errorf("limiting how often one may sign in: %w", err)
		}
		return nil
	}, nil, "1760000014_sign_in_limit.go")
}
