package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/pocketbase/pocketbase/core"

	program "contactbase/internal/app"
	"contactbase/internal/delivery"
	"contactbase/internal/sqlite"

	"contactbase/bench/receiver"
)

const (
	smallBacklog  = 1_000 // what the large one is compared to
	claimRounds   = 200
	claimSize     = 100
	backlogWindow = 15 * time.Second
)

// backlogs compares claims, commits and the start of a server with few and with many pending deliveries.
func (b *bench) backlogs() error {
	b.section("Backlog: few and many pending deliveries")
	b.titles("spread | pending | claim of up to 100, p50 | p99 | commit of 100 results, " +
		"p50 | p99 | first arrival after the start | deliveries/s then | memory at its peak")
	for _, shape := range []struct {
		name                string
		endpoints, contacts int
	}{
		{"1 endpoint, each event about another contact", 1, *backlog},
		{"1 endpoint, 500 contacts", 1, 500},
		{"100 endpoints", 100, *backlog},
	} {
		for _, count := range []int{smallBacklog, *backlog} {
			figures, err := b.backlog(shape.endpoints, count, min(count, shape.contacts))
			if err != nil {
				return fmt.Errorf("%s: %w", shape.name, err)
			}
			b.row(append([]string{shape.name, strconv.Itoa(count)}, figures...)...)
		}
	}
	return nil
}

func (b *bench) backlog(endpoints, count, contacts int) (figures []string, err error) {
	i, err := b.installation()
	if err != nil {
		return nil, err
	}
	defer i.remove()
	if err := i.hooks.add(i.server, i.member, endpoints, receiver.AtOnce); err != nil {
		return nil, err
	}
	if err := i.fillQueue(count, contacts); err != nil {
		return nil, err
	}
	claims, commits, err := claims(i.dir)
	if err != nil {
		return nil, err
	}
	started := time.Now()
	if err := i.start(); err != nil {
		return nil, err
	}
	defer i.stop()
	first, perSecond, err := i.rate(count)
	_, peak := i.memory()
	return []string{
		short(quantile(claims, .5)), short(quantile(claims, .99)),
		short(quantile(commits, .5)), short(quantile(commits, .99)),
		first.Sub(started).Round(time.Millisecond).String(), perSecond, fmt.Sprintf("%d MiB", peak),
	}, err
}

// rate returns when the first delivery arrived, and how many did each second from then on. A small backlog ends
// too soon for that.
func (i *installation) rate(count int) (first time.Time, perSecond string, err error) {
	if err := i.hooks.awaitArrivals(1); err != nil {
		return first, "", err
	}
	first = *i.hooks.first.Load()
	if count <= smallBacklog {
		return first, "–", i.hooks.await(i.server, count)
	}
	time.Sleep(time.Until(first.Add(backlogWindow)))
	return first, short(float64(i.hooks.arrived.Load()) / backlogWindow.Seconds()), nil
}

// claims measures the store of deliveries in this process. It makes delivered rows pending again, so that each
// fetch reads as much.
func claims(dir string) (claims, commits []time.Duration, err error) {
	app := core.NewBaseApp(core.BaseAppConfig{DataDir: dir, DBConnect: sqlite.Connect(sqlite.Full)})
	queue := program.New(app, program.Config{}).Deliveries
	if err := app.Bootstrap(); err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, app.ResetBootstrapState()) }()
	ctx := context.Background()
	for n := range claimRounds {
		began := time.Now()
		jobs, err := pollAndFetch(ctx, queue, began)
		claims = append(claims, time.Since(began))
		if err != nil || len(jobs) == 0 {
			return nil, nil, fmt.Errorf("fetch %d returns %d deliveries (%w)", n, len(jobs), err)
		}
		if n%4 > 0 {
			continue
		}
		began = time.Now()
		if _, err := queue.Commit(ctx, delivery.Commit{Now: began, Results: successes(jobs, began)}); err != nil {
			return nil, nil, err
		}
		commits = append(commits, time.Since(began))
		if _, err := app.NonconcurrentDB().NewQuery(putBack).Execute(); err != nil {
			return nil, nil, err
		}
	}
	slices.Sort(claims)
	slices.Sort(commits)
	return claims, commits, nil
}

// pollAndFetch reads what the engine claims: deliveries, evenly of all endpoints.
func pollAndFetch(ctx context.Context, queue delivery.Queue, now time.Time) ([]*delivery.Job, error) {
	agenda, err := queue.Poll(ctx)
	if err != nil {
		return nil, err
	}
	fetch := delivery.Fetch{Now: now, Limits: map[string]int{}}
	for _, due := range agenda.Due[:min(claimSize, len(agenda.Due))] {
		fetch.Limits[due.Webhook] = max(1, claimSize/len(agenda.Due))
	}
	return queue.Fetch(ctx, fetch)
}

// putBack makes delivered rows pending again.
const putBack = "UPDATE deliveries SET status = 'pending', attempts = 0, nextAttempt = created " +
	"WHERE id IN (SELECT delivery FROM delivery_attempts); " +
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
