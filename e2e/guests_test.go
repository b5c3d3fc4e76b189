package e2e

import (
	crand "crypto/rand"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
)

// guests are tenants that arrive with thousands of contacts at once, and are deleted later.
type guests struct {
	list []*guest
	url  string // of the receiver of all of them, which answers nothing while the others are ill
}

// guest is one of these tenants.
type guest struct {
	tenant  string
	key     string
	hook    string // path of the inbound webhook
	hooks   int    // outbound webhooks
	batches []*batch
	leaving bool // the deletion was sent
	gone    bool // the deletion was answered
}

// batch is a request with many contacts.
type batch struct {
	word string          // by which a search finds them
	size int             // how many they are
	ids  map[string]bool // nil without an answer
}

const (
	guestBatches = 3
	batchSize    = 1000
)

func newGuests(t *testing.T, e *endpoints) *guests {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		if e.pass(request.Context()) {
			w.WriteHeader(http.StatusNoContent)
		}
	}))
	t.Cleanup(server.Close)
	t.Cleanup(e.heal) // before the server is closed, which waits for its requests
	return &guests{url: server.URL}
}

// invite creates a guest. It returns once the index has some of the contacts, or while a request is running. The
// returned function waits for the end of the requests.
func (c *crew) invite(s *server) (over func()) {
	c.t.Helper()
	g := c.arrive(s)
	outside := s.client("")
	if len(c.list)%3 == 0 {
		b := g.next(batchSize)
		return c.meanwhile(func() { b.send(c.t, outside, g.hook) })
	}
	g.fill(c.t, outside, batchSize)
	left := "SELECT count(*) FROM _contactSearch WHERE seq > (SELECT upTo FROM _contactIndexed) AND tenant = '" + g.tenant + "'"
	c.awaitShare(indexing, left, c.count(left))
	return func() {}
}

// fill sends some requests concurrently, and waits for their responses.
func (g *guest) fill(t *testing.T, outside *client, size int) {
	var calls sync.WaitGroup
	for range guestBatches {
		b := g.next(size)
		calls.Go(func() { b.send(t, outside, g.hook) })
	}
	calls.Wait()
}

// meanwhile runs a function in the background. It returns after a few responses to the clients, or earlier. The
// returned function waits for the end.
func (c *crew) meanwhile(do func()) (over func()) {
	c.t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		do()
	}()
	c.await(1 + rand.IntN(20))
	return func() { <-done }
}

// arrive creates the tenant.
func (c *crew) arrive(s *server) *guest {
	c.t.Helper()
	g := c.newGuest(s.signIn(), c.url)
	// a request with a remembered response, which must be deleted with the tenant
	single := &batch{word: "single", size: 1}
	g.batches = append(g.batches, single)
	answer := s.client(g.key).expect(http.StatusCreated, http.MethodPost, contactsPath, `{"name":"Guest","company":"single"}`, "Idempotency-Key", "single")
	single.ids = map[string]bool{str(c.t, answer.data(), "id"): true}
	return g
}

// newGuest creates a tenant with webhooks to these URLs.
func (c *crew) newGuest(admin *client, urls ...string) *guest {
	c.t.Helper()
	create := func(collection, body string) map[string]any {
		return admin.expect(http.StatusOK, http.MethodPost, "/api/collections/"+collection+"/records", body).json()
	}
	g := &guest{tenant: str(c.t, create("tenants", `{"name":"Guest `+crand.Text()+`","apiEnabled":true,"rateLimit":1000000000}`), "id"), hooks: len(urls)}
	g.key = str(c.t, create("api_keys", `{"tenant":"`+g.tenant+`","name":"key"}`), "key")
	for _, url := range urls {
		create("webhooks", `{"tenant":"`+g.tenant+`","url":"`+url+`"}`)
	}
	g.hook = "/api/hooks/" + str(c.t, create("inbound_webhooks", `{"tenant":"`+g.tenant+`","name":"form","access":"full"}`), "token")
	c.list = append(c.list, g)
	return g
}

