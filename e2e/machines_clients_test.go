package e2e

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"
)

// write makes clients create contacts, each until it is acknowledged, until stop is called.
func (c *cluster) write() (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var writers sync.WaitGroup
	for range clusterWriters {
		writers.Go(func() {
			clients := c.clients()
			for at := 0; ctx.Err() == nil; {
				at = c.create(ctx, clients, at, c.next.Add(1))
				c.wait(c.pace)
			}
		})
	}
	return func() {
		cancel()
		writers.Wait()
	}
}

// clients returns a client of each machine.
func (c *cluster) clients() (all []*client) {
	for _, m := range c.machines {
		s := &server{process: &process{t: c.t}, base: "http://" + m.address}
		one := s.client(c.key)
		one.http.Timeout = requestTime
		all = append(all, one)
	}
	return all
}

// create sends a request with one idempotency key to the machines in turn, until one of them has created the contact.
// It starts with the machine that responded last, and returns the one that responded.
func (c *cluster) create(ctx context.Context, clients []*client, at int, number int64) int {
	body := fmt.Sprintf(`{"name":"Person %d","email":"p%d@example.com"}`, number, number)
	for ctx.Err() == nil {
		for range clients {
			m, sent := c.machines[at], time.Now()
			a, err := clients[at].try(http.MethodPost, contactsPath, body, "Idempotency-Key", fmt.Sprint("p", number))
			switch {
			case err != nil:
			case a.status == http.StatusServiceUnavailable:
				c.refuse(a)
			case a.status == http.StatusCreated:
				id, _ := a.data()["id"].(string)
				c.acknowledge(number, acknowledged{id, m, sent, time.Now()})
				return at
			default:
				c.t.Errorf("machine %s returns %s", m.name, a)
				return at
			}
			at = (at + 1) % len(clients)
		}
		select {
		case <-ctx.Done():
		case <-time.After(20 * time.Millisecond):
		}
	}
	return at
}

func (c *cluster) acknowledge(number int64, a acknowledged) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.acked[number] = a
	c.tell()
}

func (c *cluster) refuse(a *answer) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.refused[a.code()]++
	c.tell()
}

// tell records a response. The caller holds mu.
func (c *cluster) tell() {
	close(c.changed)
	c.changed = make(chan struct{})
}

// awaitMore waits until that many more contacts are acknowledged, by one machine or with nil by any.
func (c *cluster) awaitMore(more int, by *machine) {
	c.t.Helper()
	c.awaitCount("contacts", more, func() (n int) {
		for _, a := range c.acked {
			if by == nil || a.by == by {
				n++
			}
		}
		return n
	})
}

// awaitRefused waits until that many more requests are refused with an error code.
func (c *cluster) awaitRefused(more int, code string) {
	c.t.Helper()
	c.awaitCount(code, more, func() int { return c.refused[code] })
}

func (c *cluster) awaitCount(what string, more int, count func() int) {
	c.t.Helper()
	deadline := time.After(timeout)
	c.mu.Lock()
	want := count() + more
	for count() < want {
		changed := c.changed
		c.mu.Unlock()
		select {
		case <-changed:
		case <-deadline:
			c.t.Fatalf("timed out waiting for %s", what)
		}
		c.mu.Lock()
	}
	c.mu.Unlock()
}
