package activity_test

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/pocketbase/dbx"
	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/activity"
	"contactbase/internal/event"
	"contactbase/internal/recordid"
	"contactbase/internal/stamp"
	"contactbase/internal/testkit"
)

func TestMain(m *testing.M) {
	code := m.Run()
	testkit.Cleanup()
	os.Exit(code)
}

var noon = time.Date(2026, 3, 4, 12, 30, 0, 0, time.UTC)

// attempt is a row that the engine stores.
type attempt struct {
	webhook string
	status  int
	took    time.Duration
	final   string // the state of its delivery, "" for a retry to come
}

// store adds attempts that started at a time, each of a delivery of its own.
func store(t *testing.T, app core.App, at time.Time, all ...attempt) {
	t.Helper()
	for _, a := range all {
		id := recordid.New(time.Now())
		testkit.Execute(t, app, "INSERT INTO deliveries (id, event, webhook, tenant, status, attempts, updated) VALUES ({:id}, {:id}, {:webhook}, 't', {:status}, 1, {:at})",
			dbx.Params{"id": id, "webhook": a.webhook, "status": cmp.Or(a.final, "pending"), "at": stamp.Stored(at)})
		testkit.Execute(t, app, "INSERT INTO delivery_attempts (id, delivery, number, started, durationMs, status) VALUES ({:id}, {:id}, 1, {:at}, {:ms}, {:status})",
			dbx.Params{"id": id, "at": stamp.Stored(at), "ms": a.took.Milliseconds(), "status": a.status})
	}
}

// Attempts are counted once, by webhook, hour and minute, and read by the minute, the hour and longer steps.
func TestAttempts(t *testing.T) {
	t.Parallel()
	app := testkit.NewApp(t)
	countAll(t, app)
	store(t, app, noon, attempt{"w", 204, 100 * time.Millisecond, "delivered"}, attempt{"v", 410, 0, "failed"})
	countAll(t, app)
	store(t, app, noon.Add(29*time.Minute), attempt{"w", 500, 8 * time.Second, ""}, attempt{"w", 200, 110 * time.Millisecond, "delivered"})
	store(t, app, noon.Add(-23*time.Hour), attempt{"w", 0, 15 * time.Second, "failed"})
	store(t, app, noon.Add(-24*time.Hour), attempt{"w", 0, 0, "failed"}) // an hour too old for a day
	countAll(t, app)

	steps, err := activity.OfWebhook(app, "w", activity.Day(noon))
	if err != nil {
		t.Fatal(err)
	}
	for step, want := range map[int]string{0: "0 0 1", 12: "0 0 0", 23: "2 1 0"} {
		if got := fmt.Sprint(steps[step].Delivered, steps[step].Retried, steps[step].Failed); got != want {
			t.Errorf("step %d has %s attempts, want %s", step, got, want)
		}
	}
	if p50, p95 := steps[23].ResponseTimes.Quantile(.5), steps[23].ResponseTimes.Quantile(.95); p50 != 128*time.Millisecond || p95 != 8192*time.Millisecond {
		t.Errorf("the median is %s, p95 is %s", p50, p95)
	}
	if none, three := steps[0].ResponseTimes.Count(), steps[23].ResponseTimes.Count(); none != 0 || three != 3 {
		t.Errorf("%d and %d attempts have response times", none, three)
	}
	days, err := activity.OfWebhook(app, "w", activity.Month(noon))
	if err != nil || days[29].Total() != 3 || days[28].Total() != 2 {
		t.Errorf("the last days have %d and %d attempts (%v)", days[28].Total(), days[29].Total(), err)
	}

	if days[29].ResponseTimes.Count() != 3 {
		t.Errorf("%d attempts of the last day have response times", days[29].ResponseTimes.Count())
	}
	minutes, err := activity.OfWebhook(app, "w", activity.Hour(noon.Add(29*time.Minute)))
	if err != nil || minutes[30].Delivered != 1 || minutes[59].Total() != 2 || minutes[58].Total() != 0 || minutes[59].ResponseTimes.Count() != 2 {
		t.Errorf("the last minutes have %v (%v)", minutes, err)
	}
	week, err := activity.OfWebhook(app, "w", activity.Week(noon))
	if err != nil || week[27].Total() != 3 || week[24].Total() != 1 || week[23].Total() != 1 {
		t.Errorf("the last week has %v (%v)", week, err)
	}

	all, err := activity.OfWebhooks(app, "", activity.Day(noon))
	if err != nil || all[23].Total() != 4 || all[0].Total() != 1 {
		t.Errorf("all webhooks have %v (%v)", all, err)
	}
}

