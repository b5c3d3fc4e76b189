package main

import (
	"encoding/json"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"
)

const (
	ourContacts   = "/api/ext/v1/contacts"
	plainContacts = "/api/collections/contacts/records"
	debugAddress  = "127.0.0.1:16060"
	benchTenant   = "benchbenchbench"
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
	setUp       func() error
	ours, plain request
	single      bool // over one connection
}

func phases(ours, plain *target, binary string) []phase {
	var ourIDs, plainIDs []string
	var created int64
	nothing := func() error { return nil }
	fill := func() error {
		if ourIDs != nil {
			return nil
		}
		for _, side := range []*target{ours, plain} {
			missing := int64(*contacts) - count(side)
			if missing <= 0 {
				continue
			}
			path, tenant := ourContacts, ""
			if side == plain {
				path, tenant = plainContacts, benchTenant
			}
			began := time.Now()
			loaded := run(newClient(*connections), side.base, side.header, *connections, time.Hour, missing, func(n int64, _ *rand.Rand) (string, string, string) {
				return "POST", path, contact(1_000_000_000+n, tenant)
			})
			if loaded.errors > 0 {
				return fmt.Errorf("filling: %s", loaded.firstError)
			}
			log.Printf("filled %s with %d contacts in %v", side.name, missing, time.Since(began).Round(time.Second))
		}
		time.Sleep(3 * time.Second) // the index of trigrams follows the writes
		var err error
		if ourIDs, err = ids(ours, ourContacts+"?limit=200"); err != nil {
			return err
		}
		plainIDs, err = ids(plain, plainContacts+"?perPage=200&fields=id")
		return err
	}
	create := func(path, tenant string) request {
		return func(int64, *rand.Rand) (string, string, string) {
			created++ // a race counts one twice, which nobody minds
			return "POST", path, contact(rand.Int64N(1<<40), tenant)
		}
	}
	var deep string
	list := []phase{
		{"create", nothing, create(ourContacts, ""), create(plainContacts, benchTenant), false},
		{"read one", fill, late(&ourIDs, func(ids []string) request { return readOne(ids, ourContacts+"/") }),
			late(&plainIDs, func(ids []string) request { return readOne(ids, plainContacts+"/") }), false},
		{"update one field", fill, late(&ourIDs, func(ids []string) request { return update(ids, ourContacts+"/") }),
			late(&plainIDs, func(ids []string) request { return update(ids, plainContacts+"/") }), false},
		{"list 50", fill, get(ourContacts + "?limit=50"),
			get(plainContacts + "?perPage=50&sort=created,id&filter=" + url.QueryEscape("tenant='"+benchTenant+"'")), false},
		{"offset 50,000", fill, get(ourContacts + "?limit=50&offset=50000"),
			get(plainContacts + "?perPage=50&page=1001&sort=created,id&filter=" + url.QueryEscape("tenant='"+benchTenant+"'")), false},
		{"cursor at half", func() error {
			if err := fill(); err != nil {
				return err
			}
			var err error
			deep, err = cursorAt(ours, *contacts/2)
			return err
		}, func(int64, *rand.Rand) (string, string, string) { return "GET", deep, "" },
			get(plainContacts + "?perPage=50&page=1000&sort=created,id&filter=" + url.QueryEscape("tenant='"+benchTenant+"'")), false},
	}
	for _, q := range []struct{ name, word string }{
		{"q rare", fmt.Sprintf("nr%x", (1_000_000_000+int64(*contacts)*7/10)*7919)},
		{"q common", "example"}, {"q two words", "anna example7"}, {"q two letters", "nn"}, {"q no such letters", "qq"}, {"q accented", "zoe"},
	} {
		var side request
		if q.name == "q rare" || q.name == "q common" {
			var parts []string
			for _, field := range []string{"name", "email", "phone", "company"} {
				parts = append(parts, field+"~'"+q.word+"'")
			}
			side = get(plainContacts + "?perPage=50&sort=created&skipTotal=1&filter=" + url.QueryEscape("tenant='"+benchTenant+"'&&("+strings.Join(parts, "||")+")"))
		}
		list = append(list, phase{q.name + ", 1 connection", fill, get(ourContacts + "?limit=50&q=" + url.QueryEscape(q.word)), side, true})
	}
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
	}))
	return append(list, phase{"create with 3 webhooks", func() error {
		for i := range 3 {
			if _, err := runJSON(binary, ours.dir, "webhook", "create", "Bench", fmt.Sprintf("%s/%d", receiver.URL, i)); err != nil {
				return err
			}
		}
		return nil
	}, create(ourContacts, ""), create(plainContacts, benchTenant), false})
}

