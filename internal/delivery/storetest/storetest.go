// Package storetest holds the store to the behaviour of a delivery.Queue, and of what others do with deliveries.
package storetest

import (
	"context"
	"testing"
	"time"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/delivery"
	"contactbase/internal/delivery/store"
)

// Backend is an empty store, and access to its data from outside.
type Backend interface {
	// Store returns the store. Another call returns a second store of the same deliveries, as another process has it.
	Store(t *testing.T) *store.Store

	// AddTenant adds a tenant with the paid feature and returns its id.
	AddTenant(t *testing.T) string
	// SetFeature switches the paid feature of a tenant.
	SetFeature(t *testing.T, tenant string, enabled bool)

	// AddWebhook adds a webhook made at that time and returns its id. Its URL, secret, headers and rate are the
	// constants below.
	AddWebhook(t *testing.T, tenant string, at time.Time) string
	// SetDisabled disables or enables a webhook at that time.
	SetDisabled(t *testing.T, webhook string, disabled bool, at time.Time)
	// DeleteWebhook deletes a webhook and none of its deliveries.
	DeleteWebhook(t *testing.T, webhook string)
	// Disabled reports whether a webhook is disabled, and why.
	Disabled(t *testing.T, webhook string) (disabled bool, reason string)

	// Emit adds a contact.updated event about a contact ("" for none), which exists, made at that time and without
	// deliveries. It returns its id.
	Emit(t *testing.T, tenant, contact string, at time.Time) string
	// DeliveriesOf returns the ids of an event's deliveries, by webhook; none if the event does not exist.
	DeliveriesOf(t *testing.T, event string) map[string]string
	// DeleteEvents deletes events with their deliveries, one after the other.
	DeleteEvents(t *testing.T, events ...string)
	// DeleteContact deletes a contact and nothing else.
	DeleteContact(t *testing.T, contact string)
	// Erased reports whether an event is redacted.
	Erased(t *testing.T, event string) bool

	// App returns the store's app, and Transact runs a function in a transaction of it.
	App() core.App
	Transact(do func(tx core.App) error) error

	// AddEvent adds an event about a contact ("" for none), which exists, and its deliveries to the webhooks, all made
	// and due at that time; the cursor moves past it. It returns the ids of the deliveries.
	AddEvent(t *testing.T, tenant, contact string, at time.Time, webhooks ...string) []string

	// Attempts returns the number of all stored attempts.
	Attempts(t *testing.T) int
	// State returns what is stored of a delivery.
	State(t *testing.T, delivery string) State
}

// What AddWebhook gives every webhook.
const (
	URL         = "https://hooks.example.com/in"
	Secret      = "whsec_Y29udGFjdGJhc2UtZXhhbXBsZS1zZWNyZXQtMzItYnk="
	HeaderName  = "Authorization"
	HeaderValue = "Bearer hunter2"

	MaxPerSecond = 900
)

// State is what is stored of a delivery.
type State struct {
	Status     string
	Attempts   int
	Next       time.Time // zero if none is due
	LastStatus int
	LastError  string
	Log        []Logged // the attempts in the order of their numbers
}

// Logged is what is stored of an attempt.
type Logged struct {
	Number       int
	Status       int
	Error        string
	ResponseBody string
}

// test is a behaviour that every store has.
type test struct {
	name string
	run  func(*testing.T, *fixture)
}