// Lost counts deliveries of webhooks that failed and were not sent again.
func TestLost(t *testing.T) {
	t.Parallel()
	app := testkit.NewApp(t)
	ok, retry := attempt{"fine", 204, 0, "delivered"}, attempt{"fine", 500, 0, ""}
	store(t, app, noon, ok, retry)
	store(t, app, noon, attempt{"more", 500, 0, "failed"}, attempt{"more", 500, 0, "failed"}, attempt{"more", 204, 0, "delivered"})
	store(t, app, noon, attempt{"other", 500, 0, "failed"})
	store(t, app, noon.Add(-time.Hour), attempt{"lost", 500, 0, "failed"})
	store(t, app, noon, attempt{"recovered", 500, 0, "delivered"}, attempt{"recovered", 500, 0, "delivered"})
	lost, err := activity.Lost(app, []string{"fine", "more", "lost", "recovered"}, activity.Day(noon).Start)
	if want := map[string]int64{"more": 2, "lost": 1}; err != nil || !maps.Equal(lost, want) {
		t.Errorf("got %v (%v)", lost, err)
	}
	if lost, err := activity.Lost(app, []string{"lost"}, noon); err != nil || len(lost) > 0 {
		t.Errorf("since later: %v (%v)", lost, err)
	}
}

// Deleting attempts before or after they are counted does not change other counts.
func TestDeletedAttempts(t *testing.T) {
	t.Parallel()
	app := testkit.NewApp(t)
	store(t, app, noon, attempt{"w", 204, 0, "delivered"}, attempt{"w", 204, 0, "delivered"})
	countAll(t, app)
	testkit.Execute(t, app, "DELETE FROM delivery_attempts WHERE rowid = 2", nil)
	store(t, app, noon, attempt{"w", 204, 0, "delivered"}, attempt{"gone", 204, 0, "delivered"})
	testkit.Execute(t, app, "DELETE FROM deliveries WHERE webhook = 'gone'", nil)
	countAll(t, app)
	testkit.Execute(t, app, "DELETE FROM delivery_attempts", nil)
	store(t, app, noon, attempt{"w", 500, 0, ""})
	countAll(t, app)
	steps, err := activity.OfWebhooks(app, "", activity.Day(noon))
	if err != nil || steps[23].Delivered != 3 || steps[23].Retried != 1 {
		t.Errorf("got %v (%v)", steps[23], err)
	}
}

// A quantile is never too short, and at most 42 % too long.
func TestQuantiles(t *testing.T) {
	t.Parallel()
	app := testkit.NewApp(t)
	all := []time.Duration{0, time.Millisecond, 3 * time.Millisecond, 99 * time.Millisecond, time.Second, 11 * time.Second}
	for _, took := range all {
		store(t, app, noon, attempt{took.String(), 204, took, "delivered"})
	}
	countAll(t, app)
	for _, took := range all {
		steps, err := activity.OfWebhook(app, took.String(), activity.Day(noon))
		if err != nil {
			t.Fatal(err)
		}
		if got := steps[23].ResponseTimes.Quantile(.95); got < took || got > max(time.Millisecond, took*142/100) {
			t.Errorf("the quantile of %s is %s", took, got)
		}
	}
	if got := (activity.ResponseTimes)(nil).Quantile(.5); got != 0 {
		t.Errorf("without responses the median is %s", got)
	}
}

// emit adds events of that time.
func emit(t *testing.T, app core.App, kind event.Kind, at time.Time, ids ...string) {
	t.Helper()
	for _, id := range ids {
		testkit.Execute(t, app, "INSERT INTO events (id, tenant, type, payload, created) VALUES ({:id}, 't', {:kind}, '{}', {:at})",
			dbx.Params{"id": id, "kind": string(kind), "at": stamp.Stored(at)})
	}
}

func countAll(t *testing.T, app core.App) {
	t.Helper()
	for more := true; more; {
		var err error
		if more, err = activity.Count(app); err != nil {
			t.Fatal(err)
		}
	}
}

