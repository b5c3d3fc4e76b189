package routes_test

import (
	"fmt"
	"testing"

	"contactbase/internal/testkit"
)

// Limits per address count the client's address, whatever port a proxy adds to it.
func TestLimitsIgnoreTheClientsPort(t *testing.T) {
	t.Parallel()
	_, f := newStoppedAPI(t)
	settings := f.App.Settings()
	settings.TrustedProxy.Headers = []string{"X-Forwarded-For"}
	if err := f.App.Save(settings); err != nil {
		t.Fatal(err)
	}
	stranger := testkit.NewClient(t, f.base, "cmk_wrong")
	guess := func(from string) int {
		return stranger.Do("GET", contactsPath, "", "X-Forwarded-For", "192.0.2.1, "+from).Status
	}
	for port := range 30 {
		if status := guess(fmt.Sprint("203.0.113.9:", 40_000+port)); status != 401 {
			t.Fatalf("guess %d gives %d", port, status)
		}
	}
	for from, want := range map[string]int{
		"203.0.113.9:1": 429, "203.0.113.9": 429, "[::ffff:203.0.113.9]:1": 429, "203.0.113.10:1": 401, "[2001:db8::1]:443": 401,
	} {
		if status := guess(from); status != want {
			t.Errorf("a guess from %s gives %d, not %d", from, status, want)
		}
	}
}