// suite is the behaviour that every store has.
var suite = []test{
	{"events are fanned out to the webhooks that want them", testFanOut},
	{"events of another process are fanned out, in order", testFanOutForOthers},
	{"an event is queued behind a failing one of its contact", testFanOutBehindFailing},
	{"nothing is fanned out twice", testFanOutOnce},
	{"a backlog is fanned out in chunks", testFanOutInChunks},
	{"few events for many webhooks are fanned out in chunks", testFanOutToMany},
	{"an event of more webhooks than a write takes is fanned out in several", testFanOutToVeryMany},
	{"a webhook gets no events from before it was made, enabled, or disabled", testFanOutAfterChange},
	{"everything is fanned out at once", testFanOutManyBefore},
	{"a disabled endpoint misses what waits for fan-out", testFanOutAfterGone},
	{"recovery comes after fan-out", testFanOutBeforeRecovery},
	{"nothing is lost if the event at the cursor is deleted", testFanOutAfterDeletion},
	{"a ping is not fanned out", testFanOutNoPing},
	{"an event of a clock that was ahead is due after fan-out", testFanOutClockAhead},
	{"erasure waits for fan-out", testEraseAfterFanOut},
	{"an event is not pruned before fan-out", testPruneBeforeFanOut},
	{"a job carries all that an attempt needs", testJob},
	{"a delivery is not claimed before it is due", testDue},
	{"results are stored", testComplete},
	{"a disabled endpoint and a tenant without the feature keep pending deliveries", testPaused},
	{"410 disables the endpoint", testGone},
	{"an endpoint that failed for three days is disabled", testDead},
	{"an endpoint that was paused for three days is not", testPausedIsNotDead},
	{"an endpoint that succeeded in between is not", testSuccessIsNotDead},
	{"an endpoint's deliveries are claimed as they became due", testDueOrder},
	{"a contact's deliveries wait for earlier ones", testOrder},
	{"a contact's deliveries wait for a failing one in its first minute", testOrderOfFailing},
	{"a waiting delivery is due when the failing one ends", testOrderAfterRetry},
	{"redeliveries keep the order", testOrderOfRedelivered},
	{"the order is of one contact and one endpoint", testOrderScope},
	{"the order holds at random, and everything ends", testOrderAtRandom},
	{"a contact with many deliveries delays no other", testManyOfOne},
	{"redelivery sends again", testRedeliver},
	{"missed events are recovered, in order", testRecover},
	{"events before the webhook are recovered on request", testRecoverEarlier},
	{"waiting retries are sent now on request", testRecoverPending},
	{"a ping goes to a disabled endpoint, and is stored with its attempt", testPing},
	{"a ping of a webhook that is deleted meanwhile leaves nothing", testPingGone},
	{"a ping whose endpoint is gone disables it", testPingDisables},
	{"the delivery behind a dequeued one is due", testDequeue},
	{"the deliveries to a webhook are deleted", testDeleteDeliveries},
	{"finished events are pruned", testPrune},
	{"the backlog is counted", testBacklog},
	{"due deliveries stay due when the clock is set back", testSetBackDue},
	{"a retry waits no longer when the clock is set back", testSetBackRetry},
	{"the order survives a clock that is set back", testSetBackOrder},
	{"a waiting delivery waits a minute when the clock is set back", testSetBackQueue},
	{"a result of an earlier attempt has no effect", testLateResult},
	{"a result of a delivery that is gone is dropped", testResultOfNothing},
	{"deliveries in flight at a crash are due again", testCrash},
	{"an event in flight is redacted after its arrival", testErasedInFlight},
	{"a redelivery in front of a claim blocks nothing", testOvertaken},
}

// Run runs the suite. open returns an empty backend for each test.
func Run(t *testing.T, open func(t *testing.T) Backend) {
	for _, test := range suite {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			backend := open(t)
			test.run(t, &fixture{
				Backend: backend, store: backend.Store(t),
				now: time.Now().UTC().Truncate(time.Millisecond), claims: map[string]*delivery.Job{},
			})
		})
	}
}

// fixture is a backend with a store and a clock that only the test moves.
type fixture struct {
	Backend
	store  *store.Store
	now    time.Time
	claims map[string]*delivery.Job // by delivery, as the engine keeps them
}

// claim claims due deliveries, at most 10 of an endpoint.
func (f *fixture) claim(t *testing.T) []*delivery.Job {
	t.Helper()
	return f.claimSome(t, 10)
}

// claimSome claims due deliveries, as the dispatcher does: nothing twice, and no first attempt beside another claim of
// its contact.
func (f *fixture) claimSome(t *testing.T, perEndpoint int) (jobs []*delivery.Job) {
	t.Helper()
	agenda, err := f.store.Poll(t.Context())
	if err != nil {
		t.Fatalf("polling: %v", err)
	}
	fetch := delivery.Fetch{Now: f.now, Limits: map[string]int{}}
	for _, due := range agenda.Due {
		if !due.At.After(f.now) {
			fetch.Limits[due.Webhook] = perEndpoint + 2*len(f.claims)
		}
	}
	due, err := f.store.Fetch(t.Context(), fetch)
	if err != nil {
		t.Fatalf("fetching: %v", err)
	}
	taken := map[string]int{}
	for _, job := range due {
		if f.claims[job.DeliveryID] == nil &&
			taken[job.Endpoint.WebhookID] < perEndpoint && (job.Attempt > 1 || !f.busy(job)) {
			f.claims[job.DeliveryID] = job
			taken[job.Endpoint.WebhookID]++
			jobs = append(jobs, job)
		}
	}
	return jobs
}

