package e2e

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"
)

// Deliveries survive kill -9: those of an unreachable endpoint, and those that an endpoint has refused. Responses
// that are remembered under an idempotency key survive, too.
func TestDeliveriesSurviveAKill(t *testing.T) {
	t.Parallel()
	i, _, key := newKey(t)
	down := freeAddress(t)
	downSecret := str(t, i.one("webhook", "create", "Acme", "http://"+down), "secret")
	refusing := newReceiver(t)
	refusing.set(str(t, i.one("webhook", "create", "Acme", refusing.URL), "secret"), func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusServiceUnavailable)
	})

	s := i.serve()
	c := s.client(key)
	const body = `{"name":"Ada Lovelace","email":"ada@example.com"}`
	created := c.expect(201, http.MethodPost, contactsPath, body, "Idempotency-Key", "order-1")
	refused := refusing.await(t, "the refusing endpoint", atLeast(1))[0]
	s.awaitRecords("deliveries", `status="pending" && attempts>0`, 2) // otherwise the first attempts are made again
	s.kill()
	db := openData(t, i.data)
	next := map[string]string{} // attempt by delivery: on a busy machine the second one may have been made by now
	rows(t, db, "SELECT id, attempts + 1 FROM deliveries", func(row []string) { next[row[0]] = row[1] })
	hurry(t, db, "")
	_, before, _ := refusing.look(atLeast(0))

	up := &receiver{tally: newTally(), secret: downSecret}
	listener, err := net.Listen("tcp", down)
	if err != nil {
		t.Fatalf("somebody took the port of the endpoint that was down: %v", err)
	}
	server := httptest.NewUnstartedServer(up)
	server.Listener.Close()
	server.Listener = listener
	server.Start()
	t.Cleanup(server.Close)
	refusing.mu.Lock()
	refusing.answer = nil
	refusing.mu.Unlock()

	s = i.serve()
	again := s.client(key).expect(201, http.MethodPost, contactsPath, body, "Idempotency-Key", "order-1")
	if again.header.Get("Idempotency-Replayed") != "true" || string(again.body) != string(created.body) {
		t.Errorf("the idempotency key is forgotten: %s", again)
	}
	first := up.await(t, "the endpoint that was down", atLeast(1))[0]
	repeat := refusing.await(t, "the endpoint that refused", atLeast(before+1))[before]
	for what, d := range map[string]delivery{"the endpoint that was down": first, "the endpoint that refused": repeat} {
		if d.Error != "" || d.ID != refused.ID || d.Digest != refused.Digest || d.Contact != created.data()["id"] || d.Name != "Ada Lovelace" || d.Attempt != next[d.Delivery] {
			t.Errorf("%s gets %+v, and the first attempt was %+v", what, d, refused)
		}
	}
	if refused.Attempt != "1" || repeat.Delivery != refused.Delivery || first.Delivery == refused.Delivery {
		t.Errorf("the deliveries are %+v, %+v and %+v", refused, repeat, first)
	}
}

// awaitRecords waits until that many records of the collection match the filter, queried by an admin.
func (s *server) awaitRecords(collection, filter string, count int) {
	s.t.Helper()
	admin := s.signIn()
	path := "/api/collections/" + collection + "/records?filter=" + url.QueryEscape("("+filter+")")
	deadline := time.After(timeout)
	again := time.NewTicker(50 * time.Millisecond)
	defer again.Stop()
	for {
		answer := admin.expect(http.StatusOK, http.MethodGet, path, "")
		if total, _ := answer.json()["totalItems"].(float64); int(total) >= count {
			return
		}
		select {
		case <-again.C:
		case <-deadline:
			s.t.Fatalf("%s with %s: %s", collection, filter, answer)
		}
	}
}

// Every contact that was acknowledged with 201 before kill -9 exists afterwards, and its event arrives.
func TestNothingAcceptedIsLost(t *testing.T) {
	t.Parallel()
	i := newInstallation(t).superuser()
	i.must("tenant", "create", "Acme", "--rateLimit", "1000000")
	key := str(t, i.one("key", "create", "Acme"), "key")
	r := newReceiver(t)
	r.set(str(t, i.one("webhook", "create", "Acme", r.URL), "secret"), nil)
	s := i.serve()

	const enough = 100 // answers, and then the server dies in the middle of the rest
	var mu sync.Mutex
	accepted := map[string]string{} // names by id
	var creating sync.WaitGroup
	var kill sync.Once
	for worker := range 4 {
		c := s.client(key)
		creating.Go(func() {
			for n := 0; ; n++ {
				name := fmt.Sprintf("Person %d of %d", n, worker)
				answer, err := c.try(http.MethodPost, contactsPath, `{"name":"`+name+`"}`)
				if err != nil || answer.status != http.StatusCreated {
					return // dead, or about to be
				}
				mu.Lock()
				accepted[answer.data()["id"].(string)] = name
				full := len(accepted) >= enough
				mu.Unlock()
				if full {
					kill.Do(s.kill)
				}
			}
		})
	}
	creating.Wait()
	if len(accepted) < enough {
		t.Fatalf("only %d contacts were created:\n%s", len(accepted), s.output)
	}

	s = i.serve()
	c := s.client(key)
	for id, name := range accepted {
		if got := c.do(http.MethodGet, contactsPath+"/"+id, ""); got.data()["name"] != name {
			t.Errorf("the contact %s returns %s", id, got)
		}
	}
	if got := c.do(http.MethodGet, contactsPath+"?q=person+0+of", ""); !strings.Contains(string(got.body), "Person 0 of") {
		t.Errorf("the search returns %s", got)
	}
	seen, err := walk(c, "cursor") // the last ones may be there without their answers
	if err != nil {
		t.Fatal(err)
	}
	all := r.await(t, "the events", contacts(len(seen)))
	events := map[string]string{}
	for _, d := range all {
		if known := events[d.Contact]; d.Error != "" || known != "" && known != d.ID {
			t.Errorf("the delivery %+v comes beside the event %s", d, known)
		}
		events[d.Contact] = d.ID
	}
	if len(seen) != len(events) {
		t.Errorf("there are %d contacts and %d events", len(seen), len(events))
	}
	for id := range accepted {
		if events[id] == "" {
			t.Errorf("there is no event of the contact %s", id)
		}
	}
}
