package delivery

import (
	"fmt"
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
	return &fleet{
		dispatcher: newDispatcher(options), t: t, now: time.Now().Truncate(time.Millisecond), due: map[string][]*Job{},
	}
}

func (f *fleet) at() instant { return instant{f.now, f.elapsed} }

// add adds due deliveries of a webhook of the tenant.
func (f *fleet) add(tenant, webhook string, n int) {
	for range n {
		f.events++
		f.due[webhook] = append(f.due[webhook], &Job{
			DeliveryID: fmt.Sprint("d", f.events), EventID: fmt.Sprint("e", f.events), Attempt: 1,
			Endpoint: &Endpoint{WebhookID: webhook, TenantID: tenant},
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
	for webhook, n := range fetch.Limits {
		jobs := f.due[webhook]
		due = append(due, jobs[:min(n, len(jobs))]...)
	}
	started = map[string]int{}
	for _, job := range f.fetched(f.at(), due, 0, nil) {
		started[job.Endpoint.WebhookID]++
	}
	return started
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

func sum(counts map[string]int) (n int) {
	for _, c := range counts {
		n += c
	}
	return n
}
