package store

import (
	"context"
	"fmt"
	"time"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/delivery"
	"contactbase/internal/sqlite"
	"contactbase/internal/stamp"
	"contactbase/internal/webhook/filter"
)

// An event that many webhooks want, or whose filters take long, sets its tenant aside: the fan-out cursor passes this and its later events, and
// `_fanOutAside` has the tenant's own position. Its deliveries are written separately, in chunks and in the order of the events, so that other
// tenants do not wait for them. Once the tenant has no such events left, it is fanned out like any other again.

// fannedOutSQL returns the condition that an event has all its deliveries.
func fannedOutSQL(e string) string {
	return "(" + e + ".rowid <= " + cursorRow + " AND NOT EXISTS (SELECT 1 FROM `_fanOutAside` a CROSS JOIN `events` f ON f.`id` = a.`event` " +
		"WHERE a.`tenant` = " + e + ".`tenant` AND f.rowid <= " + e + ".rowid))"
}

// asideSQL returns the tenants that are set aside. positionSQL returns the position of the tenant ?1 and its event, unless the cursor has yet to pass that. tenantAfterSQL returns the first event of
// the tenant ?1 after the event ?2.
const (
	asideSQL    = "SELECT `tenant` FROM `_fanOutAside`"
	positionSQL = "SELECT a.`webhook`, a.`steps`, e.rowid, e.`id`, e.`tenant`, e.`type`, e.`contact`, e.`created` " +
		"FROM `_fanOutAside` a CROSS JOIN `events` e ON e.`id` = a.`event` WHERE a.`tenant` = ?1 AND e.rowid <= " + cursorRow
	tenantAfterSQL = "SELECT `id` FROM `events` WHERE `tenant` = ?1 AND rowid > (SELECT rowid FROM `events` WHERE `id` = ?2) ORDER BY rowid LIMIT 1"
)

// positionAtSQL sets the position of the tenant ?1 within its event, and positionOnSQL on the event ?2. doneSQL deletes it: the tenant is no longer set aside.
const (
	positionAtSQL = "UPDATE `_fanOutAside` SET `webhook` = ?2, `steps` = ?3 WHERE `tenant` = ?1"
	positionOnSQL = "UPDATE `_fanOutAside` SET `event` = ?2, `webhook` = '', `steps` = 0 WHERE `tenant` = ?1"
	doneSQL       = "DELETE FROM `_fanOutAside` WHERE `tenant` = ?1"
)

// asideChunk is how many recipients are decided at once.
const asideChunk = 500

// position is how far the fan-out of a tenant that is set aside has come.
type position struct {
	newEvent
	webhook string // the last one that is done
	steps   int    // that filters took for the event
}

// asideRecipient is a webhook that receives the event, and the steps that filters took up to it.
type asideRecipient struct {
	webhook string
	steps   int
}

// fanOutAside writes deliveries of events that are set aside: some for each tenant, or only for the tenant with that id. It may run concurrently with
// the other calls.
func (s *Store) fanOutAside(ctx context.Context, tenantID string, now time.Time) (out delivery.FannedOut, err error) {
	tenants, err := s.asideTenants(tenantID)
	for _, one := range tenants {
		if err != nil || ctx.Err() != nil {
			break
		}
		var more bool
		more, err = s.fanOutTenant(ctx, one, now, &out)
		out.More = out.More || more
	}
	if err != nil {
		return out, fmt.Errorf("fanning out the events of tenants with many webhooks: %w", err)
	}
	return out, ctx.Err()
}

func (s *Store) asideTenants(tenantID string) ([]string, error) {
	tenants, err := sqlite.Values[string](sqlite.Direct(s.app.ConcurrentDB()), asideSQL)
	if tenantID == "" || err != nil {
		return tenants, err
	}
	for _, one := range tenants {
		if one == tenantID {
			return []string{one}, nil
		}
	}
	return nil, nil
}

