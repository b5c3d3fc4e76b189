package store

import (
	"sync"
	"time"

	"contactbase/internal/webhook/filter"
)

// evaluator decides by the filters of webhooks. It compiles each filter once, and remembers what it decided about events after the cursor, because
// fan-out asks again while it holds the writer lock.
type evaluator struct {
	webhooks func() ([]string, error) // the ids of all that exist

	mu       sync.Mutex
	compiled map[string]compiled  // by webhook
	limit    int                  // of compiled, before those of deleted webhooks are dropped
	verdicts map[string]verdict   // by event
	warned   map[string]time.Time // by tenant
}

type compiled struct {
	text   string
	filter *filter.Filter // nil if it is invalid
}

// verdict is who gets an event, given the webhooks with that sum.
type verdict struct {
	candidates uint64
	webhooks   []string
	aside      bool // they take too many steps, so that the tenant is set aside
}

const (
	minCompiled = 1_000
	maxVerdicts = 4_000
	warnEvery   = time.Hour
)

func newEvaluator(webhooks func() ([]string, error)) *evaluator {
	return &evaluator{webhooks: webhooks, compiled: map[string]compiled{}, limit: minCompiled, verdicts: map[string]verdict{}, warned: map[string]time.Time{}}
}

// passes reports whether an event passes a webhook's filter, and adds the steps. An event passes if it could not be parsed, the filter fails, or
// the steps would be more than filter.MaxSteps.
func (v *evaluator) passes(c candidate, event *filter.Event, steps *int) bool {
	if c.filter == "" {
		return true
	}
	f := v.compile(c)
	if f == nil || event == nil {
		return true
	}
	if *steps += f.Steps(event); *steps > filter.MaxSteps {
		return true
	}
	matches, _ := f.Match(event)
	return matches
}

// steps returns how many steps the filter of a webhook takes for an event.
func (v *evaluator) steps(c candidate, event *filter.Event) int {
	if f := v.compile(c); f != nil && event != nil {
		return f.Steps(event)
	}
	return 0
}

// compile returns the filter of a webhook, nil if there is none that works.
func (v *evaluator) compile(c candidate) *filter.Filter {
	if c.filter == "" {
		return nil
	}
	v.mu.Lock()
	known, found := v.compiled[c.webhook]
	v.mu.Unlock()
	if found && known.text == c.filter {
		return known.filter
	}
	f, _ := filter.Compile(c.filter)
	v.mu.Lock()
	defer v.mu.Unlock()
	v.compiled[c.webhook] = compiled{c.filter, f}
	if len(v.compiled) > v.limit {
		v.dropDeleted()
	}
	return f
}

// dropDeleted drops the filters of deleted webhooks. At most twice as many filters stay compiled as there are webhooks.
func (v *evaluator) dropDeleted() {
	ids, err := v.webhooks()
	if err != nil {
		return // with the next filter
	}
	left := make(map[string]compiled, len(ids))
	for _, id := range ids {
		if c, found := v.compiled[id]; found {
			left[id] = c
		}
	}
	v.compiled, v.limit = left, 2*len(ids)+minCompiled
}

// decided returns the verdict on an event, if the webhooks are those of then.
func (v *evaluator) decided(event string, candidates uint64) (verdict, bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	known, found := v.verdicts[event]
	return known, found && known.candidates == candidates
}

func (v *evaluator) remember(event string, decided verdict) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if len(v.verdicts) >= maxVerdicts {
		clear(v.verdicts)
	}
	v.verdicts[event] = decided
}

// warns reports whether to warn about the filters of a tenant, which is not done for each event.
func (v *evaluator) warns(tenant string, now time.Time) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	if now.Sub(v.warned[tenant]) < warnEvery {
		return false
	}
	v.warned[tenant] = now
	return true
}
