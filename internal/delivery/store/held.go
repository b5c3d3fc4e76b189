package store

import (
	"slices"
	"sync"

	"contactbase/internal/delivery"
	"contactbase/internal/sqlite"
	"contactbase/internal/tenant"
)

// held is the deliveries that are claimed in memory, by webhook. It locks itself, because those who place look into it while they
// write.
type held struct {
	sync.Mutex
	flights map[string]*flight
}

// flight is what is in flight to a webhook, by the ids of the events: a delivery that is not written yet has no row, and gets
// another id where its own is taken. VACUUM may give a row another number: rows only spare SQLite from reading
// what is held.
type flight struct {
	tenant  string
	claimed map[string]claimed
}

// rows returns the rows of what is held of the webhooks.
func (h *held) rows(webhooks []string) []int64 {
	h.Lock()
	defer h.Unlock()
	rows := []int64{}
	for _, webhook := range webhooks {
		if f := h.flights[webhook]; f != nil {
			for _, c := range f.claimed {
				if !c.job.Unplaced {
					rows = append(rows, c.rowid)
				}
			}
		}
	}
	return rows
}

// unplaced returns what is held of the event to the webhook without having been placed, nil where there is nothing.
func (h *held) unplaced(webhook, event string) *delivery.Job {
	h.Lock()
	defer h.Unlock()
	if f := h.flights[webhook]; f != nil {
		if c, found := f.claimed[event]; found && c.job.Unplaced {
			return c.job
		}
	}
	return nil
}

// lines returns the lines, each a webhook and a contact, of which something is held.
func (h *held) lines() map[[2]string]bool {
	h.Lock()
	defer h.Unlock()
	lines := map[[2]string]bool{}
	for webhook, f := range h.flights {
		for _, c := range f.claimed {
			lines[[2]string{webhook, c.job.ContactID}] = true
		}
	}
	return lines
}

// hold claims the chosen deliveries in memory and returns those that were still free. s.claiming is held.
func (s *Store) hold(chosen []claimed, endpoints map[string]*delivery.Endpoint) []claimed {
	s.held.Lock()
	defer s.held.Unlock()
	return slices.DeleteFunc(chosen, func(c claimed) bool {
		f := s.held.flights[c.webhook]
		if f == nil {
			f = &flight{tenant: endpoints[c.webhook].TenantID, claimed: map[string]claimed{}}
			s.held.flights[c.webhook] = f
		}
		if _, taken := f.claimed[c.job.EventID]; taken {
			return true
		}
		f.claimed[c.job.EventID] = c
		return false
	})
}

// letGo ends claims in memory. A Claim in progress may have read these deliveries in their previous state, so letGo waits for
// it. With again, the next Claim reads their events again, because later events of the same contact must not overtake them.
func (s *Store) letGo(jobs []*delivery.Job, again bool) {
	s.claiming.Lock()
	defer s.claiming.Unlock()
	if again && slices.ContainsFunc(jobs, func(job *delivery.Job) bool { return job.Unplaced }) {
		s.considered = ""
	}
	s.held.Lock()
	defer s.held.Unlock()
	for _, job := range jobs {
		f := s.held.flights[job.Endpoint.WebhookID]
		if f == nil || f.claimed[job.EventID].job != job {
			continue
		}
		delete(f.claimed, job.EventID)
		if len(f.claimed) == 0 {
			delete(s.held.flights, job.Endpoint.WebhookID)
		}
	}
}

// tellAtRest tells whoever has closed a tenant, maybe in another process, once nothing of it is in flight any more. What was
// claimed before it was closed is held by now, and nothing is claimed since. s.claiming is held.
func (s *Store) tellAtRest() error {
	closed, err := tenant.ToRest(sqlite.Direct(s.app.ConcurrentDB()))
	if err != nil {
		return err
	}
	s.held.Lock()
	for _, f := range s.held.flights {
		closed = slices.DeleteFunc(closed, func(id string) bool { return id == f.tenant })
	}
	s.held.Unlock()
	for _, id := range closed {
		if err := s.execute(tenant.AtRest(id)); err != nil {
			return err
		}
	}
	return nil
}
