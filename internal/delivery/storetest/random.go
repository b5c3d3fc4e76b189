package storetest

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"contactbase/internal/delivery"
	"contactbase/internal/delivery/store"
)

// testOrderAtRandom runs random operations with two webhooks and three contacts. No first attempt may start too early,
// and all deliveries must be over in the end.
func testOrderAtRandom(t *testing.T, f *fixture) {
	seed := rand.Uint64()
	t.Logf("the seed is %d", seed)
	random := rand.New(rand.NewPCG(seed, 0)) //nolint:gosec // a game
	g := &game{fixture: f, other: f.Store(t), random: random, byTarget: map[[2]string]*played{}}
	tenant := f.AddTenant(t)
	g.webhooks = []string{f.AddWebhook(t, tenant, f.now), f.AddWebhook(t, tenant, f.now)}
	for range 400 {
		switch g.random.IntN(11) {
		case 0, 1, 2:
			g.add(t, tenant)
		case 10:
			g.fanOutSome(t)
		case 3, 4:
			g.claimSome(t)
		case 5, 6, 7:
			g.completeSome(t)
		case 8:
			g.askForAny(t)
		default:
			f.now = f.now.Add(time.Duration(g.random.IntN(40_000)) * time.Millisecond)
		}
	}
	g.fanOutSome(t)
	for range 2_000 {
		f.now = f.now.Add(time.Minute)
		g.claimSome(t)
		for len(g.flying) > 0 {
			job := g.flying[0]
			g.flying = g.flying[1:]
			g.complete(t, g.over(job))
		}
		if !slices.ContainsFunc(g.all, func(p *played) bool { return !p.over }) {
			return
		}
	}
	for _, p := range g.all {
		if !p.over {
			t.Errorf("%+v is never over; stored is %+v", *p, f.State(t, p.id))
		}
	}
}

// game is the test's model of the deliveries.
type game struct {
	*fixture
	random   *rand.Rand
	other    *store.Store // of another process
	webhooks []string
	waiting  []string              // events that may have no deliveries
	all      []*played             // in the order of their events
	byTarget map[[2]string]*played // by event and webhook
	flying   []*delivery.Job
}

type played struct {
	id, webhook, contact string // the id once it is stored
	made                 time.Time
	attempts             int
	flying, over, asked  bool
}

func (g *game) add(t *testing.T, tenant string) {
	contact := []string{"contact1", "contact2", "contact3"}[g.random.IntN(3)]
	event := g.Emit(t, tenant, contact, g.now)
	g.waiting = append(g.waiting, event)
	for _, webhook := range g.webhooks {
		p := &played{webhook: webhook, contact: contact, made: g.now}
		g.all, g.byTarget[[2]string{event, webhook}] = append(g.all, p), p
	}
}

// fanOutSome fans out the events, in one process or another.
func (g *game) fanOutSome(t *testing.T) {
	g.store, g.other = g.other, g.store
	g.fanOut(t)
	for _, event := range g.waiting {
		for i, id := range g.deliveries(t, event, g.webhooks...) {
			g.byTarget[[2]string{event, g.webhooks[i]}].id = id
		}
	}
	g.waiting = nil
}

func (g *game) claimSome(t *testing.T) {
	for _, job := range g.fixture.claimSome(t, 1+g.random.IntN(5)) {
		p := g.of(job)
		if p.over || p.flying {
			t.Fatalf("claimed %+v", *p)
		}
		g.mayStart(t, p)
		p.flying = true
		g.flying = append(g.flying, job)
	}
}

// of returns the model of a job.
func (g *game) of(job *delivery.Job) *played {
	return g.byTarget[[2]string{job.EventID, job.Endpoint.WebhookID}]
}

// mayStart expects no claimed first attempt in front. Redeliveries are out of order.
func (g *game) mayStart(t *testing.T, p *played) {
	t.Helper()
	for _, q := range g.all {
		if q == p || p.attempts > 0 || p.asked {
			return
		}
		sameLine := q.webhook == p.webhook && q.contact == p.contact
		if sameLine && !q.over && !q.asked && (q.attempts == 0 || g.now.Before(q.made.Add(time.Minute))) {
			t.Fatalf("at %v %+v starts before %+v", g.now, *p, *q)
		}
	}
}

// completeSome stores some results at once.
func (g *game) completeSome(t *testing.T) {
	var results []delivery.Result
	for range 1 + g.random.IntN(4) {
		results = append(results, g.endOne()...)
	}
	if len(results) > 0 {
		g.complete(t, results...)
	}
}

// endOne forgets a job in flight, or commits its result.
func (g *game) endOne() []delivery.Result {
	if len(g.flying) == 0 {
		return nil
	}
	i := g.random.IntN(len(g.flying))
	job := g.flying[i]
	g.flying = slices.Delete(g.flying, i, i+1)
	p := g.of(job)
	switch g.random.IntN(4) {
	case 0:
		p.flying = false
		delete(g.claims, job.DeliveryID)
		return nil
	case 1:
		p.flying = false
		p.attempts++
		return []delivery.Result{g.retry(job, g.now.Add(time.Duration(g.random.IntN(120))*time.Second))}
	default:
		return []delivery.Result{g.over(job)}
	}
}

func (g *game) over(job *delivery.Job) delivery.Result {
	p := g.of(job)
	p.flying, p.over = false, true
	p.attempts++
	if g.random.IntN(2) == 0 {
		return g.failed(job)
	}
	return g.delivered(job)
}

// askForAny redelivers a delivery, or sends it sooner.
func (g *game) askForAny(t *testing.T) {
	if len(g.all) == 0 {
		return
	}
	p := g.all[g.random.IntN(len(g.all))]
	if p.id == "" {
		return
	}
	g.ask(t, p.id, g.now)
	if p.over {
		p.over, p.attempts = false, 0
	}
	p.asked = true
}
