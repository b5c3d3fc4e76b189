package extension

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/pocketbase/pocketbase/core"
)

// Longest is how long the hooks of one write may take while all other writes wait. JavaScript is interrupted then;
// hooks in Go are named in the log and by Working.
const Longest = 5 * time.Second

// hold is a write whose hooks have run for too long.
type hold struct {
	places   string
	since    time.Time
	released bool
}

// Hold notes that hooks run in a transaction, which holds the writer lock until release.
func Hold(app core.App, places []string) (release func()) {
	r, h := of(app), &hold{places: strings.Join(places, ", "), since: time.Now()}
	timer := time.AfterFunc(Longest, func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		if h.released {
			return
		}
		r.held = append(r.held, h)
		app.Logger().Warn("a hook holds the writer lock, and all other writes wait",
			"hooks", h.places, "seconds", int(Longest.Seconds()))
	})
	return func() {
		if timer.Stop() {
			return
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		h.released = true
		r.held = slices.DeleteFunc(r.held, func(other *hold) bool { return other == h })
	}
}

// Working returns an error if a hook holds the writer lock for too long.
func Working(app core.App) error {
	r := of(app)
	r.mu.RLock()
	defer r.mu.RUnlock()
	for _, h := range r.held {
		return fmt.Errorf("a hook of the extension %s has held the writer lock for %s: all other writes wait for it",
			h.places, time.Since(h.since).Round(time.Second))
	}
	return nil
}
