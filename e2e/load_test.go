package e2e

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// load is the clients, tenants and receivers of a long run, each with its own rate.
type load struct {
	*crew
	s     *server
	admin *client
	ctx   context.Context //nolint:containedctx // it is the length of the run

	reads, searches, tenants, pruned atomic.Int64
}

func (l *load) String() string {
	return fmt.Sprintf("%d answers to writes, %d reads, %d searches, %d tenants that came and went, %d hours of pruning",
		l.answers, l.reads.Load(), l.searches.Load(), l.tenants.Load(), l.pruned.Load())
}

// run runs the load until it ends.
func (l *load) run(stranger *guest) {
	var group sync.WaitGroup
	repeat := func(every time.Duration, do func()) { group.Go(func() { l.repeat(every, do) }) }
	for range 4 {
		api, reader := l.s.client(l.key), l.s.client(l.key)
		repeat(250*time.Millisecond, func() { l.write(api) })
		repeat(50*time.Millisecond, func() { l.read(reader) })
		repeat(250*time.Millisecond, func() { l.search(reader) })
	}
	api := l.s.client(stranger.key)
	met := &batch{word: "stranger", ids: map[string]bool{}}
	stranger.batches = append(stranger.batches, met)
	repeat(time.Second, func() { l.meet(api, met) })
	repeat(5*time.Second, l.visit)
	repeat(20*time.Second, l.sicken)
	repeat(time.Minute, l.hour)
	group.Wait()
}

// repeat repeats a function at that rate, or slower if it takes longer.
func (l *load) repeat(every time.Duration, do func()) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for l.ctx.Err() == nil && !l.t.Failed() {
		do()
		select {
		case <-tick.C:
		case <-l.ctx.Done():
		}
	}
}

// write creates a contact, and may update it.
func (l *load) write(api *client) {
	if !l.step(api) {
		l.t.Error("a write has no response")
	}
}

// some returns a known contact in its current state.
func (l *load) some() (number int, one known, found bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.next == 0 {
		return 0, known{}, false
	}
	number = 1 + rand.IntN(l.next)
	contact, found := l.known[number]
	if found {
		one = *contact
	}
	return number, one, found
}

// read reads a contact.
func (l *load) read(api *client) {
	_, one, found := l.some()
	if !found {
		return
	}
	answer, err := api.try(http.MethodGet, contactsPath+"/"+one.id, "")
	if err != nil || answer.status != http.StatusOK {
		l.t.Errorf("reading %s: %v %v", one.id, answer, err)
	}
	l.reads.Add(1)
}

// search searches for a contact by its email address.
func (l *load) search(api *client) {
	number, one, found := l.some()
	if !found {
		return
	}
	page, _, err := api.list(fmt.Sprintf("%s?q=p%d%%40example.com", contactsPath, number))
	if err != nil || len(page.Data) != 1 || page.Data[0].ID != one.id {
		l.t.Errorf("searching for %s: %v %v", one.id, page, err)
	}
	l.searches.Add(1)
}

// meet creates a contact whose events go to the hostile receivers.
func (l *load) meet(api *client, met *batch) {
	answer, err := api.try(http.MethodPost, contactsPath, `{"name":"Stranger","company":"stranger"}`)
	if err != nil || answer.status != http.StatusCreated {
		l.t.Errorf("creating: %v %v", answer, err)
		return
	}
	met.ids[fmt.Sprint(answer.data()["id"])] = true
	met.size++
}

// visit creates a tenant with many contacts, deletes some through its inbound webhook, and deletes the tenant.
func (l *load) visit() {
	g := l.newGuest(l.admin, l.url)
	outside := l.s.client("")
	defer outside.http.CloseIdleConnections()
	g.fill(l.t, outside, 100)
	going := g.batches[0]
	answer, err := outside.try(http.MethodPost, g.hook, going.contacts("delete"))
	if err != nil || answer.data()["deleted"] != float64(going.size) {
		l.t.Errorf("deleting %d contacts returns %v %v", going.size, answer, err)
	}
	going.ids = map[string]bool{}
	if wrong := l.find(l.s, g); wrong > 0 {
		l.t.Errorf("%d contacts are not found, or found though they are deleted", wrong)
	}
	g.leaving = true
	g.depart(l.t, l.admin)
	l.tenants.Add(1)
}

// sicken makes healthy receivers fail, and failing ones healthy.
func (l *load) sicken() {
	if l.well.Load() {
		l.fallIll()
		return
	}
	l.heal()
}

// hour ages finished events by a day, and waits until the server has pruned them.
func (l *load) hour() {
	l.makeOld(5000, overSQL)
	answer, err := l.admin.try(http.MethodPost, retentionPath, "")
	if err != nil || answer.status != http.StatusNoContent {
		l.t.Errorf("pruning: %v %v", answer, err)
	}
	l.pruned.Add(1)
}
