package delivery_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pocketbase/dbx"
	"github.com/pocketbase/pocketbase/core"
	"pgregory.net/rapid"

	"contactbase/internal/delivery"
	"contactbase/internal/stamp"
	"contactbase/internal/testkit"
)

// TestModel plays the dispatcher and the store against a model of what they promise: each delivery is in flight once at
// a time, the first attempts for a contact keep the order of its events, a tenant that is drained has nothing in
// flight, and everything ends, whatever the database, the receivers, admins and crashes do in between.
func TestModel(t *testing.T) {
	t.Parallel()
	app := testkit.NewApp(t)
	other := testkit.Reopen(t, app)
	rapid.Check(t, func(rt *rapid.T) {
		m := newModel(rt, app, other)
		for range rapid.IntRange(30, 120).Draw(rt, "commands") {
			m.command(rapid.SampledFrom(commands).Draw(rt, "command"))
		}
		m.finish()
	})
}

// commands are what happens, more often what comes more often here.
var commands = []string{
	"emit", "emit", "emit", "emit", "work", "work", "work", "work", "answer", "answer", "answer", "answer", "wait", "wait",
	"fan out", "toggle", "redeliver", "crash", "freeze",
}

// contacts are the contacts of each tenant.
var contacts = []string{"one", "two"}

// filters are those of the tenants' webhooks. All events pass. The second takes so many steps that two events take two
// fan-outs.
var filters = []string{"len(type) >= 0", strings.Repeat("len(type) in 0..99 || ", 20) + "true"}

// model is what the test knows.
type model struct {
	*rapid.T
	app        core.App // of the engine
	other      core.App // of another process
	dispatcher *delivery.Dispatcher
	tenants    []string
	webhooks   map[string]string // tenants by webhooks
	order      []string          // the webhooks
	disabled   map[string]bool
	frozen     map[string]bool
	all        []*expected
	byTarget   map[[2]string]*expected // by event and webhook
	flying     []*delivery.Job
}

// expected is a delivery that has to be made.
type expected struct {
	event, webhook, contact string
	made                    time.Time
	attempts                int // answered
	flying, over, asked     bool
	answered                bool // and not committed yet, as far as the engine knows
	doubtful                bool // its webhook was disabled before it was stored
}

func newModel(t *rapid.T, app, other core.App) *model {
	m := &model{T: t, app: app, other: other, webhooks: map[string]string{}, disabled: map[string]bool{}, frozen: map[string]bool{}, byTarget: map[[2]string]*expected{}}
	for _, table := range []string{"_moves", "delivery_attempts", "deliveries", "events", "webhooks", "contacts", "tenants"} {
		m.execute("DELETE FROM "+table, nil)
	}
	for n := range 2 {
		tenant := core.GenerateDefaultRandomId()
		m.execute("INSERT INTO tenants (id, name, apiEnabled) VALUES ({:id}, {:id}, 1)", dbx.Params{"id": tenant})
		m.tenants = append(m.tenants, tenant)
		for _, contact := range contacts {
			m.execute("INSERT INTO contacts (id, tenant, name) VALUES ({:id}, {:tenant}, 'Grace')", dbx.Params{"id": contact + tenant, "tenant": tenant})
		}
		for range 2 - n {
			webhook := core.GenerateDefaultRandomId()
			m.execute("INSERT INTO webhooks (id, tenant, url, secret, filter, created, updated) VALUES ({:id}, {:tenant}, 'https://example.com', 'a secret', {:filter}, {:at}, {:at})",
				dbx.Params{"id": webhook, "tenant": tenant, "filter": filters[n], "at": stamp.Stored(time.Now())})
			m.webhooks[webhook] = tenant
			m.order = append(m.order, webhook)
		}
	}
	m.start(time.Now().UTC().Truncate(time.Millisecond))
	return m
}

// start starts an engine that knows nothing.
func (m *model) start(now time.Time) {
	options := delivery.Options{
		MaxInFlight: 20, PerEndpoint: 2, Random: func() float64 { return .5 },
		Policy: delivery.Policy{Delays: []time.Duration{0, 5 * time.Second, time.Minute, 2 * time.Minute}},
	}
	m.dispatcher = delivery.NewDispatcher(options, now)
	m.flying = nil
}

func (m *model) execute(query string, params dbx.Params) {
	if _, err := m.app.NonconcurrentDB().NewQuery(query).Bind(params).Execute(); err != nil {
		m.Fatalf("%s: %v", query, err)
	}
}

