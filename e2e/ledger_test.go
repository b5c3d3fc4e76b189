package e2e

import (
	"database/sql"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	_ "modernc.org/sqlite" // to look at what a server that has ended left behind
)

// openData opens the database of a data directory without a server. Changes need not be durable.
func openData(t *testing.T, folder string) *sql.DB {
	t.Helper()
	return openFile(t, filepath.Join(folder, "data.db"))
}

func openFile(t *testing.T, path string) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", path+"?_pragma=busy_timeout(60000)&_pragma=synchronous(off)")
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// rows runs a query of text columns, and calls scan for each row.
func rows(t *testing.T, db *sql.DB, query string, scan func(row []string)) {
	t.Helper()
	found, err := db.QueryContext(t.Context(), query)
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	defer found.Close()
	columns, err := found.Columns()
	if err != nil {
		t.Fatal(err)
	}
	row := make([]string, len(columns))
	into := make([]any, len(columns))
	for i := range row {
		into[i] = &row[i]
	}
	for found.Next() {
		if err := found.Scan(into...); err != nil {
			t.Fatalf("%s: %v", query, err)
		}
		scan(slices.Clone(row))
	}
	if err := found.Err(); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
}

// column returns the only column of a query.
func column(t *testing.T, db *sql.DB, query string) []string {
	t.Helper()
	var values []string
	rows(t, db, query, func(row []string) { values = append(values, row[0]) })
	return values
}

// count returns the number that a query returns.
func count(t *testing.T, db *sql.DB, query string) (number int) {
	t.Helper()
	if err := db.QueryRowContext(t.Context(), query).Scan(&number); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return number
}

// tallySheet counts problems. All counts except the last two must be 0.
type tallySheet struct {
	contacts, events, deliveries int

	missingContacts     int // answered with 201 and not there
	staleContacts       int // an answered change is not there
	doubleContacts      int // a request with an idempotency key was carried out twice
	contactsWithout     int // without a contact.created, or without a contact.updated for each answered change
	eventsWithout       int // about a contact that is not there
	missingDeliveries   int // events that are not queued for each webhook
	unfinished          int // deliveries that are not delivered
	missingEvents       int // events that a receiver never got, summed over the receivers
	unknownEvents       int // events that the healthy receiver got and that are not there
	differentEvents     int // events that came with other bytes the second time
	unverified          int // deliveries with a wrong signature
	disordered          int // contacts whose change arrived before their creation
	unpruned            int // events that are over and old, and still there
	lostGuests          int // tenants that nobody deleted, or with missing rows
	tornBatches         int // calls of which a part was carried out
	returnedGuests      int // tenants whose deletion was answered and that are there
	remains             int // rows of what is gone
	unindexed           int // contacts that the index has not caught up with
	unfound             int // contacts that a search misses, or finds without reason
	unheard             int // made without their creator hearing of it; allowed after a crash
	duplicates          int // at the healthy receiver; allowed
	unsound             []string
	searchDisagreements []string
}

func (s *tallySheet) String() string {
	return fmt.Sprintf("%d contacts, %d events, %d deliveries: missing contacts %d, missing changes %d, contacts made twice %d, contacts without event %d, "+
		"events without contact %d, events not queued %d, deliveries not over %d, missing events %d, unknown events %d, changed bytes %d, wrong signatures %d, "+
		"out of order %d, database faults %d, search faults %d, events not pruned %d, tenants incomplete %d, calls carried out in part %d, "+
		"tenants back %d, remains %d, contacts not indexed %d, not found %d; made without an answer %d, duplicates %d",
		s.contacts, s.events, s.deliveries, s.missingContacts, s.staleContacts, s.doubleContacts, s.contactsWithout,
		s.eventsWithout, s.missingDeliveries, s.unfinished, s.missingEvents, s.unknownEvents, s.differentEvents, s.unverified,
		s.disordered, len(s.unsound), len(s.searchDisagreements), s.unpruned, s.lostGuests, s.tornBatches,
		s.returnedGuests, s.remains, s.unindexed, s.unfound, s.unheard, s.duplicates)
}

