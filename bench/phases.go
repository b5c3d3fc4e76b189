package main

import (
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"contactbase/bench/receiver"
)

const (
	ourContacts   = "/api/ext/v1/contacts"
	plainContacts = "/api/collections/contacts/records"
	benchTenant   = "benchbenchbench"

	firstContact = 1_000_000_000 // the number of the first contact that fill writes
	manyTenants  = 50
)

var firstNames = []string{"Anna", "Bernd", "Zoë", "Dieter", "Elena", "Μαρία", "Иван", "太郎", "José", "Jürgen"}

// contact returns the n-th contact; plain PocketBase gets its tenant as well.
func contact(n int64, tenant string) string {
	name := firstNames[n%10]
	body := fmt.Sprintf(`"name":"%s Nr%x","email":"p%d@example%d.com","phone":"+4930%07d","company":"Firma %x"`, name, n*7919, n, n%50, n%10_000_000, n%9973)
	if tenant != "" {
		body += `,"tenant":"` + tenant + `"`
	}
	return "{" + body + "}"
}

// phase is a kind of request; a side without one is left out.
type phase struct {
	name        string
	setUp       func() error // nil for nothing
	ours, plain request
	single      bool         // over one connection
	settle      func() error // waits for what our server has put off, which counts; nil for nothing
	after       func() error // nil for nothing
}

// suite is the two servers and what the phases know about them.
type suite struct {
	out         io.Writer
	ours, plain *target // plain is nil where ours is measured alone
	binary      string
	receiver    *receiver.Receiver
	measured    *table
	pacedTable  string   // what is printed below the table
	notes       []string // and below that

	ourIDs, plainIDs []string // of contacts, once they are there
	deep             string   // the address of the page in the middle
	keys             []string // of many tenants
}

func (s *suite) phases() []phase {
	ofTenant := "&filter=" + url.QueryEscape("tenant='"+benchTenant+"'")
	list := []phase{
		{name: "create", ours: create(ourContacts, ""), plain: create(plainContacts, benchTenant), after: s.paceCreates},
		{name: "upsert, new contacts", ours: func(int64, *rand.Rand) call {
			n := rand.Int64N(1 << 40)
			return call{"PUT", fmt.Sprintf("%s/by-external-id/bench-%d", ourContacts, n), contact(n, ""), ""}
		}},
		{name: "read one", setUp: s.fill, ours: readOne(&s.ourIDs, ourContacts+"/"), plain: readOne(&s.plainIDs, plainContacts+"/")},
		{name: "update one field", setUp: s.fill, ours: update(&s.ourIDs, ourContacts+"/"), plain: update(&s.plainIDs, plainContacts+"/")},
		{name: "list 50", setUp: s.fill, ours: get(ourContacts + "?limit=50"), plain: get(plainContacts + "?perPage=50&skipTotal=1&sort=created,id" + ofTenant)},
		{name: "offset 50,000", setUp: s.fill, ours: get(ourContacts + "?limit=50&offset=50000"), plain: get(plainContacts + "?perPage=50&page=1001&skipTotal=1&sort=created,id" + ofTenant)},
		{
			name: fmt.Sprintf("cursor at depth %d; plain: page 1,000", *contacts/2), setUp: s.findMiddle,
			ours:  func(int64, *rand.Rand) call { return call{"GET", s.deep, "", ""} },
			plain: get(plainContacts + "?perPage=50&page=1000&skipTotal=1&sort=created,id" + ofTenant),
		},
	}
	list = append(list, s.searches()...)
	return append(list,
		phase{name: fmt.Sprintf("list 50, %d tenants of mixed size", manyTenants), setUp: s.fillTenants, ours: func(_ int64, random *rand.Rand) call {
			return call{"GET", ourContacts + "?limit=50", "", s.keys[random.IntN(len(s.keys))]}
		}},
		phase{name: "create with 3 webhooks", setUp: s.addWebhooks, ours: create(ourContacts, ""), plain: create(plainContacts, benchTenant), settle: s.drain, after: s.closeReceiver},
	)
}

// searches are of one connection each, because they may take a processor for long.
func (s *suite) searches() (list []phase) {
	for _, q := range []struct {
		name, word string
		compare    bool // with what plain PocketBase can do instead
	}{
		{"q rare", rareWord(*contacts), true},
		{"q common", "example", true},
		{"q two words", "anna example7", false},
		{"q two letters", "nn", false},
		{"q no such letters", "qq", false},
		{"q accented", "zoe", false},
	} {
		p := phase{name: q.name + ", 1 connection", setUp: s.fill, ours: get(ourContacts + "?limit=50&q=" + url.QueryEscape(q.word)), single: true}
		if q.compare {
			var parts []string
			for _, field := range []string{"name", "email", "phone", "company"} {
				parts = append(parts, field+"~'"+q.word+"'")
			}
			p.plain = get(plainContacts + "?perPage=50&sort=created&skipTotal=1&filter=" + url.QueryEscape("tenant='"+benchTenant+"'&&("+strings.Join(parts, "||")+")"))
		}
		list = append(list, p)
	}
	return list
}