func (m *model) command(name string) {
	switch name {
	case "emit":
		for range rapid.IntRange(1, 4).Draw(m.T, "events") {
			m.emit()
		}
	case "work":
		for range rapid.IntRange(1, 6).Draw(m.T, "steps") {
			m.step()
		}
	case "answer":
		if len(m.flying) > 0 {
			m.answer(rapid.IntRange(0, len(m.flying)-1).Draw(m.T, "job"), rapid.IntRange(0, 3).Draw(m.T, "outcome"))
		}
	case "wait":
		m.dispatcher.Now = m.dispatcher.Now.Add(time.Duration(rapid.IntRange(1, 4_000).Draw(m.T, "ms")) * 10 * time.Millisecond)
	case "fan out":
		m.fanOut()
	case "toggle":
		m.toggle(rapid.SampledFrom(m.order).Draw(m.T, "webhook"))
	case "redeliver":
		m.redeliver()
	case "crash":
		m.start(m.dispatcher.Now)
		m.recall()
	case "freeze":
		m.freeze(rapid.SampledFrom(m.tenants).Draw(m.T, "tenant"))
	}
}

// emit writes an event, which every webhook of its tenant gets that is enabled.
func (m *model) emit() {
	tenant := rapid.SampledFrom(m.tenants).Draw(m.T, "tenant")
	if m.frozen[tenant] {
		return
	}
	contact := ""
	if n := rapid.IntRange(0, len(contacts)).Draw(m.T, "contact"); n < len(contacts) {
		contact = contacts[n] + tenant
	}
	now, id := m.dispatcher.Now, core.GenerateDefaultRandomId()
	m.execute("INSERT INTO events (id, tenant, type, contact, payload, created) VALUES ({:id}, {:tenant}, 'contact.updated', {:contact}, '{}', {:at})",
		dbx.Params{"id": id, "tenant": tenant, "contact": contact, "at": stamp.Stored(now)})
	for _, webhook := range m.order {
		if m.webhooks[webhook] == tenant && !m.disabled[webhook] {
			e := &expected{event: id, webhook: webhook, contact: contact, made: now}
			m.all, m.byTarget[[2]string{id, webhook}] = append(m.all, e), e
		}
	}
	if rapid.Bool().Draw(m.T, "wake") {
		m.dispatcher.Wake()
	}
}

// step has the engine do the next thing that it wants to do, which may fail, or seem to.
func (m *model) step() {
	refused := errors.New("the disk is full")
	var before, after error
	switch rapid.IntRange(0, 19).Draw(m.T, "fault") {
	case 0:
		before = refused
	case 1:
		after = refused
	}
	m.perform(before, after)
}

func (m *model) perform(before, after error) (some bool) {
	start, committed, some := m.dispatcher.Step(m.Context(), testkit.Deliveries(m.app), before, after)
	for _, tenant := range committed.Drained {
		if slices.ContainsFunc(m.flying, func(job *delivery.Job) bool { return job.Endpoint.TenantID == tenant }) {
			m.Fatalf("the tenant %s is drained, with deliveries in flight", tenant)
		}
	}
	for _, result := range committed.Results {
		m.byTarget[[2]string{result.Job.EventID, result.Job.Endpoint.WebhookID}].answered = false
	}
	m.attempt(start)
	return some
}

// attempt starts attempts, which have to be right.
func (m *model) attempt(jobs []*delivery.Job) {
	for _, job := range jobs {
		e := m.byTarget[[2]string{job.EventID, job.Endpoint.WebhookID}]
		switch {
		case e == nil:
			m.Fatalf("%s is sent to %s, which does not want it", job.EventID, job.Endpoint.WebhookID)
		case e.flying, e.over:
			m.Fatalf("sent again: %+v", *e)
		case job.Attempt != e.attempts+1:
			m.Fatalf("attempt %d of %+v", job.Attempt, *e)
		case job.Endpoint.TenantID != m.webhooks[e.webhook]:
			m.Fatalf("sent to another tenant: %+v", *e)
		}
		m.inOrder(e)
		e.flying = true
		m.flying = append(m.flying, job)
	}
}

// inOrder expects that a first attempt overtakes no earlier event of the contact. What an admin asked for is out of the
// order.
func (m *model) inOrder(e *expected) {
	for _, q := range m.all {
		if q == e || e.attempts > 0 || e.asked || e.contact == "" {
			return
		}
		waits := q.attempts == 0 || q.flying || m.dispatcher.Now.Before(q.made.Add(time.Minute))
		if q.webhook == e.webhook && q.contact == e.contact && !q.over && !q.asked && waits && !m.missing(q) {
			m.Fatalf("at %v %+v starts before %+v", m.dispatcher.Now, *e, *q)
		}
	}
}

// answer ends an attempt.
func (m *model) answer(n, outcome int) {
	job := m.flying[n]
	m.flying = slices.Delete(m.flying, n, n+1)
	attempt := &delivery.Attempt{
		DeliveryID: job.DeliveryID, Number: job.Attempt, Started: m.dispatcher.Now, RequestHeaders: "{}", ResponseHeaders: "{}",
		Outcome: []delivery.Outcome{{Status: 200}, {Status: 200}, {Status: 500}, {Failure: delivery.FailureTimeout}}[outcome],
	}
	e := m.byTarget[[2]string{job.EventID, job.Endpoint.WebhookID}]
	result, start := m.dispatcher.Answered(job, attempt)
	e.flying, e.answered, e.over = false, true, result.Decision.Status != delivery.StatusPending
	e.attempts++
	m.attempt(start)
}

