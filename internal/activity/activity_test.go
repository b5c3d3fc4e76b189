package activity_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
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

// attempt is a row as the engine stores it.
type attempt struct {
	webhook string
	status  int
	took    time.Duration
	final   string // the state of its delivery, "" for a retry to come
}

// store adds attempts that began at that time, each of a delivery of its own.
func store(t *testing.T, app core.App, at time.Time, all ...attempt) {
	t.Helper()
	for _, a := range all {
		id := recordid.New(time.Now())
		testkit.Execute(t, app, "INSERT INTO deliveries (id, event, webhook, tenant, status, attempts) VALUES ({:id}, {:id}, {:webhook}, 't', {:status}, 1)",
			dbx.Params{"id": id, "webhook": a.webhook, "status": cmp.Or(a.final, "pending")})
		testkit.Execute(t, app, "INSERT INTO delivery_attempts (id, delivery, number, started, durationMs, status) VALUES ({:id}, {:id}, 1, {:at}, {:ms}, {:status})",
			dbx.Params{"id": id, "at": stamp.Stored(at), "ms": a.took.Milliseconds(), "status": a.status})
	}
}

// Attempts are counted by webhook, hour and minute, each once, and shown by the minute, the hour and longer steps.
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
			t.Errorf("in the step %d there are %s attempts, not %s", step, got, want)
		}
	}
	if p50, p95 := steps[23].Answers.Quantile(.5), steps[23].Answers.Quantile(.95); p50 != 128*time.Millisecond || p95 != 8192*time.Millisecond {
		t.Errorf("half of the answers took up to %s, 95 %% up to %s", p50, p95)
	}
	if none, three := steps[0].Answers.Count(), steps[23].Answers.Count(); none != 0 || three != 3 {
		t.Errorf("%d and %d attempts count as answered", none, three)
	}
	days, err := activity.OfWebhook(app, "w", activity.Month(noon))
	if err != nil || days[29].Total() != 3 || days[28].Total() != 2 {
		t.Errorf("in the last days there were %d and %d attempts (%v)", days[28].Total(), days[29].Total(), err)
	}

	if days[29].Answers.Count() != 3 {
		t.Errorf("%d attempts of the last day count as answered", days[29].Answers.Count())
	}
	at := noon.Add(29 * time.Minute)
	minutes, err := activity.OfWebhook(app, "w", activity.Hour(at))
	if err != nil || minutes[30].Delivered != 1 || minutes[59].Total() != 2 || minutes[58].Total() != 0 || minutes[59].Answers.Count() != 2 {
		t.Errorf("by the minute there are %v (%v)", minutes, err)
	}
	week, err := activity.OfWebhook(app, "w", activity.Week(noon))
	if err != nil || week[27].Total() != 3 || week[24].Total() != 1 || week[23].Total() != 1 {
		t.Errorf("in the last week there are %v (%v)", week, err)
	}

	all, err := activity.OfWebhooks(app, activity.Day(noon))
	if err != nil || all[23].Total() != 4 || all[0].Total() != 1 {
		t.Errorf("of all webhooks there are %v (%v)", all, err)
	}
}

// A webhook is in trouble while most attempts of its last hour failed, and for as long as what failed for good is in sight, unless it is
// disabled: those that fail come first, and then those with the most that failed.
func TestTroubled(t *testing.T) {
	t.Parallel()
	app := testkit.NewApp(t)
	tenant := testkit.Tenant(t, app, "Acme")
	ids := map[string]string{}
	for _, name := range []string{"fine", "mended", "lost", "lost more", "failing", "mostly failing", "disabled"} {
		id := testkit.Record(t, app, "webhooks", map[string]any{"tenant": tenant, "url": "https://example.com", "name": name, "disabled": name == "disabled"}).Id
		ids[id] = name
		ok, retry, lost := attempt{id, 204, 0, "delivered"}, attempt{id, 500, 0, ""}, attempt{id, 500, 0, "failed"}
		before, now := noon.Add(-time.Hour), noon
		switch name {
		case "fine":
			store(t, app, now, ok, retry)
		case "mostly failing":
			store(t, app, now, ok, retry, retry, retry)
		case "mended":
			store(t, app, before, retry)
			store(t, app, now, ok)
		case "lost":
			store(t, app, before, lost)
			store(t, app, now, ok)
		case "lost more":
			store(t, app, now, ok, ok, lost, lost)
		default:
			store(t, app, before, ok)
			store(t, app, now, retry, retry)
		}
	}
	countAll(t, app)
	for limit, want := range map[int]string{10: "mostly failing 0 4 12, failing 0 2 12, lost more 2 4 12, lost 1 1 12, ", 3: "mostly failing 0 4 12, failing 0 2 12, lost more 2 4 12, "} {
		troubled, err := activity.Troubled(app, activity.Day(noon).Start, limit)
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		for _, trouble := range troubled {
			got += fmt.Sprint(ids[trouble.Webhook], " ", trouble.Failed, trouble.Last.Total(), trouble.Hour.Hour()) + ", "
		}
		if got != want {
			t.Errorf("in trouble are %s", got)
		}
	}
}

