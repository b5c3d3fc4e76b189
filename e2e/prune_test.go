package e2e

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"net/http"
	"time"
)

// past is an event that may have been pruned.
type past struct{ kind, contact string }

// What the server may be doing when a round kills it.
const (
	indexing = "indexing"
	pruning  = "pruning"
	removing = "removing a tenant"
)

// mostOld is how many finished events become old in a round. After hundreds of rounds, half of all would be tens of
// thousands, which would keep one round busy for minutes.
const mostOld = 5_000

const retentionPath = "/api/crons/contactbaseRetention"

// The events that are older than the retention, and the finished ones of them.
const (
	oldSQL  = "FROM events e WHERE e.created < strftime('%Y-%m-%d %H:%M:%fZ', 'now', '-1 day')"
	overSQL = "NOT EXISTS (SELECT 1 FROM deliveries d WHERE d.event = e.id AND d.status = 'pending')"
)

// prune makes events old, including some with pending deliveries, and returns once the server has pruned some.
func (c *crew) prune(s *server) {
	c.t.Helper()
	admin := s.signIn()
	c.makeOld(500, "NOT "+overSQL)
	c.makeOld(min(mostOld, 1+c.count("SELECT count(*) FROM events e WHERE "+overSQL)/2), overSQL)
	const left = "SELECT count(*) " + oldSQL + " AND " + overSQL
	total := c.count(left)
	admin.expect(http.StatusNoContent, http.MethodPost, retentionPath, "")
	if total == 0 {
		c.await(1 + rand.IntN(50))
		return
	}
	c.awaitShare(pruning, left, total)
}

// makeOld dates back some events that the healthy receiver has accepted and that match the condition. It changes only
// events of clients, because the ledger does not list those of guests.
func (c *crew) makeOld(some int, condition string) {
	c.t.Helper()
	db := openData(c.t, c.data)
	var ids []string
	rows(c.t, db, fmt.Sprintf("SELECT e.id, e.type, e.contact FROM events e JOIN deliveries h ON h.event = e.id "+
		"WHERE h.webhook = '%s' AND h.status = 'delivered' AND %s AND e.created > strftime('%%Y-%%m-%%d', 'now', '-1 day') LIMIT %d",
		c.webhooks["healthy"], condition, some), func(row []string) {
		ids = append(ids, row[0])
		c.old[row[0]] = past{row[1], row[2]}
	})
	list, err := json.Marshal(ids)
	if err != nil {
		c.t.Fatal(err)
	}
	const dateBack = "UPDATE events SET created = strftime('%Y-%m-%d %H:%M:%fZ', created, '-3 days') WHERE id IN (SELECT value FROM json_each(?))"
	if _, err := db.ExecContext(c.t.Context(), dateBack, string(list)); err != nil {
		c.t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		c.t.Fatal(err)
	}
}

// count returns the number that a query returns, while the server is running.
func (c *crew) count(query string) int {
	c.t.Helper()
	db := openData(c.t, c.data)
	defer db.Close()
	return count(c.t, db, query)
}

// awaitShare waits until at most a random share of the rows that the query counts is left, and records whether the
// work was interrupted halfway. It closes the connection, so that only the server sees what a kill leaves.
func (c *crew) awaitShare(work, query string, total int) {
	c.t.Helper()
	most := total/10 + rand.IntN(total+1)*9/10 // where less is left, the kill would often come too late
	if left := c.awaitCount(work, query, most); left > 0 {
		c.hits[work]++
	}
}

// awaitCount waits until the query counts at most most, and returns the count. It waits as long as the count decreases.
func (c *crew) awaitCount(what, query string, most int) int {
	c.t.Helper()
	db := openData(c.t, c.data)
	defer db.Close()
	fewest, deadline := math.MaxInt, time.Now()
	again := time.NewTicker(2 * time.Millisecond)
	defer again.Stop()
	for {
		left := count(c.t, db, query)
		if left <= most {
			return left
		}
		if left < fewest {
			fewest, deadline = left, time.Now().Add(timeout)
		}
		if time.Now().After(deadline) {
			c.t.Fatalf("%s makes no progress: %d are left, and %d may be", what, left, most)
		}
		<-again.C
	}
}

// awaitOver waits until the server has no more background work.
func (c *crew) awaitOver(s *server) {
	c.t.Helper()
	c.awaitCount(removing, "SELECT count(*) FROM _deletions", 0)
	c.awaitCount(indexing, unindexedSQL, 0)
	s.signIn().expect(http.StatusNoContent, http.MethodPost, retentionPath, "")
	if len(c.old) > 0 {
		c.awaitCount(pruning, "SELECT count(*) "+oldSQL, 0)
	}
}