// fanOut has another process fan out all events.
func (m *model) fanOut() {
	store := testkit.Deliveries(m.other)
	for more := true; more; {
		out, err := store.FanOut(m.Context(), m.dispatcher.Now)
		if err != nil {
			m.Fatalf("fanning out: %v", err)
		}
		more = out.More
	}
	if err := store.CatchUp(m.Context()); err != nil { // past what nobody wants
		m.Fatalf("fanning out: %v", err)
	}
}

// toggle disables or enables a webhook. A disabled one may miss what is not stored yet, and an enabled one gets nothing
// from before.
func (m *model) toggle(webhook string) {
	for _, e := range m.all {
		if e.webhook == webhook && !m.disabled[webhook] && m.stored(e).ID == "" {
			e.doubtful = true
		}
	}
	m.disabled[webhook] = !m.disabled[webhook]
	m.execute("UPDATE webhooks SET disabled = {:disabled} WHERE id = {:id}", dbx.Params{"id": webhook, "disabled": m.disabled[webhook]})
}

// redeliver has an admin ask for a delivery, unless it is just being attempted or committed.
func (m *model) redeliver() {
	if len(m.all) == 0 {
		return
	}
	e := rapid.SampledFrom(m.all).Draw(m.T, "delivery")
	stored := m.stored(e)
	if e.flying || e.answered || m.frozen[m.webhooks[e.webhook]] || stored.ID == "" {
		return
	}
	if _, err := testkit.Deliveries(m.other).Redeliver(stored.ID, m.dispatcher.Now); err != nil {
		m.Fatalf("redelivering: %v", err)
	}
	if e.asked = true; e.over {
		e.over, e.attempts = false, 0
	}
}

// missing reports whether a delivery may never be made.
func (m *model) missing(e *expected) bool { return e.doubtful && !e.flying && m.stored(e).ID == "" }

// stored returns the delivery as it is stored, without an id if it is not.
func (m *model) stored(e *expected) testkit.Delivery {
	var found []testkit.Delivery
	err := m.app.DB().NewQuery("SELECT * FROM deliveries WHERE event = {:event} AND webhook = {:webhook}").
		Bind(dbx.Params{"event": e.event, "webhook": e.webhook}).All(&found)
	if err != nil || len(found) > 1 {
		m.Fatalf("%d deliveries, %v", len(found), err)
	}
	if len(found) == 0 {
		return testkit.Delivery{Status: delivery.StatusPending}
	}
	return found[0]
}

// recall takes over what is stored: a crash forgets what is in flight, and results that are not committed.
func (m *model) recall() {
	for _, e := range m.all {
		stored := m.stored(e)
		e.flying, e.answered, e.attempts, e.over = false, false, stored.Attempts, stored.Status != delivery.StatusPending
	}
}

// freeze freezes a tenant, and thaws it once it is drained.
func (m *model) freeze(tenant string) {
	if m.frozen[tenant] {
		if m.count("SELECT count(*) FROM _moves WHERE tenant = {:tenant} AND step = 1", dbx.Params{"tenant": tenant}) == 1 {
			m.execute("DELETE FROM _moves WHERE tenant = {:tenant}", dbx.Params{"tenant": tenant})
			m.frozen[tenant] = false
		}
		return
	}
	m.fanOut()
	m.execute("INSERT INTO _moves (tenant, state, created) VALUES ({:tenant}, 'frozen', '')", dbx.Params{"tenant": tenant})
	m.frozen[tenant] = true
}

func (m *model) count(query string, params dbx.Params) (n int) {
	if err := m.app.DB().NewQuery(query).Bind(params).Row(&n); err != nil {
		m.Fatalf("%s: %v", query, err)
	}
	return n
}

// finish lets all go well, and expects that all of it ends.
func (m *model) finish() {
	for _, webhook := range m.order {
		if m.disabled[webhook] {
			m.toggle(webhook)
		}
	}
	for range 600 {
		for _, tenant := range m.tenants {
			if m.frozen[tenant] {
				m.freeze(tenant)
			}
		}
		for len(m.flying) > 0 {
			m.answer(0, 0)
		}
		for m.perform(nil, nil) {
			for len(m.flying) > 0 {
				m.answer(0, 0)
			}
		}
		if !slices.ContainsFunc(m.all, func(e *expected) bool {
			return !m.missing(e) && (!e.over || m.stored(e).Status == delivery.StatusPending)
		}) && !m.frozen[m.tenants[0]] && !m.frozen[m.tenants[1]] {
			return
		}
		m.dispatcher.Now = m.dispatcher.Now.Add(5 * time.Second)
	}
	for _, e := range m.all {
		if stored := m.stored(e); !m.missing(e) && !e.over || stored.Status == delivery.StatusPending {
			m.Errorf("%+v never ends; stored is %+v", *e, stored)
		}
	}
	m.Fatalf("frozen are %v", m.frozen)
}
