package store

import (
	"context"
	"database/sql"
	"time"

	"contactbase/internal/stamp"
)

const (
	// manyEndpoints is from how many endpoints on the list of them is kept for the next claims.
	manyEndpoints = 50
	// listShare is which part of the time reading that list may take, where there are many.
	listShare = 20
	// listAge is the most that it may be behind what other processes did.
	listAge = time.Second
)

// ready is an endpoint that may be sent to and has pending deliveries.
type ready struct {
	webhook string
	tenant  string
	first   string // when the first of them that no other holds up was or will be due; "" where somebody asked for it just now
}

// due tells whether the endpoint has something to send at that time, as it is stored.
func (r ready) due(now string) bool { return r.first <= now }

// urgent tells whether somebody asked for the first delivery just now.
func (r ready) urgent() bool { return r.first == "" }

// readyList remembers the endpoints that have something to send. Reading them takes a few index look-ups for each, which a
// thousand busy endpoints would cost every claim, although a claim has room for few. So what the store itself does to
// them is noted here, and the rest is read again after a while.
type readyList struct {
	endpoints map[string]ready // by webhook; nil where they have to be read
	until     time.Time        // when they have to
	version   int              // of what the store did
}

// keep takes the list as it was read, unless the store did something since the version.
func (l *readyList) keep(endpoints []ready, began time.Time, version int) {
	l.endpoints = nil
	if len(endpoints) < manyEndpoints || l.version != version {
		return
	}
	l.endpoints = make(map[string]ready, len(endpoints))
	for _, r := range endpoints {
		l.endpoints[r.webhook] = r
	}
	ended := time.Now()
	l.until = ended.Add(min(listAge, listShare*ended.Sub(began)))
}

// add notes that an endpoint may have something to send now.
func (l *readyList) add(webhook, tenant, now string) {
	l.version++
	if l.endpoints == nil {
		return
	}
	if known, found := l.endpoints[webhook]; !found || !known.due(now) {
		l.endpoints[webhook] = ready{webhook: webhook, tenant: tenant, first: now}
	}
}

// remove notes that an endpoint had nothing to send any more at the version.
func (l *readyList) remove(webhook string, version int) {
	if l.version == version {
		delete(l.endpoints, webhook)
	}
}

// forget has the list read again.
func (l *readyList) forget() {
	l.version++
	l.endpoints = nil
}

// ready returns the endpoints with something due, and the version of the list.
func (s *Store) ready(ctx context.Context, now string) (due []ready, version int, err error) {
	s.mu.Lock()
	version = s.list.version
	if s.list.endpoints != nil && time.Now().Before(s.list.until) {
		for _, r := range s.list.endpoints {
			if r.due(now) {
				due = append(due, r)
			}
		}
		s.mu.Unlock()
		return due, version, nil
	}
	s.mu.Unlock()
	began := time.Now()
	var all []ready
	err = s.read(ctx, readySQL, func(rows *sql.Rows) error {
		var r ready
		err := rows.Scan(&r.webhook, &r.tenant, &r.first)
		all = append(all, r)
		if r.due(now) {
			due = append(due, r)
		}
		return err
	})
	if err == nil {
		s.mu.Lock()
		s.list.keep(all, began, version)
		s.mu.Unlock()
	}
	return due, version, err
}

// unready notes of which endpoints there was less to choose than was granted.
func (s *Store) unready(granted map[string]int, chosen []claimed, version int) {
	found := map[string]int{}
	for _, c := range chosen {
		found[c.webhook]++
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for webhook, n := range granted {
		if found[webhook] < n {
			s.list.remove(webhook, version)
		}
	}
}

// noteReady notes endpoints, tenants by webhooks, that may have something to send now.
func (s *Store) noteReady(endpoints map[string]string, now time.Time) {
	if len(endpoints) == 0 {
		return
	}
	at := stamp.Stored(now)
	s.mu.Lock()
	defer s.mu.Unlock()
	for webhook, tenant := range endpoints {
		s.list.add(webhook, tenant, at)
	}
}

// forgetReady has the endpoints with something to send read again.
func (s *Store) forgetReady() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.list.forget()
}
