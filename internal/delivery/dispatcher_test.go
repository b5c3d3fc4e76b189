package delivery

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"
)

// fleet is a dispatcher with endpoints that have something to send.
type fleet struct {
	*dispatcher
	t       *testing.T
	now     time.Time
	elapsed time.Duration
	due     map[string][]*Job // by webhook
	events  int
}

func newFleet(t *testing.T, options Options) *fleet {
	options.Policy, options.Random = DefaultPolicy(), func() float64 { return .5 }
	if options.MaxInFlight == 0 {
		options.MaxInFlight = 100
	}
	if options.PerEndpoint == 0 {
		options.PerEndpoint = 10
	}
	return &fleet{dispatcher: newDispatcher(options), t: t, now: time.Now().Truncate(time.Millisecond), due: map[string][]*Job{}}
}

func (f *fleet) at() instant { return instant{f.now, f.elapsed} }

// add adds due deliveries of a webhook of the tenant.
func (f *fleet) add(tenant, webhook string, n int) {
	for range n {
		f.events++
		f.due[webhook] = append(f.due[webhook], &Job{
			DeliveryID: fmt.Sprint("d", f.events), EventID: fmt.Sprint("e", f.events), Attempt: 1, Endpoint: &Endpoint{WebhookID: webhook, TenantID: tenant},
		})
	}
	f.agenda[webhook] = Due{Webhook: webhook, Tenant: tenant, At: f.now}
}

// send fetches once, and returns how many attempts start, by webhook.
func (f *fleet) send() (started map[string]int) {
	f.t.Helper()
	fetch, some := f.fetch(f.now)
	if !some {
		return nil
	}
	var due []*Job
	for webhook, n := range fetch.Due {
		jobs := f.due[webhook]
		due = append(due, jobs[:min(n, len(jobs))]...)
	}
	started = map[string]int{}
	for _, job := range f.fetched(f.at(), due, 0, nil) {
		started[job.Endpoint.WebhookID]++
	}
	return started
}

func sum(counts map[string]int) (n int) {
	for _, c := range counts {
		n += c
	}
	return n
}

// A new endpoint gets few attempts at a time, and all of them together no more than the engine may have.
func TestDispatcherKeepsItsLimits(t *testing.T) {
	t.Parallel()
	f := newFleet(t, Options{MaxInFlight: 7, PerEndpoint: 3})
	for n := range 5 {
		f.add(fmt.Sprint("tenant", n), fmt.Sprint("webhook", n), 6)
	}
	for webhook, n := range f.send() {
		if n > firstSlots {
			t.Errorf("%s gets %d attempts", webhook, n)
		}
	}
	for range 5 {
		f.send()
	}
	if len(f.claims) != 7 || f.inFlight != 7 {
		t.Errorf("%d claims, %d attempts", len(f.claims), f.inFlight)
	}
}

// A tenant takes no more than half of what the others leave.
func TestDispatcherLimitsATenant(t *testing.T) {
	t.Parallel()
	f := newFleet(t, Options{MaxInFlight: 16})
	for n := range 20 {
		f.add("large", fmt.Sprint("webhook", n), 3)
	}
	for range 10 {
		f.send()
	}
	if n := len(f.claims); n != 8 {
		t.Errorf("the large tenant has %d claims of 16", n)
	}
	f.add("small", "other", 3)
	if n := f.send()["other"]; n != 2 {
		t.Errorf("the small tenant gets %d attempts", n)
	}
}

// Slots are divided over tenants, not over endpoints, and go round.
func TestDispatcherIsFair(t *testing.T) {
	t.Parallel()
	f := newFleet(t, Options{MaxInFlight: 40})
	for n := range 30 {
		f.add("large", fmt.Sprint("webhook", n), 5)
	}
	for n := range 2 {
		f.add("small", fmt.Sprint("other", n), 5)
	}
	f.options.MaxInFlight = 4
	if started := f.send(); started["other0"]+started["other1"] != 2 || sum(started) != 4 {
		t.Errorf("of 4 attempts the small tenant gets %v", started)
	}

	f = newFleet(t, Options{MaxInFlight: 1, PerEndpoint: 1})
	served := map[string]int{}
	for n := range 7 {
		f.add("tenant", fmt.Sprint("webhook", n), 3)
	}
	for range 21 {
		for webhook := range f.send() {
			served[webhook]++
			f.finish(webhook, Outcome{Status: 200}, nil)
		}
	}
	for webhook, n := range served {
		if n != 3 {
			t.Errorf("%s is served %d times in 3 rounds", webhook, n)
		}
	}
}