// What is deleted before or after it is counted leaves the rest of the counts as they are.
func TestAttemptsThatAreGone(t *testing.T) {
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
	steps, err := activity.OfWebhooks(app, activity.Day(noon))
	if err != nil || steps[23].Delivered != 3 || steps[23].Retried != 1 {
		t.Errorf("counted are %v (%v)", steps[23], err)
	}
}

// The buckets tell a time that is never too short, and at most 42 % too long.
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
		if got := steps[23].Answers.Quantile(.95); got < took || got > max(time.Millisecond, took*142/100) {
			t.Errorf("%s is told as %s", took, got)
		}
	}
	if got := (activity.Answers)(nil).Quantile(.5); got != 0 {
		t.Errorf("nothing took %s", got)
	}
}

// emit adds events that happened at that time.
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

// Each event is counted once, in the hour in which it happened: also where two count at a time, where the last one that was
// counted is deleted, and where the rows get other numbers.
func TestEvents(t *testing.T) {
	t.Parallel()
	app := testkit.NewApp(t)
	check := func(want string) {
		t.Helper()
		steps, err := activity.OfEvents(app, activity.Day(noon))
		if got := fmt.Sprint(steps[22], steps[23]); err != nil || got != want {
			t.Errorf("counted are %s (%v), not %s", got, err, want)
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
	minutes, err := activity.OfEvents(app, activity.Hour(noon.Add(time.Minute)))
	if got := fmt.Sprint(minutes[58], minutes[59]); err != nil || got != "map[contact.deleted:2 contact.updated:12365] map[contact.updated:1]" {
		t.Errorf("by the minute there are %s (%v)", got, err)
	}
}

// Calls are counted by key and status, and the last of a key that were refused or failed are kept, no more than 100 of them.
func TestCalls(t *testing.T) {
	t.Parallel()
	app := testkit.NewApp(t)
	calls := activity.NewCallCounter()
	write := func() {
		t.Helper()
		if err := calls.Write(t.Context(), app); err != nil {
			t.Fatal(err)
		}
	}
	write()
	for _, status := range []int{200, 201, 304, 404, 400, 429, 503} {
		if told := calls.Count("k", status, noon); told != (status >= 400) {
			t.Errorf("details of %d are wanted: %t", status, told)
		}
	}
	calls.Count("k", 200, noon.Add(-time.Hour))
	calls.Count("", 401, noon)
	write()
	calls.Count("k", 200, noon)
	write()
	steps, err := activity.OfKey(app, "k", activity.Day(noon))
	if err != nil || steps[23] != (activity.Calls{Answered: 4, Refused: 2, Limited: 1, Failed: 1}) || steps[22] != (activity.Calls{Answered: 1}) {
		t.Errorf("the calls of the key are %v (%v)", steps, err)
	}
	all, err := activity.OfKeys(app, activity.Day(noon))
	if err != nil || all[23] != (activity.Calls{Answered: 4, Refused: 3, Limited: 1, Failed: 1}) {
		t.Errorf("all calls are %v (%v)", all, err)
	}
	minutes, err := activity.OfKey(app, "k", activity.Hour(noon))
	if err != nil || minutes[59] != (activity.Calls{Answered: 4, Refused: 2, Limited: 1, Failed: 1}) || minutes[58] != (activity.Calls{}) {
		t.Errorf("by the minute the calls of the key are %v (%v)", minutes, err)
	}

	for i := range 230 {
		calls.Keep("k", activity.Call{RequestID: fmt.Sprint(i), Method: "GET", Path: "/p", Status: 404, Code: "not_found", At: noon})
		if i%10 == 9 {
			write()
		}
	}
	calls.Keep("other", activity.Call{RequestID: "o", At: noon})
	write()
	kept, err := activity.FailedCalls(app, "k", noon)
	if err != nil || len(kept) != 100 || kept[0].RequestID != "229" || kept[99].RequestID != "130" || !kept[0].At.Equal(noon) {
		t.Errorf("%d calls are kept, the first is %v (%v)", len(kept), kept[0], err)
	}
	if kept, err := activity.FailedCalls(app, "k", noon.Add(activity.CallsKept+time.Second)); err != nil || len(kept) != 0 {
		t.Errorf("after a week there are %v (%v)", kept, err)
	}
}

// What a write that was ended has left is written by the next one.
func TestCallsOutliveAnEndedWrite(t *testing.T) {
	t.Parallel()
	app := testkit.NewApp(t)
	calls := activity.NewCallCounter()
	for i := range 600 { // more than are written together
		calls.Count(fmt.Sprint("k", i), 200, noon)
	}
	ended, end := context.WithCancel(t.Context())
	end()
	if err := calls.Write(ended, app); !errors.Is(err, context.Canceled) {
		t.Errorf("a write that was ended returns %v", err)
	}
	calls.Count("k0", 200, noon)
	if err := calls.Write(t.Context(), app); err != nil {
		t.Fatal(err)
	}
	all, err := activity.OfKeys(app, activity.Day(noon))
	if err != nil || all[23].Answered != 601 {
		t.Errorf("%d calls are counted (%v)", all[23].Answered, err)
	}
}

// Between two writes the calls of a flood are bounded: of each key, and of all.
func TestFloodOfCalls(t *testing.T) {
	t.Parallel()
	app := testkit.NewApp(t)
	calls := activity.NewCallCounter()
	for key := range 100 {
		for i := range 100 {
			calls.Keep(fmt.Sprint(key), activity.Call{RequestID: fmt.Sprint(i), At: noon})
		}
	}
	if err := calls.Write(t.Context(), app); err != nil {
		t.Fatal(err)
	}
	if n := testkit.Count(t, app, "SELECT count(*) FROM _failedCalls", nil); n != 1_000 {
		t.Errorf("%d calls are kept", n)
	}
	if kept, err := activity.FailedCalls(app, "0", noon); err != nil || len(kept) != 20 || kept[0].RequestID != "99" {
		t.Errorf("of a key %d calls are kept (%v)", len(kept), err)
	}
}

// The calls of a key go with it.
func TestCallsGoWithTheKey(t *testing.T) {
	t.Parallel()
	app := testkit.NewApp(t)
	tenant := testkit.Tenant(t, app, "Acme")
	testkit.Key(t, app, tenant)
	key, err := app.FindFirstRecordByData("api_keys", "tenant", tenant)
	if err != nil {
		t.Fatal(err)
	}
	calls := activity.NewCallCounter()
	calls.Keep(key.Id, activity.Call{At: noon})
	calls.Keep("another", activity.Call{At: noon})
	if err := calls.Write(t.Context(), app); err != nil {
		t.Fatal(err)
	}
	if err := app.Delete(key); err != nil {
		t.Fatal(err)
	}
	if n := testkit.Count(t, app, "SELECT count(*) FROM _failedCalls", nil); n != 1 {
		t.Errorf("%d calls are left", n)
	}
}

// What is old is deleted: hours with the rest, calls after a week, and minutes after two hours.
func TestPrune(t *testing.T) {
	t.Parallel()
	app := testkit.NewApp(t)
	calls := activity.NewCallCounter()
	for _, age := range []time.Duration{0, 2 * time.Hour, 8 * 24 * time.Hour, 29 * 24 * time.Hour, 31 * 24 * time.Hour} {
		at := noon.Add(-age)
		store(t, app, at, attempt{"w", 204, 0, "delivered"})
		emit(t, app, event.ContactCreated, at, "e"+age.String())
		calls.Count("k", 404, at)
		calls.Keep("k", activity.Call{At: at})
	}
	countAll(t, app)
	if err := calls.Write(t.Context(), app); err != nil {
		t.Fatal(err)
	}
	left := func() string {
		t.Helper()
		var got string
		err := app.DB().NewQuery("SELECT (SELECT count(*) FROM _webhookHours) || (SELECT count(*) FROM _eventHours) || (SELECT count(*) FROM _keyHours) || (SELECT count(*) FROM _failedCalls) || " +
			"(SELECT count(*) FROM _webhookMinutes) || (SELECT count(*) FROM _eventMinutes) || (SELECT count(*) FROM _keyMinutes)").Row(&got)
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	if err := activity.Prune(t.Context(), app, noon.Add(-30*24*time.Hour), noon); err != nil || left() != "4442222" {
		t.Errorf("what is kept for 30 days leaves %s (%v)", left(), err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := activity.Prune(ended, app, noon, noon); err == nil || left() != "4442222" {
		t.Errorf("a context that has ended does not end it: %v", err)
	}
	if err := activity.Prune(t.Context(), app, noon.Add(-time.Hour), noon); err != nil || left() != "1111111" {
		t.Errorf("what is kept for an hour leaves %s (%v)", left(), err)
	}
}

// A worker that stops has written down what was counted.
func TestWorkerStops(t *testing.T) {
	t.Parallel()
	app := testkit.NewApp(t)
	calls := activity.NewCallCounter()
	worker := activity.NewWorker(app, calls)
	worker.Stop() // before it was started there is nothing to stop
	worker.Start()
	calls.Count("k", 200, time.Now())
	emit(t, app, event.ContactCreated, time.Now(), "e")
	worker.Stop()
	if n := testkit.Count(t, app, "SELECT (SELECT count(*) FROM _keyHours) + (SELECT count(*) FROM _eventHours)", nil); n != 2 {
		t.Errorf("%d rows are written", n)
	}
}

// BenchmarkCount counts calls, as many at a time as there are processors.
func BenchmarkCount(b *testing.B) {
	calls := activity.NewCallCounter()
	now := time.Now()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			calls.Count("0mm8yqpxck3w9xa", 200, now)
		}
	})
}