// fill brings both servers to the number of contacts that the reading phases find.
func (s *suite) fill() error {
	if s.ourIDs != nil {
		return nil
	}
	for _, side := range []*target{s.ours, s.plain} {
		if side == nil {
			continue
		}
		missing := int64(*contacts) - count(side)
		if missing <= 0 {
			continue
		}
		path, tenant := ourContacts, ""
		if side == s.plain {
			path, tenant = plainContacts, benchTenant
		}
		began := time.Now()
		loaded := run(side.base, side.header, *connections, time.Hour, missing, func(n int64, _ *rand.Rand) call {
			return call{"POST", path, contact(firstContact+n, tenant), ""}
		})
		if loaded.errors > 0 {
			return fmt.Errorf("filling: %s", loaded.firstError)
		}
		log.Printf("filled %s with %d contacts in %v", side.name, missing, time.Since(began).Round(time.Second))
	}
	if err := s.ours.settle(); err != nil {
		return err
	}
	var err error
	if s.ourIDs, err = ids(s.ours, ourContacts+"?limit=200"); err != nil || s.plain == nil {
		return err
	}
	s.plainIDs, err = ids(s.plain, plainContacts+"?perPage=200&fields=id")
	return err
}

func (s *suite) findMiddle() (err error) {
	if err = s.fill(); err != nil {
		return err
	}
	s.deep, err = cursorAt(s.ours, *contacts/2)
	return err
}

// fillTenants makes tenants of 20 to 1,000 contacts.
func (s *suite) fillTenants() error {
	for i := range manyTenants {
		key, err := s.newTenant(tenantName(i))
		if err != nil {
			return err
		}
		s.keys = append(s.keys, key)
		loaded := run(s.ours.base, s.ours.header, *connections, time.Hour, int64(20*(i+1)), func(n int64, _ *rand.Rand) call {
			return call{"POST", ourContacts, contact(firstContact+n, ""), key}
		})
		if loaded.errors > 0 {
			return fmt.Errorf("filling: %s", loaded.firstError)
		}
	}
	return nil
}

// newTenant makes a tenant of our server and returns a key of it.
func (s *suite) newTenant(name string) (key string, err error) {
	if _, err := runJSON(s.binary, s.ours.dir, "tenant", "create", name, "--rateLimit", strconv.Itoa(unlimited)); err != nil {
		return "", err
	}
	created, err := runJSON(s.binary, s.ours.dir, "key", "create", name)
	if err != nil {
		return "", err
	}
	return created["key"].(string), nil
}

// addWebhooks adds webhooks to a receiver that answers at once, to as many contacts as the other phases begin with.
func (s *suite) addWebhooks() error {
	err := s.fill()
	if err != nil {
		return err
	}
	if s.receiver, err = receiver.New(receiver.AtOnce, nil); err != nil {
		return err
	}
	for i := range 3 {
		if _, err := runJSON(s.binary, s.ours.dir, "webhook", "create", "Bench", fmt.Sprintf("%s/%d", s.receiver.URL, i)); err != nil {
			return err
		}
	}
	return nil
}

// inbound measures calls with as many contacts as one may have.
func (s *suite) inbound() error {
	const calls, items = 10, 1000
	created, err := runJSON(s.binary, s.ours.dir, "inbound", "create", "Bench", "--name", "bench")
	if err != nil {
		return err
	}
	path := "/api/hooks/" + created["token"].(string)
	loaded := run(s.ours.base, http.Header{}, 1, time.Minute, calls, func(int64, *rand.Rand) call {
		all := make([]string, items)
		for i := range all {
			all[i] = contact(rand.Int64N(1<<40), "")
		}
		return call{"POST", path, "[" + strings.Join(all, ",") + "]", ""}
	})
	if loaded.errors > 0 {
		return fmt.Errorf("%s", loaded.firstError)
	}
	s.note("an inbound call with %d new contacts, each with 3 deliveries: %v (p50), %v (p99) of %d calls", items, short(loaded.p50), short(loaded.p99), calls)
	return nil
}

// drain waits until all deliveries have arrived.
func (s *suite) drain() error {
	for {
		var left float64
		for _, name := range []string{"contactbase_delivery_fanout_lag_events", "contactbase_delivery_pending"} {
			n, err := s.ours.metric(name)
			if err != nil {
				return err
			}
			left += n
		}
		if left == 0 {
			return nil
		}
		time.Sleep(5 * time.Millisecond)
	}
}

func (s *suite) closeReceiver() error {
	s.receiver.Close()
	return nil
}

func create(path, tenant string) request {
	return func(int64, *rand.Rand) call { return call{"POST", path, contact(rand.Int64N(1<<40), tenant), ""} }
}

func get(path string) request {
	return func(int64, *rand.Rand) call { return call{"GET", path, "", ""} }
}

func readOne(ids *[]string, prefix string) request {
	return func(_ int64, random *rand.Rand) call {
		return call{"GET", prefix + (*ids)[random.IntN(len(*ids))], "", ""}
	}
}

func update(ids *[]string, prefix string) request {
	return func(n int64, random *rand.Rand) call {
		return call{"PATCH", prefix + (*ids)[random.IntN(len(*ids))], fmt.Sprintf(`{"company":"Changed %d"}`, n), ""}
	}
}
