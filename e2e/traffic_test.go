package e2e

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// trafficWorkers is the number of concurrent clients.
const trafficWorkers = 8

// traffic is clients that create and update contacts, repeatedly until the server is gone, and the responses that
// they got. The contact with the number n has the address p<n>@example.com, which identifies its row however
// often it was written.
type traffic struct {
	t   *testing.T
	key string // of the API

	mu       sync.Mutex
	next     int
	repeat   []creation     // sent under an idempotency key and not answered: whoever sends it again gets one contact
	known    map[int]*known // by number, the contacts whose creation was answered
	unheard  map[int]bool   // numbers that were sent without an answer
	answers  int
	replays  int           // of them, those to a request that was carried out before
	changed  chan struct{} // closed with the next answer
	unwanted []string      // answers that should not have come
}

// creation is a request that creates a contact.
type creation struct {
	number int
	body   string
	key    string // of idempotency; "" for none
}

// known is a contact as its client knows it.
type known struct {
	id      string
	company string // what was answered last
	maybe   string // what was sent and not answered; "" for nothing
	updates int    // that were answered
}

func newTraffic(t *testing.T, key string) *traffic {
	return &traffic{t: t, key: key, known: map[int]*known{}, unheard: map[int]bool{}, changed: make(chan struct{})}
}

// start makes the clients write until the server is gone. The returned function waits for that.
func (y *traffic) start(s *server) (wait func()) {
	var group sync.WaitGroup
	for range trafficWorkers {
		c := s.client(y.key)
		group.Go(func() {
			for y.step(c) {
			}
			c.http.CloseIdleConnections()
		})
	}
	return group.Wait
}

// step creates a contact, and updates every third one. It returns false when the server accepts no more requests.
func (y *traffic) step(c *client) bool {
	one := y.take()
	var header []string
	if one.key != "" {
		header = []string{"Idempotency-Key", one.key}
	}
	answer, err := c.try(http.MethodPost, contactsPath, one.body, header...)
	if err != nil || answer.status == http.StatusServiceUnavailable {
		y.lost(one)
		return false
	}
	id, _ := answer.data()["id"].(string)
	if answer.status != http.StatusCreated || id == "" {
		y.refuse("creating", answer)
		return false
	}
	contact := y.created(one, id, answer.header.Get("Idempotency-Replayed") == "true")
	if one.number%3 != 0 {
		return true
	}
	company := fmt.Sprintf("Changed %d", one.number)
	y.intend(contact, company)
	answer, err = c.try(http.MethodPatch, contactsPath+"/"+id, `{"company":"`+company+`"}`)
	if err != nil || answer.status == http.StatusServiceUnavailable {
		return false
	}
	if answer.status != http.StatusOK {
		y.refuse("changing", answer)
		return false
	}
	y.updated(contact, company)
	return true
}

// take returns the next contact to create: first those that must be repeated.
func (y *traffic) take() creation {
	y.mu.Lock()
	defer y.mu.Unlock()
	if n := len(y.repeat); n > 0 {
		one := y.repeat[n-1]
		y.repeat = y.repeat[:n-1]
		return one
	}
	y.next++
	one := creation{
		number: y.next,
		body:   fmt.Sprintf(`{"name":"Zoë Person %d","email":"p%d@example.com","phone":"+4930%07d","company":"Firma"}`, y.next, y.next, y.next),
	}
	if y.next%2 == 0 {
		one.key = fmt.Sprintf("order-%d", y.next)
	}
	return one
}

func (y *traffic) lost(one creation) {
	y.mu.Lock()
	defer y.mu.Unlock()
	if one.key != "" {
		y.repeat = append(y.repeat, one)
		return
	}
	y.unheard[one.number] = true
}

func (y *traffic) refuse(what string, answer *answer) {
	y.mu.Lock()
	defer y.mu.Unlock()
	y.unwanted = append(y.unwanted, what+" gives "+answer.String())
}

func (y *traffic) created(one creation, id string, replayed bool) *known {
	y.mu.Lock()
	defer y.mu.Unlock()
	if replayed {
		y.replays++
	}
	contact := &known{id: id, company: "Firma"}
	y.known[one.number] = contact
	y.answered()
	return contact
}

func (y *traffic) intend(contact *known, company string) {
	y.mu.Lock()
	defer y.mu.Unlock()
	contact.maybe = company
}

