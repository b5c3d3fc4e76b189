package main

import (
	"database/sql"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"
)

const (
	ourContacts   = "/api/ext/v1/contacts"
	ourEvents     = "/api/ext/v1/events"
	plainContacts = "/api/collections/contacts/records"

	firstContact = 1_000_000_000 // the number of a tenant's first contact
	fillTimeout  = 24 * time.Hour

	drawnPeople = 25_000
	drawnPages  = 20
	eventPages  = 100
)

// population is the tenants and contacts of a data directory, and where to find them.
type population struct {
	plain             bool // of plain PocketBase, which has one tenant
	tenants, contacts int  // contacts of each tenant
	members           []member
	neighbour         member // has no contacts
	people            []call // each reads a contact, drawn at random
	pages             []call // each reads a list, from some depth
	events            []call // each reads a page of the feed
	inbound           string // the path of an inbound webhook
}

// parsePopulation reads "1000x100": a thousand tenants of a hundred contacts each.
func parsePopulation(text string) (*population, error) {
	p := &population{}
	if _, err := fmt.Sscanf(text, "%dx%d", &p.tenants, &p.contacts); err != nil || p.tenants < 1 || p.contacts < 1 {
		return nil, fmt.Errorf("-sizes: expected tenants and contacts such as 1000x100, not %q", text)
	}
	return p, nil
}

func (p *population) String() string {
	if p.tenants == 1 {
		return thousands(p.contacts)
	}
	return thousands(p.tenants) + " tenants of " + thousands(p.contacts)
}

// fill adds whatever the data directory lacks of the population, and looks up what the phases request.
func (p *population) fill(s *server) error {
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return err
	}
	if !p.plain {
		if _, err := s.run("superuser", "upsert", superuser, superuserPassword); err != nil {
			return err
		}
	}
	if err := s.start(); err != nil {
		return err
	}
	defer s.stop()
	db, err := s.open()
	if err != nil {
		return err
	}
	defer db.Close()
	for _, step := range []func(*server, *sql.DB) error{
		p.makeMembers, p.makeContacts, p.drawPeople, p.findPages, p.findEvents, p.checkRareWord,
	} {
		if err := step(s, db); err != nil {
			return err
		}
	}
	return nil
}

// missingContacts is what one request creates.
type missingContacts struct {
	member
	first, count int64
}

// makeContacts creates the contacts that are missing, and waits until they are in the index of trigrams.
func (p *population) makeContacts(s *server, db *sql.DB) error {
	batch := int64(1_000)
	if p.plain {
		batch = 1
	}
	var missing []missingContacts
	for _, m := range p.members {
		var there int64
		if err := db.QueryRow("SELECT count(*) FROM contacts WHERE tenant = ?", m.id).Scan(&there); err != nil {
			return err
		}
		for ; there < int64(p.contacts); there += batch {
			missing = append(missing, missingContacts{m, firstContact + there, min(batch, int64(p.contacts)-there)})
		}
	}
	if len(missing) == 0 {
		return nil
	}
	next := func(n int64, _ *rand.Rand) call {
		some := missing[n-1]
		return p.newContacts(some.member, some.first, some.count)
	}
	if _, err := (load{
		connections: 4, length: fillTimeout, limit: int64(len(missing)), next: next,
	}).run(s.base); err != nil {
		return fmt.Errorf("creating contacts: %w", err)
	}
	return s.settle()
}

// drawPeople draws contacts at random from the whole database.
func (p *population) drawPeople(_ *server, db *sql.DB) error {
	auths := map[string]string{}
	for _, m := range p.members {
		auths[m.id] = m.auth()
	}
	var last int64
	if err := db.QueryRow("SELECT max(rowid) FROM contacts").Scan(&last); err != nil {
		return err
	}
	random := rand.New(rand.NewPCG(1, 1))
	for range drawnPeople {
		var id, tenant string
		if err := db.QueryRow(
			"SELECT id, tenant FROM contacts WHERE rowid >= ? LIMIT 1", 1+random.Int64N(last),
		).Scan(&id, &tenant); err != nil {
			return err
		}
		p.people = append(p.people, call{method: "GET", path: p.path() + "/" + id, auth: auths[tenant]})
	}
	return nil
}

