package store

import (
	"slices"

	"contactbase/internal/delivery"
	"contactbase/internal/sqlite"
	"contactbase/internal/stamp"
	"contactbase/internal/tenant"
)

// held is the deliveries that are claimed in memory, by webhook.
type held map[string]*flight

// flight is what is in flight to a webhook, by the ids of the deliveries. VACUUM may give a row another number: ids tell what is
// held, and rows only spare SQLite from reading it.
type flight struct {
	tenant  string
	claimed map[string]claimed
}

// rows returns the rows of what is held of the webhooks.
func (h held) rows(webhooks []string) []int64 {
	rows := []int64{}
	for _, webhook := range webhooks {
		if f := h[webhook]; f != nil {
			for _, c := range f.claimed {
				rows = append(rows, c.rowid)
			}
		}
	}
	return rows
}

// hold claims the chosen deliveries in memory and returns those that were still free. s.claiming is held.
func (s *Store) hold(chosen []claimed, endpoints map[string]*delivery.Endpoint) []claimed {
	return slices.DeleteFunc(chosen, func(c claimed) bool {
		f := s.held[c.webhook]
		if f == nil {
			f = &flight{tenant: endpoints[c.webhook].TenantID, claimed: map[string]claimed{}}
			s.held[c.webhook] = f
		}
		if _, taken := f.claimed[c.job.DeliveryID]; taken {
			return true
		}
		f.claimed[c.job.DeliveryID] = c
		return false
	})
}

// letGo ends claims in memory. A claim that is under way may have read those deliveries as they were before: it ends first.
func (s *Store) letGo(jobs []*delivery.Job) {
	s.claiming.Lock()
	defer s.claiming.Unlock()
	for _, job := range jobs {
		f := s.held[job.Endpoint.WebhookID]
		if f == nil || f.claimed[job.DeliveryID].job != job {
			continue
		}
		delete(f.claimed, job.DeliveryID)
		if len(f.claimed) == 0 {
			delete(s.held, job.Endpoint.WebhookID)
		}
	}
}

// mark returns the mark of a job's claim as it is stored.
func mark(job *delivery.Job) string {
	if job.Exclusive {
		return ""
	}
	return stamp.Stored(job.Lease)
}

// tellAtRest tells whoever has closed a tenant, maybe in another process, once nothing of it is in flight any more. What was
// claimed before it was closed is held by now, and nothing is claimed since. s.claiming is held.
func (s *Store) tellAtRest() error {
	closed, err := tenant.ToRest(sqlite.Direct(s.app.ConcurrentDB()))
	if err != nil {
		return err
	}
	for _, f := range s.held {
		closed = slices.DeleteFunc(closed, func(id string) bool { return id == f.tenant })
	}
	for _, id := range closed {
		if err := s.execute(tenant.AtRest(id)); err != nil {
			return err
		}
	}
	return nil
}