// finish has the endpoint answer what is in flight there, and commits the results, which the database may refuse.
func (f *fleet) finish(webhook string, outcome Outcome, refused error) {
	f.t.Helper()
	for _, c := range f.claims {
		if c.job.Endpoint.WebhookID == webhook && !c.started.IsZero() {
			_, start := f.answered(f.at(), c.job, &Attempt{Outcome: outcome})
			if len(start) > 0 && outcome.Failure != FailureNone {
				f.t.Errorf("%s gets %d attempts after a failure", webhook, len(start))
			}
		}
	}
	commit := f.commit(f.now)
	f.committed(f.at(), nil, refused)
	if refused != nil {
		return
	}
	for _, result := range commit.Results {
		for n, job := range f.due[webhook] {
			if job == result.Job {
				f.due[webhook] = append(f.due[webhook][:n:n], f.due[webhook][n+1:]...)
				break
			}
		}
	}
}

// What an admin asks for passes an open circuit, once and alone.
func TestDispatcherPassesWhatIsAskedFor(t *testing.T) {
	t.Parallel()
	f := newFleet(t, Options{})
	f.add("tenant", "webhook", 1)
	f.send()
	f.finish("webhook", Outcome{Failure: FailureNetwork}, nil)
	f.due["webhook"] = nil
	f.add("tenant", "webhook", 3)
	if started := f.send(); sum(started) != 0 {
		t.Errorf("while the circuit is open, %v are attempted", started)
	}
	f.agenda["webhook"] = Due{Webhook: "webhook", Tenant: "tenant"}
	if started := f.send(); started["webhook"] != 1 {
		t.Errorf("of those that were asked for, %v are attempted", started)
	}
	if started := f.send(); sum(started) != 0 {
		t.Errorf("beside it, %v are attempted", started)
	}
}

// A failure of the endpoint frees what waits for it.
func TestDispatcherForgetsWhatWaitsForAFailure(t *testing.T) {
	t.Parallel()
	f := newFleet(t, Options{})
	f.add("tenant", "webhook", 1)
	f.send()
	f.finish("webhook", Outcome{Status: 200}, nil) // at once: from now on deliveries are claimed ahead
	f.add("tenant", "webhook", 40)
	f.send()
	if len(f.claims) <= f.inFlight {
		t.Fatalf("of %d claims none waits", len(f.claims))
	}
	f.finish("webhook", Outcome{Failure: FailureTimeout}, nil)
	if len(f.claims) != 0 || len(f.contacts) != 0 || len(f.tenants) != 0 {
		t.Errorf("left are %d claims, %v and %v", len(f.claims), f.contacts, f.tenants)
	}
}

