package delivery

import (
	"errors"
	"slices"
	"testing"
	"time"
)

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
		if fetch, some := f.fetch(f.now); !some || fetch.Limits["webhook"] == 0 {
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
	for range 600 {
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
			jobs = jobs[:min(operation.Limits["webhook"], len(jobs))]
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