// next starts a batch.
func (g *guest) next(size int) *batch {
	b := &batch{word: fmt.Sprintf("batch%d", len(g.batches)), size: size}
	g.batches = append(g.batches, b)
	return b
}

// contacts returns the body of a request with this operation on the contacts.
func (b *batch) contacts(action string) string {
	contacts := make([]string, b.size)
	for n := range contacts {
		contacts[n] = fmt.Sprintf(`{"name":"Guest %d","email":"g%d@%s.example.com","company":%q,"action":%q}`, n, n, b.word, b.word, action)
	}
	return "[" + strings.Join(contacts, ",") + "]"
}

// send sends the request, and records the contacts if there is a response.
func (b *batch) send(t *testing.T, outside *client, hook string) {
	answer, err := outside.try(http.MethodPost, hook, b.contacts("upsert"))
	if err != nil || answer.status == http.StatusServiceUnavailable {
		return
	}
	ids := map[string]bool{}
	results, _ := answer.data()["results"].([]any)
	for _, result := range results {
		if item, _ := result.(map[string]any); item["status"] == "created" {
			ids[fmt.Sprint(item["id"])] = true
		}
	}
	if answer.status != http.StatusOK || len(ids) != b.size {
		t.Errorf("a call with %d contacts returns %d and %d contacts", b.size, answer.status, len(ids))
	}
	b.ids = ids
}

// dismiss deletes the oldest guest, unless it is the only one. It returns once some of its rows are deleted, or
// during the deletion. The returned function waits for the response.
func (c *crew) dismiss(s *server) (over func()) {
	c.t.Helper()
	if missing := c.findGuests(s); missing > 0 {
		c.t.Errorf("%d contacts are not found while the index catches up", missing)
	}
	here := slices.DeleteFunc(slices.Clone(c.list), func(g *guest) bool { return g.leaving })
	if len(here) < 2 {
		c.await(1 + rand.IntN(150))
		return func() {}
	}
	g := here[0]
	admin := s.signIn()
	g.leaving = true
	if left := len(c.list) - len(here); left%4 == 3 {
		return c.meanwhile(func() { g.depart(c.t, admin) })
	}
	left := fmt.Sprintf(belongingsSQL, g.tenant)
	total := c.count(left)
	g.depart(c.t, admin)
	c.awaitShare(removing, left, total)
	return func() {}
}

// depart deletes the tenant.
func (g *guest) depart(t *testing.T, admin *client) {
	answer, err := admin.try(http.MethodDelete, "/api/collections/tenants/records/"+g.tenant, "")
	switch {
	case err != nil:
	case answer.status == http.StatusNoContent, answer.status == http.StatusNotFound:
		g.gone = true
	case answer.status != http.StatusServiceUnavailable:
		t.Errorf("deleting a tenant returns %s", answer)
	}
}

// decide repeats the deletions of guests that had no response.
func (c *crew) decide(s *server) {
	c.t.Helper()
	admin := s.signIn()
	for _, g := range c.list {
		if g.leaving && !g.gone {
			g.depart(c.t, admin)
		}
	}
}

// findGuests searches for the contacts of all guests, and counts missing ones.
func (c *crew) findGuests(s *server) (missing int) {
	c.t.Helper()
	for _, g := range c.list {
		if !g.leaving {
			missing += c.find(s, g)
		}
	}
	return missing
}

// find searches for the contacts of a guest, and counts missing and unexpected ones.
func (c *crew) find(s *server, g *guest) (wrong int) {
	c.t.Helper()
	api := s.client(g.key)
	for _, b := range g.batches {
		if b.ids == nil {
			continue
		}
		found := map[string]bool{}
		for next := contactsPath + "?limit=200&q=" + b.word; next != ""; {
			page, after, err := api.list(next)
			if err != nil {
				c.t.Fatal(err)
			}
			for _, contact := range page.Data {
				found[contact.ID] = true
			}
			next = after
		}
		wrong += apart(b.ids, found)
	}
	return wrong
}

// apart counts the elements that are in only one of two sets.
func apart(one, other map[string]bool) (number int) {
	for id := range one {
		if !other[id] {
			number++
		}
	}
	for id := range other {
		if !one[id] {
			number++
		}
	}
	return number
}