// fanOutTenant writes some deliveries of a tenant that is set aside, and reports whether there may be more. It evaluates filters before it asks for
// the writer lock, and decides again if a webhook has changed in between.
func (s *Store) fanOutTenant(ctx context.Context, tenantID string, now time.Time, out *delivery.FannedOut) (more bool, err error) {
	at, found, err := readPosition(sqlite.Direct(s.app.ConcurrentDB()), tenantID)
	if err != nil || !found {
		return false, err
	}
	version, recipients, end, whole, err := s.decideAside(at)
	if err != nil {
		return false, err
	}
	if end.steps > filter.MaxSteps && s.directory.warns(tenantID, now) {
		s.app.Logger().Warn("a tenant's filters take too many steps for an event: webhooks whose filters are not evaluated receive it",
			"tenant", tenantID, "event", at.id, "steps", filter.MaxSteps)
	}
	chunks, left := sqlite.Throttled(), recipients
	for first := true; first || len(left) > 0; first = false {
		if err := ctx.Err(); err != nil {
			return false, err
		}
		var some []asideRecipient
		stale := false
		_, err := chunks.NextFor(tenantID, s.app, func(tx core.App, limit int) (int, error) {
			some = left[:min(limit, len(left))]
			next := end
			if len(some) < len(left) {
				last := some[len(some)-1]
				next.webhook, next.steps = last.webhook, last.steps
			}
			var err error
			stale, err = s.writeAside(tx, version, at, some, next, whole && len(some) == len(left), now)
			return len(some), err
		})
		if err != nil || stale {
			return true, err
		}
		left = left[len(some):]
		for _, one := range some {
			out.Pending = append(out.Pending, delivery.Ready{Event: at.id, Webhook: one.webhook, Tenant: tenantID})
		}
		if len(some) > 0 {
			at.webhook = some[len(some)-1].webhook
		}
	}
	return true, nil
}

func readPosition(tx sqlite.Reader, tenantID string) (at position, found bool, err error) {
	found, err = sqlite.Row(tx, []any{&at.webhook, &at.steps, &at.row, &at.id, &at.tenant, &at.kind, &at.contact, &at.created}, positionSQL, tenantID)
	return at, found, err
}

// decideAside returns the next recipients of the event at a position, and the position after them. whole reports whether these are the last
// ones. version identifies the state of the webhooks.
func (s *Store) decideAside(at position) (version int64, recipients []asideRecipient, end position, whole bool, err error) {
	end = at
	err = s.snapshot(func(tx sqlite.Reader) error {
		r, err := s.recipients(tx, ahead)
		if err != nil {
			return err
		}
		version = r.version
		a, err := r.audience(at.tenant)
		if err != nil {
			return err
		}
		parsed, err := readEvent(tx, at.id)
		if err != nil {
			return err
		}
		for _, sub := range r.candidates(at.newEvent, a.subscribers[a.find(at.webhook)+1:]) {
			if len(recipients) == asideChunk {
				return nil
			}
			end.webhook = sub.id
			if sub.passes(parsed, &end.steps) {
				recipients = append(recipients, asideRecipient{sub.id, min(end.steps, filter.MaxSteps)})
			}
		}
		whole = true
		return nil
	})
	return version, recipients, end, whole, err
}

// writeAside writes deliveries of the event at a position, and moves it to next, or if the event is whole to the tenant's next event. It reports
// whether the webhooks or the position have changed since, and then writes nothing.
func (s *Store) writeAside(tx core.App, version int64, at position, some []asideRecipient, next position, whole bool, now time.Time) (stale bool, err error) {
	reader := sqlite.ReaderOf(tx)
	stored, found, err := readPosition(reader, at.tenant)
	if err != nil || !found || stored.id != at.id || stored.webhook != at.webhook {
		return true, err
	}
	r, err := s.recipients(reader, writing)
	if err != nil || r.version != version {
		return true, err
	}
	inserts, f := inserts{at: stamp.Stored(now)}, fannedOut{}
	for _, one := range some {
		inserts.add(&f, at.newEvent, one.webhook)
	}
	statements, err := inserts.statements(reader, nil)
	if err != nil {
		return false, err
	}
	moved := statement(positionAtSQL, at.tenant, next.webhook, next.steps)
	if whole {
		if moved, err = afterEvent(reader, at); err != nil {
			return false, err
		}
	}
	_, err = sqlite.Run(tx, append(statements, moved))
	return false, err
}

// afterEvent returns the statement that moves the position behind its event.
func afterEvent(tx sqlite.Reader, at position) (sqlite.Statement, error) {
	var next string
	more, err := sqlite.Row(tx, []any{&next}, tenantAfterSQL, at.tenant, at.id)
	if err != nil {
		return sqlite.Statement{}, err
	}
	if !more {
		return statement(doneSQL, at.tenant), nil
	}
	return statement(positionOnSQL, at.tenant, next), nil
}
