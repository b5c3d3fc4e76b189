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

// hold is a transaction in which code of extensions runs.
type hold struct {
	since   time.Time
	running []*[]string // the places of what runs, the innermost last
	isLong  bool
	timer   *time.Timer
}

// places names the innermost code that runs.
func (h *hold) places() string { return strings.Join(*h.running[len(h.running)-1], ", ") }

// Hold notes that code of extensions at these places runs in the app's transaction, which holds the writer lock, until
// release. It may be called again for the same transaction.
func Hold(tx core.App, places []string) (release func()) {
	r, key := of(tx), tx.TxInfo()
	r.mu.Lock()
	defer r.mu.Unlock()
	h := r.held[key]
	if h == nil {
		h = &hold{since: time.Now()}
		h.timer = time.AfterFunc(Longest, func() { r.report(tx, key, h) })
		if r.held == nil {
			r.held = map[*core.TxAppInfo]*hold{}
		}
		r.held[key] = h
	}
	own := &places
	h.running = append(h.running, own)
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		h.running = slices.DeleteFunc(h.running, func(other *[]string) bool { return other == own })
		if len(h.running) == 0 {
			h.timer.Stop()
			delete(r.held, key)
		}
	}
}

// report logs that a transaction takes long, and makes Working name it, unless it has ended.
func (r *registry) report(app core.App, key *core.TxAppInfo, h *hold) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.held[key] != h {
		return
	}
	h.isLong = true
	app.Logger().Warn("an extension holds the writer lock, and all other writes wait",
		"hooks", h.places(), "seconds", int(Longest.Seconds()))
}

// Working returns an error if an extension holds the writer lock for too long.
func Working(app core.App) error {
	r := of(app)
	r.mu.RLock()
	defer r.mu.RUnlock()
	for _, h := range r.held {
		if h.isLong {
			return fmt.Errorf("the extension %s has held the writer lock for %s: all other writes wait for it",
				h.places(), time.Since(h.since).Round(time.Second))
		}
	}
	return nil
}