// What the database refuses is committed again, after a pause and at last one by one, and counts as claimed until then.
func TestDispatcherCommitsAgain(t *testing.T) {
	t.Parallel()
	f := newFleet(t, Options{})
	f.add("tenant", "webhook", 2)
	f.send()
	refused := errors.New("the disk is full")
	f.finish("webhook", Outcome{Status: 200}, refused)
	for tries := 1; ; tries++ {
		if len(f.claims) != 2 || len(f.results) != 2 {
			t.Fatalf("after %d refusals: %d claims, %d results", tries, len(f.claims), len(f.results))
		}
		if at, some := f.commitTime(); !some || at != f.elapsed+errorPause {
			t.Fatalf("the next commit is at %v", at)
		}
		if f.fetchFrom != f.commitAt {
			t.Fatalf("after %d refusals, more is fetched in %v, before the commit", tries, f.fetchFrom-f.elapsed)
		}
		f.elapsed += errorPause
		want := 2
		if tries >= singleAfter {
			want = 1
		}
		if commit := f.commit(f.now); len(commit.Results) != want {
			t.Fatalf("after %d refusals %d results are committed", tries, len(commit.Results))
		}
		if tries > singleAfter {
			break
		}
		f.committed(f.at(), nil, refused)
	}
	f.committed(f.at(), nil, nil)
	if len(f.claims) != 1 || len(f.results) != 1 || f.failure != nil {
		t.Errorf("after a commit: %d claims, %d results, %v", len(f.claims), len(f.results), f.failure)
	}
	f.add("tenant", "other", 2)
	f.send()
	f.finish("other", Outcome{Status: 200}, nil)
	if len(f.results) != 0 {
		t.Errorf("once the database takes results again, one commit leaves %d of 3", len(f.results))
	}
}

// A first attempt waits for the claims of its contact, also one with a row. A retry does not.
func TestDispatcherKeepsTheOrderOfDueDeliveries(t *testing.T) {
	t.Parallel()
	f := newFleet(t, Options{})
	f.limiters["webhook"] = &limiter{limit: 10}
	f.add("tenant", "webhook", 4)
	for i, of := range []struct {
		contact string
		attempt int
	}{{"ada", 1}, {"ada", 1}, {"ada", 2}, {"bob", 1}} {
		f.due["webhook"][i].ContactID, f.due["webhook"][i].Attempt = of.contact, of.attempt
	}
	f.send()
	claimed := []string{}
	for id := range f.claims {
		claimed = append(claimed, id)
	}
	if slices.Sort(claimed); !slices.Equal(claimed, []string{"d1", "d3", "d4"}) {
		t.Errorf("claimed are %v", claimed)
	}
}

// New deliveries lead to a fetch, and so does what a commit makes due.
func TestDispatcherFetchesWhatIsReady(t *testing.T) {
	t.Parallel()
	f := newFleet(t, Options{})
	ready := []Ready{{"webhook", "tenant"}}
	for what, notes := range map[string]func(){
		"a fan-out": func() { f.fannedOut(f.at(), FannedOut{Pending: ready}, 0, nil) },
		"a commit":  func() { f.committed(f.at(), ready, nil) },
	} {
		clear(f.agenda)
		f.fetchWanted = false
		if notes(); !f.fetchWanted {
			t.Errorf("%s leads to no fetch", what)
		}
		if fetch, some := f.fetch(f.now); !some || fetch.Due["webhook"] == 0 {
			t.Errorf("%s leads to the fetch %+v", what, fetch)
		}
	}
	clear(f.agenda)
	if _, some := f.fetch(f.now); some {
		t.Error("a fetch without a due delivery")
	}
}

// While a fan-out leads to the next, deliveries are fetched and committed in between.
func TestDispatcherAlternates(t *testing.T) {
	t.Parallel()
	f := newFleet(t, Options{})
	f.wake()
	counts := map[string]int{}
	for range 150 {
		operation, wait := f.next(f.at())
		const took = time.Millisecond
		switch operation := operation.(type) {
		case fanOut:
			counts["fan-outs"]++
			f.elapsed += took
			f.add("tenant", "webhook", 5)
			f.fannedOut(f.at(), FannedOut{Pending: []Ready{{"webhook", "tenant"}}, More: true}, took, nil)
		case Fetch:
			counts["fetches"]++
			f.elapsed += took
			jobs := f.due["webhook"]
			jobs = jobs[:min(operation.Due["webhook"], len(jobs))]
			for _, job := range f.fetched(f.at(), jobs, took, nil) {
				f.answered(f.at(), job, &Attempt{Outcome: Outcome{Status: 200}})
			}
		case Commit:
			counts["commits"]++
			f.elapsed += took
			f.committed(f.at(), nil, nil)
			for _, result := range operation.Results {
				f.due["webhook"] = slices.DeleteFunc(f.due["webhook"], func(job *Job) bool { return job == result.Job })
			}
		case poll:
			counts["polls"]++
			f.polled(f.at(), Agenda{Due: []Due{{Webhook: "webhook", Tenant: "tenant", At: f.now}}}, took, nil)
		default:
			f.elapsed += wait
		}
	}
	for _, what := range []string{"fan-outs", "fetches", "commits", "polls"} {
		if counts[what] == 0 {
			t.Errorf("no %s among %v", what, counts)
		}
	}
}

