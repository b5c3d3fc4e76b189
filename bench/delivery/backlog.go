package main

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/pocketbase/pocketbase/core"

	program "contactbase/internal/app"
	"contactbase/internal/delivery"
	"contactbase/internal/sqlite"

	"contactbase/bench/receiver"
)

// smallBacklog is what the large one is compared to.
const smallBacklog = 1000

// shape is how a backlog is spread.
type shape struct {
	measurement string
	name        string
	endpoints   int
	contacts    func(count int) int
}

var shapes = []shape{
	{"backlog of many contacts", "1 endpoint, each event about another contact", 1, func(count int) int { return count }},
	{"backlog of few contacts", "1 endpoint, 500 contacts", 1, func(int) int { return 500 }},
	{"backlog of endpoints", "100 endpoints", 100, func(count int) int { return count }},
}

// backlogs compares claims and completions with few and with many pending deliveries, and the start of a server on them.
func (b *bench) backlogs(s shape) error {
	fmt.Fprintf(b.out, "\n### Backlog for %s: %d pending deliveries, and %d\n\n", s.name, smallBacklog, *backlog)
	fmt.Fprintln(b.out, "| pending | claim of up to 100, p50 | p99 | storing 100 results, p50 | p99 | first arrival after the start | deliveries/s then | peak RSS |")
	fmt.Fprintln(b.out, "|---|---|---|---|---|---|---|---|")
	for _, count := range []int{smallBacklog, *backlog} {
		if err := b.backlog(s, count); err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
	}
	return nil
}

func (b *bench) backlog(s shape, count int) error {
	i, err := b.newInstallation()
	if err != nil {
		return err
	}
	defer i.remove()
	first := make(chan time.Time, 1)
	var arrivals atomic.Int64
	urls, closeAll, err := crowd{endpoints: s.endpoints, answer: receiver.AtOnce}.receivers(func(_ []byte, at time.Time) {
		select {
		case first <- at:
		default:
		}
		arrivals.Add(1)
	})
	if err != nil {
		return err
	}
	defer closeAll()
	webhooks, err := i.webhooks(urls...)
	if err != nil {
		return err
	}
	if err := i.fill(count, s.contacts(count), webhooks); err != nil {
		return err
	}
	syscall.Sync() // otherwise the first commits wait until the disk has all of that
	claims, stores, err := i.claims()
	if err != nil {
		return err
	}
	started := time.Now()
	if err := i.serve(); err != nil {
		return err
	}
	defer i.stop()
	began, perSecond, err := i.rate(count, first, &arrivals)
	if err != nil {
		return err
	}
	fmt.Fprintf(b.out, "| %d | %s | %s | %s | %s | %s | %s | %d MiB |\n", count,
		short(quantile(claims, .5)), short(quantile(claims, .99)), short(quantile(stores, .5)), short(quantile(stores, .99)),
		began.Sub(started).Round(time.Millisecond), perSecond, i.memory())
	return nil
}

// rate waits for the first arrival and returns when that was, and how many came in a second. A small backlog is over before
// there is a rate; of that it awaits the end.
func (i *installation) rate(count int, first <-chan time.Time, arrivals *atomic.Int64) (began time.Time, perSecond string, err error) {
	select {
	case began = <-first:
	case <-time.After(time.Minute):
		return began, "", fmt.Errorf("nothing arrives")
	}
	if count <= smallBacklog {
		return began, "–", i.awaitStored()
	}
	const window = 15 * time.Second
	time.Sleep(time.Until(began.Add(window)))
	return began, fmt.Sprintf("%.0f", float64(arrivals.Load())/window.Seconds()), nil
}

// claims measures the store alone, in this process. It makes delivered rows pending again, so that every fetch reads the same.
func (i *installation) claims() (claims, stores []time.Duration, err error) {
	app := core.NewBaseApp(core.BaseAppConfig{DataDir: i.data, DBConnect: sqlite.Connect(sqlite.Full)})
	queue := program.New(app, program.Config{}).Deliveries
	if err := app.Bootstrap(); err != nil {
		return nil, nil, fmt.Errorf("opening %s: %w", filepath.Base(i.data), err)
	}
	defer func() {
		if closed := app.ResetBootstrapState(); err == nil {
			err = closed
		}
	}()
	const times, batch = 200, 100
	ctx := context.Background()
	for n := range times {
		began := time.Now()
		jobs, err := pollAndFetch(ctx, queue, began, batch)
		claims = append(claims, time.Since(began))
		if err != nil {
			return nil, nil, err
		}
		if len(jobs) == 0 {
			return nil, nil, fmt.Errorf("fetch %d finds nothing", n)
		}
		if n%4 > 0 {
			continue
		}
		began = time.Now()
		if _, err := queue.Commit(ctx, delivery.Commit{Now: began, Results: successes(jobs, began)}); err != nil {
			return nil, nil, err
		}
		stores = append(stores, time.Since(began))
		if _, err := app.NonconcurrentDB().NewQuery(putBack).Execute(); err != nil {
			return nil, nil, err
		}
	}
	slices.Sort(claims)
	slices.Sort(stores)
	return claims, stores, nil
}

// pollAndFetch reads what the engine claims: so many deliveries, evenly from all endpoints, and new events.
func pollAndFetch(ctx context.Context, queue delivery.Queue, now time.Time, n int) ([]*delivery.Job, error) {
	agenda, err := queue.Poll(ctx)
	if err != nil {
		return nil, err
	}
	fetch := delivery.Fetch{Now: now, Due: map[string]int{}, New: 1_000}
	for _, due := range agenda.Due[:min(n, len(agenda.Due))] {
		fetch.Due[due.Webhook] = max(1, n/len(agenda.Due))
	}
	batch, err := queue.Fetch(ctx, fetch)
	return batch.Due, err
}

// putBack makes pending again what was delivered.
const putBack = "UPDATE deliveries SET status = 'pending', attempts = 0, nextAttempt = created WHERE id IN (SELECT delivery FROM delivery_attempts); " +
	blockBehind + "; DELETE FROM delivery_attempts"

func successes(jobs []*delivery.Job, now time.Time) []delivery.Result {
	results := make([]delivery.Result, 0, len(jobs))
	for _, job := range jobs {
		results = append(results, delivery.Result{
			Job: job,
			Attempt: &delivery.Attempt{
				DeliveryID: job.DeliveryID, Number: job.Attempt, Started: now, Duration: time.Millisecond, Status: 204,
				RequestHeaders: "{}", ResponseHeaders: "{}", Outcome: delivery.Outcome{Status: 204},
			},
			Decision: delivery.Decision{Status: delivery.StatusDelivered},
		})
	}
	return results
}