// sound reports whether there are no problems.
func (s *tallySheet) sound() bool {
	return s.missingContacts+s.staleContacts+s.doubleContacts+s.contactsWithout+s.eventsWithout+s.missingDeliveries+s.unfinished+
		s.missingEvents+s.unknownEvents+s.differentEvents+s.unverified+s.disordered+
		s.unpruned+s.lostGuests+s.tornBatches+s.returnedGuests+s.remains+s.unindexed+s.unfound+len(s.unsound)+len(s.searchDisagreements) == 0
}

// audit compares the responses that clients got, the database and the requests of the receiver. The server has ended.
func audit(t *testing.T, db *sql.DB, c *crew) *tallySheet {
	t.Helper()
	s := &tallySheet{unsound: integrity(t, db), searchDisagreements: searchFaults(t, db)}
	s.contactsAgainst(t, db, c)
	created := s.eventsAgainst(t, db, c)
	s.arrivalsAgainst(c.healthy, created)
	s.missingEvents += absent(created, c.failing) + absent(created, c.hanging)
	s.unfinished = count(t, db, "SELECT count(*) FROM deliveries WHERE status != 'delivered'")
	s.guestsAgainst(t, db, c.guests)
	s.remainsOf(t, db)
	return s
}

// contactsAgainst compares the contacts with the clients' records.
func (s *tallySheet) contactsAgainst(t *testing.T, db *sql.DB, c *crew) {
	t.Helper()
	companies, byEmail := map[string]string{}, map[string]int{}
	rows(t, db, "SELECT id, email, company FROM contacts WHERE tenant = '"+c.tenant+"'", func(row []string) {
		s.contacts++
		companies[row[0]] = row[2]
		if byEmail[row[1]]++; byEmail[row[1]] > 1 {
			s.doubleContacts++
		}
	})
	for number := range c.unheard {
		s.unheard += byEmail[fmt.Sprintf("p%d@example.com", number)]
	}
	for _, contact := range c.known {
		company, there := companies[contact.id]
		switch {
		case !there:
			s.missingContacts++
		case company != contact.company && company != contact.maybe:
			s.staleContacts++
		}
	}
}

// eventsAgainst compares the events, including pruned ones, with the contacts, and returns the ids of the events.
func (s *tallySheet) eventsAgainst(t *testing.T, db *sql.DB, c *crew) map[string]bool {
	t.Helper()
	ids, creations, updates := map[string]bool{}, map[string]int{}, map[string]int{}
	add := func(id string, p past) {
		s.events++
		ids["evt_"+id] = true
		switch p.kind {
		case "contact.created":
			creations[p.contact]++
		case "contact.updated":
			updates[p.contact]++
		}
	}
	rows(t, db, "SELECT id, type, contact FROM events WHERE tenant = '"+c.tenant+"'", func(row []string) {
		if _, old := c.old[row[0]]; old {
			s.unpruned++
			return
		}
		add(row[0], past{row[1], row[2]})
	})
	for id, p := range c.old {
		add(id, p)
	}
	for _, id := range column(t, db, "SELECT id FROM contacts WHERE tenant = '"+c.tenant+"'") {
		if creations[id] != 1 {
			s.contactsWithout++
		}
	}
	for _, contact := range c.known {
		if updates[contact.id] < contact.updates {
			s.contactsWithout++
		}
	}
	s.eventsWithout = count(t, db, "SELECT count(*) FROM events WHERE contact NOT IN (SELECT id FROM contacts)")
	s.deliveries = count(t, db, "SELECT count(*) FROM deliveries")
	s.missingDeliveries = count(t, db, fmt.Sprintf("SELECT count(*) FROM events e WHERE tenant = '%s' AND %d != (SELECT count(*) FROM deliveries d WHERE d.event = e.id)", c.tenant, len(c.webhooks)))
	return ids
}