// late builds the request once the ids are there.
func late(ids *[]string, build func([]string) request) request {
	var built request
	return func(n int64, random *rand.Rand) (string, string, string) {
		if built == nil {
			built = build(*ids)
		}
		return built(n, random)
	}
}

func get(path string) request {
	return func(int64, *rand.Rand) (string, string, string) { return "GET", path, "" }
}

func readOne(ids []string, prefix string) request {
	return func(_ int64, random *rand.Rand) (string, string, string) {
		return "GET", prefix + ids[random.IntN(len(ids))], ""
	}
}

func update(ids []string, prefix string) request {
	return func(n int64, random *rand.Rand) (string, string, string) {
		return "PATCH", prefix + ids[random.IntN(len(ids))], fmt.Sprintf(`{"company":"Changed %d"}`, n)
	}
}

func ids(t *target, path string) ([]string, error) {
	var list struct {
		Data, Items []struct{ ID string }
	}
	if err := fetch(t, path, &list); err != nil {
		return nil, err
	}
	var found []string
	for _, item := range append(list.Data, list.Items...) {
		found = append(found, item.ID)
	}
	return found, nil
}

func count(t *target) int64 {
	if t.name == "plain" {
		var list struct{ TotalItems int64 }
		_ = fetch(t, plainContacts+"?perPage=1", &list)
		return list.TotalItems
	}
	// ours does not count: look for the end
	low, high := int64(0), int64(20_000_000)
	for low < high {
		middle := (low + high) / 2
		found, err := ids(t, fmt.Sprintf("%s?limit=1&offset=%d", ourContacts, middle))
		if err == nil && len(found) > 0 {
			low = middle + 1
		} else {
			high = middle
		}
	}
	return low
}

// cursorAt returns the address of the page that begins at that depth.
func cursorAt(t *target, depth int) (string, error) {
	r, err := http.NewRequest(http.MethodGet, fmt.Sprintf("%s%s?limit=50&offset=%d", t.base, ourContacts, depth-50), nil)
	if err != nil {
		return "", err
	}
	r.Header = t.header
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	address, _, found := strings.Cut(strings.TrimPrefix(response.Header.Get("Link"), "<"), ">")
	if !found {
		return "", fmt.Errorf("no next page at depth %d", depth)
	}
	return address, nil
}

func fetch(t *target, path string, into any) error {
	r, err := http.NewRequest(http.MethodGet, t.base+path, nil)
	if err != nil {
		return err
	}
	r.Header = t.header
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	return json.NewDecoder(response.Body).Decode(into)
}

// bareServer answers as little as a server can.
func bareServer() (base string, stop func()) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"data":{}}`)
	}))
	return server.URL, server.Close
}

func matches(name string) bool { return strings.Contains(name, *only) }

// profileOf records a CPU profile of our server while a phase runs.
func profileOf(t *target, name string) (stop func()) {
	if *profile == "" || t.name != "ours" {
		return func() {}
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		response, err := http.Get(fmt.Sprintf("http://%s/debug/pprof/profile?seconds=%d", debugAddress, max(1, int(*seconds))))
		if err != nil {
			return
		}
		defer response.Body.Close()
		file, err := os.Create(filepath.Join(*profile, strings.ReplaceAll(name, " ", "-")+".pprof"))
		if err != nil {
			return
		}
		defer file.Close()
		_, _ = io.Copy(file, response.Body)
	}()
	return func() { <-done }
}
