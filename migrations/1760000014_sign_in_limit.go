package migrations

import (
	"fmt"
	"slices"

	"github.com/pocketbase/pocketbase/core"
	m "github.com/pocketbase/pocketbase/migrations"
)

// PocketBase's rate limits are off by default, so that passwords could be guessed as fast as the machine compares
// them, and anybody could have it send mail without end. This limits sign-ins, and requests that send mail, per
// client address. It changes neither an admin's own settings nor the API, which has its own limits. The name of the
// installation, by default PocketBase's example, becomes ours.
func init() {
	m.Register(func(app core.App) error {
		settings, err := app.Settings().Clone()
		if err != nil {
			return fmt.Errorf("reading the settings: %w", err)
		}
		if settings.Meta.AppName == "Acme" {
			settings.Meta.AppName = "Contactbase"
			if err := app.Save(settings); err != nil {
				return fmt.Errorf("naming the installation: %w", err)
			}
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
		limits.Rules = []core.RateLimitRule{
			{Label: "*:auth", MaxRequests: 10, Duration: 60},
			{Label: "tenant_members:create", MaxRequests: 20, Duration: 60}, // which hashes a password before it checks the rule
		}
		for _, label := range []string{
			"*:requestOTP", "*:requestPasswordReset", "*:requestVerification", "*:requestEmailChange",
		} {
			limits.Rules = append(limits.Rules, core.RateLimitRule{Label: label, MaxRequests: 5, Duration: 60})
		}
		if err := app.Save(settings); err != nil {
			return fmt.Errorf("limiting sign-ins: %w", err)
		}
		return nil
	}, nil, "1760000014_sign_in_limit.go")
}