// Each event is counted once, in its hour: even if two processes count at a time, if the last counted event is
// deleted, or if rowids change.
func TestEvents(t *testing.T) {
	t.Parallel()
	app := testkit.NewApp(t)
	check := func(want string) {
		t.Helper()
		steps, err := activity.OfEvents(app, "", activity.Day(noon))
		if got := fmt.Sprint(steps[22], steps[23]); err != nil || got != want {
			t.Errorf("got %s (%v), want %s", got, err, want)
		}
	}
	countAll(t, app)
	check("map[] map[]")
	emit(t, app, event.ContactCreated, noon.Add(-time.Hour), "c", "b")
	emit(t, app, event.ContactDeleted, noon, "a")
	countAll(t, app)
	for n := range 20 {
		emit(t, app, event.ContactUpdated, noon, fmt.Sprint("u", n))
		var counters sync.WaitGroup
		for range 4 {
			counters.Go(func() { countAll(t, app) })
		}
		counters.Wait()
	}
	check("map[contact.created:2] map[contact.deleted:1 contact.updated:20]")

	emit(t, app, event.ContactDeleted, noon, "d")
	testkit.Execute(t, app, "DELETE FROM events WHERE id IN ('b', 'c')", nil)
	testkit.Execute(t, app, "VACUUM", nil)
	countAll(t, app)
	check("map[contact.created:2] map[contact.deleted:2 contact.updated:20]")

	testkit.Execute(t, app, "DELETE FROM events WHERE id = 'd'", nil)
	emit(t, app, event.ContactUpdated, noon.Add(time.Minute), "e")
	countAll(t, app)
	check("map[contact.created:2] map[contact.deleted:2 contact.updated:21]")
	testkit.Events(t, app, "t", 12_345, noon)
	countAll(t, app)
	check("map[contact.created:2] map[contact.deleted:2 contact.updated:12366]")
	minutes, err := activity.OfEvents(app, "", activity.Hour(noon.Add(time.Minute)))
	if got := fmt.Sprint(minutes[58], minutes[59]); err != nil || got != "map[contact.deleted:2 contact.updated:12365] map[contact.updated:1]" {
		t.Errorf("the last minutes have %s (%v)", got, err)
	}
}

// Prune deletes old hours, failed calls after a week, and slow calls after a day.
func TestPrune(t *testing.T) {
	t.Parallel()
	app := testkit.NewApp(t)
	addKeys(t, app, "k")
	calls := activity.NewCallCounter()
	for _, age := range []time.Duration{0, 2 * time.Hour, 8 * 24 * time.Hour, 29 * 24 * time.Hour, 31 * 24 * time.Hour} {
		at := noon.Add(-age)
		store(t, app, at, attempt{"w", 204, 0, "delivered"})
		emit(t, app, event.ContactCreated, at, "e"+age.String())
		calls.Count("k", 404, 0, at)
		calls.Keep("k", activity.Call{Status: 503, Took: time.Second, At: at})
	}
	countAll(t, app)
	if err := calls.Write(t.Context(), app); err != nil {
		t.Fatal(err)
	}
	left := func() string {
		t.Helper()
		var got string
		err := app.DB().NewQuery("SELECT (SELECT count(*) FROM _keptCalls WHERE slow = 0) || (SELECT count(*) FROM _keptCalls WHERE slow = 1) || " +
			"(SELECT group_concat(n, '') FROM (SELECT count(*) AS n FROM _activity GROUP BY grain, kind ORDER BY grain DESC, kind))").Row(&got)
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	if err := activity.Prune(t.Context(), app, noon.Add(-30*24*time.Hour), noon); err != nil || left() != "22444222" {
		t.Errorf("a retention of 30 days leaves %s (%v)", left(), err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := activity.Prune(ended, app, noon, noon); err == nil || left() != "22444222" {
		t.Errorf("with a cancelled context, Prune returns %v", err)
	}
	if err := activity.Prune(t.Context(), app, noon.Add(-time.Hour), noon); err != nil || left() != "11111111" {
		t.Errorf("a retention of an hour leaves %s (%v)", left(), err)
	}
}

// A worker stores all counts before it stops.
func TestWorkerStop(t *testing.T) {
	t.Parallel()
	app := testkit.NewApp(t)
	calls := activity.NewCallCounter()
	worker := activity.NewWorker(app, calls)
	worker.Stop() // before it was started there is nothing to stop
	worker.Start()
	calls.Count("k", 200, 0, time.Now())
	emit(t, app, event.ContactCreated, time.Now(), "e")
	worker.Stop()
	if n := testkit.Count(t, app, "SELECT count(*) FROM _activity WHERE kind IN ('key', 'event') AND grain = 3600", nil); n != 2 {
		t.Errorf("%d rows are written", n)
	}
}

// BenchmarkCount counts calls on all processors.
func BenchmarkCount(b *testing.B) {
	calls := activity.NewCallCounter()
	now := time.Now()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			calls.Count("0mm8yqpxck3w9xa", 200, 0, now)
		}
	})
}