// busy reports whether a delivery of the job's contact to its endpoint is claimed.
func (f *fixture) busy(job *delivery.Job) bool {
	for _, other := range f.claims {
		if job.ContactID != "" && other.ContactID == job.ContactID && other.Endpoint.WebhookID == job.Endpoint.WebhookID {
			return true
		}
	}
	return false
}

// claimOnly claims and expects exactly these deliveries, in any order.
func (f *fixture) claimOnly(t *testing.T, want ...string) []*delivery.Job {
	t.Helper()
	jobs := f.claim(t)
	expect(t, jobs, want...)
	return jobs
}

func expect(t *testing.T, jobs []*delivery.Job, want ...string) {
	t.Helper()
	missing := map[string]bool{}
	for _, id := range want {
		missing[id] = true
	}
	for _, job := range jobs {
		if !missing[job.DeliveryID] {
			t.Fatalf("claimed %s, want only %v", job.DeliveryID, want)
		}
		delete(missing, job.DeliveryID)
	}
	if len(missing) > 0 {
		t.Fatalf("did not claim %v of %v", missing, want)
	}
}

// crash forgets all claims, as kill -9 does, and opens the store again.
func (f *fixture) crash(t *testing.T) {
	clear(f.claims)
	f.store = f.Store(t)
}

// The results that the suite reports.

func (f *fixture) delivered(job *delivery.Job) delivery.Result {
	return f.result(job, delivery.Outcome{Status: 200}, delivery.Decision{Status: delivery.StatusDelivered})
}

func (f *fixture) retry(job *delivery.Job, next time.Time) delivery.Result {
	return f.result(job, delivery.Outcome{Status: 500}, delivery.Decision{Status: delivery.StatusPending, Next: next})
}

func (f *fixture) failed(job *delivery.Job) delivery.Result {
	return f.result(job, delivery.Outcome{Failure: delivery.FailureTimeout},
		delivery.Decision{Status: delivery.StatusFailed})
}

func (f *fixture) result(job *delivery.Job, outcome delivery.Outcome, decision delivery.Decision) delivery.Result {
	attempt := &delivery.Attempt{
		DeliveryID:      job.DeliveryID,
		Number:          job.Attempt,
		Started:         f.now,
		Duration:        42 * time.Millisecond,
		Status:          outcome.Status,
		RequestHeaders:  `{"X-Attempt":"1"}`,
		ResponseHeaders: `{"Server":"test"}`,
		ResponseBody:    "the answer",
		Outcome:         outcome,
	}
	if outcome.Failure != delivery.FailureNone {
		attempt.Error = "timeout"
	}
	return delivery.Result{Job: job, Attempt: attempt, Decision: decision}
}

// complete commits results and ends their claims.
func (f *fixture) complete(t *testing.T, results ...delivery.Result) {
	t.Helper()
	if _, err := f.store.Commit(context.Background(), delivery.Commit{Now: f.now, Results: results}); err != nil {
		t.Fatalf("committing: %v", err)
	}
	for _, result := range results {
		if f.claims[result.Job.DeliveryID] == result.Job {
			delete(f.claims, result.Job.DeliveryID)
		}
	}
}

// ask redelivers a delivery.
func (f *fixture) ask(t *testing.T, id string, at time.Time) {
	t.Helper()
	if _, err := f.store.Redeliver(id, at); err != nil {
		t.Fatalf("asking for %s: %v", id, err)
	}
}

// attemptOnce claims one delivery and commits its result.
func (f *fixture) attemptOnce(t *testing.T, id string, result func(*delivery.Job) delivery.Result) {
	t.Helper()
	f.complete(t, result(f.claimOnly(t, id)[0]))
}

// nextDue returns when the next delivery becomes due.
func (f *fixture) nextDue(t *testing.T) (next time.Time) {
	t.Helper()
	agenda, err := f.store.Poll(t.Context())
	if err != nil {
		t.Fatalf("polling: %v", err)
	}
	for _, due := range agenda.Due {
		if due.At.After(f.now) && (next.IsZero() || due.At.Before(next)) {
			next = due.At
		}
	}
	return next
}

// state expects a delivery in a state.
func (f *fixture) state(t *testing.T, id, status string, attempts int) State {
	t.Helper()
	state := f.State(t, id)
	if state.Status != status || state.Attempts != attempts {
		t.Fatalf("the delivery is %s after %d attempts, want %s after %d", state.Status, state.Attempts, status, attempts)
	}
	return state
}