func (y *traffic) updated(contact *known, company string) {
	y.mu.Lock()
	defer y.mu.Unlock()
	contact.company, contact.maybe = company, ""
	contact.updates++
	y.answered()
}

// answered counts a response. The caller holds y.mu.
func (y *traffic) answered() {
	y.answers++
	close(y.changed)
	y.changed = make(chan struct{})
}

// await waits until that many more responses have arrived.
func (y *traffic) await(more int) {
	y.t.Helper()
	deadline := time.After(timeout)
	y.mu.Lock()
	enough := y.answers + more
	y.mu.Unlock()
	for {
		y.mu.Lock()
		answers, changed, unwanted := y.answers, y.changed, y.unwanted
		y.mu.Unlock()
		if answers >= enough {
			return
		}
		if len(unwanted) > 0 {
			y.t.Fatalf("%s", unwanted[0])
		}
		select {
		case <-changed:
		case <-deadline:
			y.t.Fatalf("only %d of %d answers came", answers, enough)
		}
	}
}

// accepted returns the ids of the contacts whose creation was acknowledged so far.
func (y *traffic) accepted() map[string]bool {
	y.mu.Lock()
	defer y.mu.Unlock()
	ids := make(map[string]bool, len(y.known))
	for contact := range maps.Values(y.known) {
		ids[contact.id] = true
	}
	return ids
}

// check fails the test if the server sent anything other than success or that it is shutting down.
func (y *traffic) check() {
	y.t.Helper()
	for _, unwanted := range y.unwanted {
		y.t.Error(unwanted)
	}
}

// endpoints are three kinds of receivers.
type endpoints struct {
	webhooks map[string]string // ids by what the receivers do
	healthy  *receiver
	failing  *receiver // answers 500 until all is well
	hanging  *receiver // answers nothing while the gate is closed

	gate
	well atomic.Bool
}

// gate blocks requests while it is closed.
type gate struct {
	mu   sync.Mutex
	open chan struct{} // nil for a gate that is open
	held chan struct{} // has room for one, and gets it when a request begins to wait
}

func (g *gate) close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.open == nil {
		g.open, g.held = make(chan struct{}), make(chan struct{}, 1)
	}
}

func (g *gate) release() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.open != nil {
		close(g.open)
		g.open = nil
	}
}

// pass waits until the gate is open, and returns false if ctx ends first.
func (g *gate) pass(ctx context.Context) bool {
	g.mu.Lock()
	open, held := g.open, g.held
	g.mu.Unlock()
	if open == nil {
		return true
	}
	select {
	case held <- struct{}{}:
	default:
	}
	select {
	case <-open:
		return true
	case <-ctx.Done():
		return false
	}
}

// awaitHeld waits until a request waits at the closed gate.
func (g *gate) awaitHeld(t *testing.T) {
	t.Helper()
	select {
	case <-g.held:
	case <-time.After(timeout):
		t.Fatal("no request comes to the gate")
	}
}

// newEndpoints registers a webhook for each kind.
func newEndpoints(t *testing.T, i *installation, tenant string) *endpoints {
	t.Helper()
	e := &endpoints{webhooks: map[string]string{}}
	e.close()
	add := func(name string, answer http.HandlerFunc) *receiver {
		r := newReceiver(t)
		webhook := i.one("webhook", "create", tenant, r.URL, "--name", name)
		r.set(str(t, webhook, "secret"), answer)
		e.webhooks[name] = str(t, webhook, "id")
		return r
	}
	e.healthy = add("healthy", nil)
	e.failing = add("failing", func(w http.ResponseWriter, _ *http.Request) {
		status := http.StatusInternalServerError
		if e.well.Load() {
			status = http.StatusNoContent
		}
		w.WriteHeader(status)
	})
	e.hanging = add("hanging", func(w http.ResponseWriter, request *http.Request) {
		if e.pass(request.Context()) {
			w.WriteHeader(http.StatusNoContent)
		}
	})
	t.Cleanup(e.heal) // before the receivers are closed, which waits for their requests
	return e
}

// heal makes all receivers accept everything from now on.
func (e *endpoints) heal() {
	e.well.Store(true)
	e.release()
}

// fallIll undoes heal.
func (e *endpoints) fallIll() {
	e.well.Store(false)
	e.close()
}