// What waits for a slot is not sent once its webhook is deleted or disabled: a poll does not find the webhook then.
func TestDispatcherForgetsDeletedWebhooks(t *testing.T) {
	t.Parallel()
	f := newFleet(t, Options{PerEndpoint: 1})
	for _, webhook := range []string{"gone", "kept"} {
		f.add("tenant", webhook, 9)
	}
	f.send()
	for _, jobs := range f.due {
		f.claim(f.now, jobs[len(jobs)-1]) // it waits for a slot
	}
	f.polled(f.at(), Agenda{Due: []Due{{Webhook: "kept", Tenant: "tenant", At: f.now}}}, 0, nil)
	for webhook, jobs := range f.due {
		_, start := f.answered(f.at(), jobs[0], &Attempt{Outcome: Outcome{Status: 200}})
		if (len(start) > 0) != (webhook == "kept") {
			t.Errorf("%d more attempts of %s start", len(start), webhook)
		}
	}
}

// A webhook may limit its rate: attempts are spaced evenly, and none is dropped. Other webhooks do not wait.
func TestDispatcherKeepsTheRate(t *testing.T) {
	t.Parallel()
	for rate, seconds := range map[int]int{1: 9, 5: 6, 50: 3, 1000: 2} {
		t.Run(fmt.Sprint(rate), func(t *testing.T) {
			t.Parallel()
			f := newFleet(t, Options{MaxInFlight: 1_000})
			f.add("tenant", "limited", rate*seconds)
			for _, job := range f.due["limited"] {
				job.Endpoint.MaxPerSecond = rate
			}
			var sent []time.Time
			for began := f.now; len(f.due["limited"]) > 0; {
				left := len(f.due["limited"])
				f.send()
				f.finish("limited", Outcome{Status: 200}, nil)
				for range left - len(f.due["limited"]) {
					sent = append(sent, f.now)
				}
				if f.now.Sub(began) > time.Duration(2*seconds)*time.Second {
					t.Fatalf("%d of %d are sent after %v", len(sent), rate*seconds, f.now.Sub(began))
				}
				f.now = f.now.Add(time.Millisecond)
				if f.wakeAt.After(f.now) {
					f.now = f.wakeAt
				}
			}
			for n, at := range sent {
				if n >= rate && at.Sub(sent[n-rate]) < time.Second-2*rateBurst {
					t.Fatalf("%d attempts start within %v", rate+1, at.Sub(sent[n-rate]))
				}
			}
			if took, want := sent[len(sent)-1].Sub(sent[0]), time.Duration(seconds)*time.Second; took > want {
				t.Errorf("%d attempts take %v, more than %v", len(sent), took, want)
			}
		})
	}
}

// The clock is set back after an attempt of a webhook with a rate: it does not wait until the clock is right again.
func TestRateOutlivesTheClock(t *testing.T) {
	t.Parallel()
	l, now := newLimiter(), time.Now()
	l.takeRate(1, now)
	if l.slots(now, false) != 0 || l.slots(now, true) != 0 || l.wait(now) != time.Second-rateBurst {
		t.Errorf("%d are free, the wait is %v", l.slots(now, false), l.wait(now))
	}
	if back := now.Add(-time.Hour); l.slots(back, false) != 1 || l.wait(back) > 0 {
		t.Errorf("an hour earlier %d are free, the wait is %v", l.slots(back, false), l.wait(back))
	}
	l.takeRate(0, now)
	if l.slots(now, false) != firstSlots {
		t.Errorf("without a rate %d are free", l.slots(now, false))
	}
}
