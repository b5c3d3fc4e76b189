package store

import (
	"database/sql"
	"fmt"
	"math"
	"time"

	"contactbase/internal/delivery"
	"contactbase/internal/event"
	"contactbase/internal/recordid"
	"contactbase/internal/sqlite"
	"contactbase/internal/stamp"
)

// placement is the statements that place events, how many events, how many rows they write, and for which endpoints.
type placement struct {
	statements   []sqlite.Statement
	events, rows int
	endpoints    map[string]string // tenants by webhooks
	stored       []stored          // the results among the rows
}

// unplaced is an event behind the position.
type unplaced struct {
	id      string
	tenant  string
	kind    event.Kind
	contact string
	created string
}

// placing says what to place. Fewer rows than limit are written where no event is left, and otherwise no more than the webhooks of
// one event beyond it.
type placing struct {
	limit    int
	results  map[target]delivery.Result // of deliveries that are not placed; those that are stored with them are taken out
	answered bool                       // the events up to the last one with a result, and no others
}

// planPlacing places the first events behind the position.
func (s *Store) planPlacing(tx sqlite.Reader, order placing, now time.Time) (p placement, err error) {
	last := int64(math.MaxInt64)
	if order.answered {
		if last, err = lastAnswered(tx, order.results); err != nil {
			return p, err
		}
	}
	events, err := readBehind(tx, "", last, order.limit)
	if err != nil || len(events) == 0 {
		return p, err
	}
	recipients := recipients{}
	p.endpoints = map[string]string{}
	at := stamp.Stored(now)
	var placed [][]any // the arguments of placeSQL
	var answered []int // those of them with a result
	var inLine []lineless
	for _, e := range events {
		if p.rows >= order.limit {
			break
		}
		webhooks, err := recipients.of(tx, e)
		if err != nil {
			return p, err
		}
		for _, webhook := range webhooks {
			if result, found := order.results[target{e.id, webhook}]; found {
				placed = append(placed, e.answered(result, at))
				p.stored = append(p.stored, stored{result: result})
				answered = append(answered, len(placed)-1)
				delete(order.results, target{e.id, webhook})
			} else {
				placed = append(placed, e.pending(webhook, s.held.unplaced(webhook, e.id), at))
				p.endpoints[webhook] = e.tenant
			}
			if e.contact != "" {
				inLine = append(inLine, lineless{e.id, webhook, e.contact})
			}
		}
		p.events++
		p.rows += 1 + len(webhooks)
	}
	if err := avoidTaken(tx, placed); err != nil {
		return p, err
	}
	for i, row := range answered {
		p.stored[i].delivery = placed[row][0].(string)
	}
	if len(placed) > 0 {
		p.statements = append(p.statements, sqlite.Repeat(placeSQL, placed))
	}
	behind, err := behindOthers(tx, inLine)
	if err == nil && len(behind) > 0 {
		var next sqlite.Statement
		next, err = lined(lineUpEventsSQL, behind, at)
		p.statements = append(p.statements, next)
	}
	p.statements = append(p.statements, statement(moveSQL, events[p.events-1].id))
	return p, err
}

// target is what a delivery brings together.
type target struct{ event, webhook string }

// lastAnswered returns the row of the last event of which there is a result.
func lastAnswered(tx sqlite.Reader, results map[target]delivery.Result) (int64, error) {
	ids := make([]string, 0, len(results))
	for t := range results {
		ids = append(ids, t.event)
	}
	encoded, err := list(ids)
	if err != nil {
		return 0, err
	}
	return sqlite.Value[int64](tx, lastSQL, encoded)
}

// deliveryID returns the id of an event's delivery to a webhook. It is known before there is the delivery: what was in flight when the
// process died goes out under the same id again.
func deliveryID(happened time.Time, event, webhook string) string {
	return recordid.Derived(happened, event, webhook)
}

// takenSQL returns the numbers of those of the ids in ?1, each with an event and a webhook, that another delivery has.
const takenSQL = `SELECT j.key FROM json_each(?1) j CROSS JOIN deliveries d ON d.id = j.value ->> 0
WHERE d.event != j.value ->> 1 OR d.webhook != j.value ->> 2`

// avoidTaken gives rows to be placed another id where theirs is another delivery's.
func avoidTaken(tx sqlite.Reader, placed [][]any) error {
	if len(placed) == 0 {
		return nil
	}
	ids, seen, taken := make([][]any, len(placed)), make(map[any]bool, len(placed)), make([]bool, len(placed))
	for i, row := range placed {
		ids[i] = row[:3]
		taken[i] = seen[row[0]]
		seen[row[0]] = true
	}
	encoded, err := list(ids)
	if err != nil {
		return err
	}
	err = sqlite.Each(tx, takenSQL, func(rows *sql.Rows) error {
		var number int
		err := rows.Scan(&number)
		taken[number] = true
		return err
	}, encoded)
	for i, row := range placed {
		if taken[i] {
			row[0] = recordid.New(time.Now())
		}
	}
	return err
}

// pending returns the arguments of placeSQL for a delivery that is not over. Where it is in flight it is placed as claimed.
func (e unplaced) pending(webhook string, flying *delivery.Job, at string) []any {
	lease := ""
	if flying != nil {
		lease = stamp.Stored(flying.Lease)
	}
	made := min(e.created, at) // a clock may have been ahead
	return []any{deliveryID(stamp.Parse(e.created), e.id, webhook), e.id, webhook, e.tenant, delivery.StatusPending, 0, made, 0, "", lease, made, made, e.contact}
}

// answered returns the arguments of placeSQL for a delivery of which an attempt was made.
func (e unplaced) answered(result delivery.Result, at string) []any {
	return []any{
		result.Job.DeliveryID, e.id, result.Job.Endpoint.WebhookID, e.tenant, result.Decision.Status, result.Job.Attempt, nextAttempt(result.Decision),
		result.Attempt.Status, result.Attempt.LastError(), "", min(e.created, at), at, e.contact,
	}
}

// readBehind reads the first events behind the position, and behind the event with that id, "" for none, up to the last row.
func readBehind(tx sqlite.Reader, after string, last int64, limit int) (events []unplaced, err error) {
	err = sqlite.Each(tx, behindSQL, func(rows *sql.Rows) error {
		var e unplaced
		err := rows.Scan(&e.id, &e.tenant, &e.kind, &e.contact, &e.created)
		events = append(events, e)
		return err
	}, limit, after, last)
	return events, err
}

// recipients remembers which webhooks get the events of a tenant and a kind.
type recipients map[[2]string][]string

// of returns the webhooks that get the event. A ping has its one delivery from the beginning.
func (r recipients) of(tx sqlite.Reader, e unplaced) (webhooks []string, err error) {
	if e.kind == event.WebhookPing {
		return nil, nil
	}
	key := [2]string{e.tenant, string(e.kind)}
	if webhooks, known := r[key]; known {
		return webhooks, nil
	}
	webhooks, err = sqlite.Values[string](tx, wantedSQL, e.tenant, string(e.kind))
	if err != nil {
		return nil, fmt.Errorf("reading which webhooks want %s: %w", e.kind, err)
	}
	r[key] = webhooks
	return webhooks, nil
}