// findPages looks up pages at many depths, of many tenants.
func (p *population) findPages(s *server, _ *sql.DB) error {
	for n := range drawnPages {
		m, depth := p.members[n*len(p.members)/drawnPages], 50+max(0, p.contacts-51)*n/drawnPages
		if p.plain { // has no cursors
			p.pages = append(p.pages, p.list(m, "", fmt.Sprintf("&page=%d", depth/50+1)))
			continue
		}
		header, err := s.ask(p.list(m, fmt.Sprintf("&offset=%d", depth-50), ""), nil)
		if err != nil {
			return err
		}
		next, _, found := strings.Cut(strings.TrimPrefix(header.Get("Link"), "<"), ">")
		address, err := url.Parse(next)
		if !found || err != nil {
			return fmt.Errorf("%s have no page at depth %d", p, depth)
		}
		p.pages = append(p.pages, call{method: "GET", path: address.RequestURI(), auth: m.auth()})
	}
	return nil
}

// findEvents looks up the first pages of a tenant's feed.
func (p *population) findEvents(s *server, _ *sql.DB) error {
	page := struct {
		HasMore bool
		Cursor  string
	}{HasMore: !p.plain}
	for page.HasMore && len(p.events) < eventPages {
		next := call{method: "GET", path: ourEvents + "?limit=1000&after=" + page.Cursor, auth: p.members[0].auth()}
		if _, err := s.ask(next, &page); err != nil {
			return err
		}
		p.events = append(p.events, next)
	}
	return nil
}

// checkRareWord makes sure that the search for a rare word finds one contact.
func (p *population) checkRareWord(s *server, _ *sql.DB) error {
	var found struct{ Data, Items []struct{ ID string } }
	if _, err := s.ask(p.search(p.members[0], rareWord(p)), &found); err != nil {
		return err
	}
	if n := len(found.Data) + len(found.Items); n != 1 {
		return fmt.Errorf("%d instead of 1 of %s contacts have the word %s", n, p, rareWord(p))
	}
	return nil
}

// rareWord returns a word that one contact of each tenant has.
func rareWord(p *population) string {
	return fmt.Sprintf("nr%x", (firstContact+int64(p.contacts)*7/10)*7919)
}

func (p *population) path() string {
	if p.plain {
		return plainContacts
	}
	return ourContacts
}

var firstNames = []string{"Anna", "Bernd", "Zoë", "Dieter", "Elena", "Μαρία", "Иван", "太郎", "José", "Jürgen"}

// contact returns the properties of the n-th contact.
func (p *population) contact(m member, n int64) string {
	tenant := ""
	if p.plain {
		tenant = `,"tenant":"` + m.id + `"`
	}
	return fmt.Sprintf(`{"name":"%s Nr%x","email":"p%d@example%d.com","phone":"+4930%07d","company":"Firma %x"%s}`,
		firstNames[n%10], n*7919, n, n%50, n%10_000_000, n%9973, tenant)
}

// create creates the n-th contact.
func (p *population) create(m member, n int64) call {
	return call{"POST", p.path(), p.contact(m, n), m.auth()}
}

// newContacts creates contacts by one request.
func (p *population) newContacts(m member, first, count int64) call {
	if p.plain {
		return p.create(m, first)
	}
	items := make([]string, 0, count)
	for n := first; n < first+count; n++ {
		items = append(items, `{"action":"create","contact":`+p.contact(m, n)+"}")
	}
	return call{"POST", ourContacts + "/batch", `{"items":[` + strings.Join(items, ",") + "]}", m.auth()}
}

// list reads 50 of a tenant's contacts, with parameters of ours or of plain PocketBase.
func (p *population) list(m member, ours, plain string) call {
	if p.plain {
		filter := url.QueryEscape("tenant='" + m.id + "'")
		return call{method: "GET", path: plainContacts + "?perPage=50&skipTotal=1&sort=created,id&filter=" + filter + plain}
	}
	return call{method: "GET", path: ourContacts + "?limit=50" + ours, auth: m.auth()}
}

// search looks for a word in 50 of a tenant's contacts.
func (p *population) search(m member, word string) call {
	var parts []string
	for _, field := range []string{"name", "email", "phone", "company"} {
		parts = append(parts, field+"~'"+word+"'")
	}
	return p.list(m, "&q="+url.QueryEscape(word), url.QueryEscape("&&("+strings.Join(parts, "||")+")"))
}

// size returns how many bytes a directory takes.
func size(dir string) (total int64) {
	_ = filepath.WalkDir(dir, func(_ string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if info, err := entry.Info(); err == nil && !entry.IsDir() {
			total += info.Size()
		}
		return nil
	})
	return total
}