// arrivalsAgainst compares the requests of the receiver with the events.
func (s *tallySheet) arrivalsAgainst(r *receiver, events map[string]bool) {
	all, _, _ := r.look(atLeast(0))
	digests, created := map[string]string{}, map[string]bool{}
	for _, d := range all {
		if d.Error != "" {
			s.unverified++
		}
		first, again := digests[d.ID]
		switch {
		case again && first != d.Digest:
			s.differentEvents++
		case again:
			s.duplicates++
		case !events[d.ID]:
			s.unknownEvents++
		}
		digests[d.ID] = d.Digest
		switch {
		case d.Type == "contact.created":
			created[d.Contact] = true
		case !created[d.Contact]:
			s.disordered++
		}
	}
	s.missingEvents += absent(events, r)
}

// absent counts the events that never arrived at the receiver.
func absent(events map[string]bool, r *receiver) (count int) {
	all, _, _ := r.look(atLeast(0))
	arrived := map[string]bool{}
	for _, d := range all {
		arrived[d.ID] = true
	}
	for id := range events {
		if !arrived[id] {
			count++
		}
	}
	return count
}

// integrity returns the problems of the database file.
func integrity(t *testing.T, db *sql.DB) []string {
	t.Helper()
	faults := column(t, db, "PRAGMA integrity_check")
	if slices.Equal(faults, []string{"ok"}) {
		return nil
	}
	return faults
}

// searchFaults returns the differences between search rows and contacts, and between the trigram index
// and the search rows.
func searchFaults(t *testing.T, db *sql.DB) []string {
	t.Helper()
	var faults []string
	fault := func(format string, args ...any) { faults = append(faults, fmt.Sprintf(format, args...)) }
	for _, id := range column(t, db, "SELECT id FROM contacts WHERE id NOT IN (SELECT contact FROM _contactSearch) UNION ALL "+
		"SELECT contact FROM _contactSearch WHERE contact NOT IN (SELECT id FROM contacts)") {
		fault("the contact %s and its search row do not go together", id)
	}
	rows(t, db, "SELECT c.name, c.email, c.company, c.phone, s.text FROM contacts c JOIN _contactSearch s ON s.contact = c.id", func(row []string) {
		wanted := strings.ReplaceAll(strings.ToLower(strings.Join(row[:4], "\n")), "ë", "e")
		if row[4] != wanted {
			fault("the search row %q belongs to the contact %q", row[4], wanted)
		}
	})
	if _, err := db.ExecContext(t.Context(), "INSERT INTO _contactGrams (_contactGrams) VALUES ('integrity-check')"); err != nil {
		fault("the index of trigrams: %v", err)
	}
	if _, err := db.ExecContext(t.Context(), "CREATE VIRTUAL TABLE temp.gramsOf USING fts5vocab('main', '_contactGrams', 'instance')"); err != nil {
		t.Fatal(err)
	}
	indexed := map[string]map[string]bool{}
	rows(t, db, "SELECT DISTINCT doc, term FROM temp.gramsOf", func(row []string) {
		if indexed[row[0]] == nil {
			indexed[row[0]] = map[string]bool{}
		}
		indexed[row[0]][row[1]] = true
	})
	rows(t, db, "SELECT seq, text, indexed = 2, seq <= upTo FROM _contactSearch, _contactIndexed", func(row []string) {
		has := indexed[row[0]]
		delete(indexed, row[0])
		if row[2] == "1" {
			return // changed since it was indexed: a search reads the row itself
		}
		wanted := map[string]bool{}
		if row[3] == "1" {
			letters := []rune(row[1] + "\n\n")
			for n := 0; n+3 <= len(letters); n++ {
				wanted[string(letters[n:n+3])] = true
			}
		}
		if len(has) != len(wanted) {
			fault("the row %s has %d trigrams in the index, not %d", row[0], len(has), len(wanted))
			return
		}
		for gram := range wanted {
			if !has[gram] {
				fault("the row %s lacks %q in the index", row[0], gram)
			}
		}
	})
	for doc := range indexed {
		if len(column(t, db, "SELECT seq FROM _contactUnindexed WHERE seq = "+doc)) == 0 {
			fault("the index has the row %s, which is gone", doc)
		}
	}
	if _, err := db.ExecContext(t.Context(), "DROP TABLE temp.gramsOf"); err != nil {
		t.Fatal(err)
	}
	return faults
}