// unindexedSQL counts the rows that are not in the trigram index yet.
const unindexedSQL = "SELECT (SELECT count(*) FROM _contactSearch WHERE seq > (SELECT upTo FROM _contactIndexed) OR indexed = 2) + (SELECT count(*) FROM _contactUnindexed)"

// belongingsSQL counts the rows of a tenant.
const belongingsSQL = "SELECT (SELECT count(*) FROM contacts WHERE tenant = '%[1]s') + (SELECT count(*) FROM events WHERE tenant = '%[1]s') + " +
	"(SELECT count(*) FROM deliveries WHERE tenant = '%[1]s') + (SELECT count(*) FROM webhooks WHERE tenant = '%[1]s') + " +
	"(SELECT count(*) FROM api_keys WHERE tenant = '%[1]s') + (SELECT count(*) FROM inbound_webhooks WHERE tenant = '%[1]s') + " +
	"(SELECT count(*) FROM inbound_requests WHERE tenant = '%[1]s') + (SELECT count(*) FROM _contactSearch WHERE tenant = '%[1]s') + " +
	"(SELECT count(*) FROM _idempotency WHERE tenant = '%[1]s') + (SELECT count(*) FROM _stored WHERE tenant = '%[1]s' AND bytes != 0)"

// guestsAgainst compares the guests with the database: deleted ones have left nothing, and the others have everything.
func (s *tallySheet) guestsAgainst(t *testing.T, db *sql.DB, guests *guests) {
	t.Helper()
	for _, g := range guests.list {
		there := count(t, db, "SELECT count(*) FROM tenants WHERE id = '"+g.tenant+"'")
		if g.gone {
			s.returnedGuests += there
			if n := count(t, db, fmt.Sprintf(belongingsSQL, g.tenant)); n > 0 {
				t.Logf("%d rows of the deleted tenant %s remain", n, g.tenant)
				s.remains += n
			}
			continue
		}
		if there == 0 || !s.complete(t, db, g) {
			s.lostGuests++
		}
	}
}

// complete reports whether all rows of a guest exist.
func (s *tallySheet) complete(t *testing.T, db *sql.DB, g *guest) bool {
	t.Helper()
	contacts := map[string]bool{}
	for _, b := range g.batches {
		there := map[string]bool{}
		for _, id := range column(t, db, fmt.Sprintf("SELECT id FROM contacts WHERE tenant = '%s' AND company = '%s'", g.tenant, b.word)) {
			there[id], contacts[id] = true, true
		}
		if len(there) != 0 && len(there) != b.size {
			s.tornBatches++
		}
		if b.ids != nil && apart(b.ids, there) > 0 {
			return false
		}
	}
	return count(t, db, "SELECT count(*) FROM events WHERE tenant = '"+g.tenant+"'") == len(contacts) &&
		count(t, db, "SELECT count(*) FROM deliveries WHERE tenant = '"+g.tenant+"'") == len(contacts)*g.hooks
}

// remainsOf counts orphaned rows, and the work that was left when the server ended.
func (s *tallySheet) remainsOf(t *testing.T, db *sql.DB) {
	t.Helper()
	for _, query := range []string{
		"SELECT count(*) FROM _deletions",
		"SELECT count(*) FROM deliveries WHERE event NOT IN (SELECT id FROM events) OR webhook NOT IN (SELECT id FROM webhooks)",
		"SELECT count(*) FROM delivery_attempts WHERE delivery NOT IN (SELECT id FROM deliveries)",
		"SELECT count(*) FROM _inboundPeople WHERE request NOT IN (SELECT id FROM inbound_requests)",
		"SELECT count(*) FROM _inboundCrowds WHERE request NOT IN (SELECT id FROM inbound_requests)",
		"SELECT count(*) FROM _idempotency WHERE contact != '' AND contact NOT IN (SELECT id FROM contacts)",
	} {
		if n := count(t, db, query); n > 0 {
			t.Logf("%d rows remain: %s", n, query)
			s.remains += n
		}
	}
	s.unindexed = count(t, db, unindexedSQL)
}
