package delivery

import (
	"context"
	"time"
)

// clockTolerance is how far back the clock may go without anything being done about it: no more than deliveries may be
// late anyway.
const clockTolerance = time.Second

// watchClock tells the queue when the clock was set back. What is stored is told in times of the clock, and would wait
// until it gets there once more. A clock that is set ahead does no such harm: what waits goes out early. What
// happened while nobody was looking is made good when the engine takes over.
func (e *Engine) watchClock(ctx context.Context, now time.Time) error {
	now = now.Round(0) // without the monotonic reading, which nobody sets
	if !e.seen.IsZero() && e.seen.Sub(now) <= clockTolerance {
		if now.After(e.seen) {
			e.seen = now
		}
		return nil
	}
	if !e.seen.IsZero() {
		e.app.Logger().Warn("the clock was set back; what waits is planned anew", "by", e.seen.Sub(now).String())
	}
	if err := e.store.SetBack(ctx, now, e.held()); err != nil {
		return err
	}
	e.seen = now
	return nil
}

// held returns all that is claimed and not given back.
func (e *Engine) held() []*Job {
	e.mu.Lock()
	defer e.mu.Unlock()
	jobs := append([]*Job(nil), e.returned...)
	for _, l := range e.lanes {
		jobs = append(jobs, l.waiting...)
	}
	for job := range e.flights {
		jobs = append(jobs, job)
	}
	for _, result := range e.results {
		jobs = append(jobs, result.Job)
	}
	return jobs
}
