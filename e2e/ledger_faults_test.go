package e2e

import (
	"iter"
	"maps"
	"strings"
	"testing"

	"contactbase/internal/testenv"
)

// The audit of the tests that kill the server detects each kind of loss, which this test causes.
func TestAuditSeesLosses(t *testing.T) {
	t.Parallel()
	testenv.Long(t, "checks the audit of the tests that kill the server, not the program")
	c := newCrew(t)
	c.env = []string{"CONTACTBASE_RETENTION_DAYS=1"}
	s := c.serve()
	wait := c.start(s)
	c.await(60)
	c.heal()
	for range 2 {
		c.arrive(s).fill(t, s.client(""), 30)
	}
	gone, here := c.list[0].tenant, c.list[1].tenant
	c.list[0].leaving = true
	terminate(s)
	wait()
	if sheet := c.settle(); !sheet.sound() {
		t.FailNow()
	}
	c.makeOld(10, overSQL)
	if sheet := c.settle(); !sheet.sound() {
		t.FailNow()
	}
	replacer := strings.NewReplacer("$gone", "'"+gone+"'", "$here", "'"+here+"'", "$healthy", "'"+c.webhooks["healthy"]+"'", "$old", "'"+first(maps.Keys(c.old))+"'")
	const last = "(SELECT contact FROM events WHERE type = 'contact.updated' ORDER BY rowid DESC LIMIT 1)"
	guests := func(s *tallySheet) int { return s.lostGuests }
	remains := func(s *tallySheet) int { return s.remains }
	for name, tc := range map[string]struct {
		damage string
		count  func(*tallySheet) int
	}{
		"contact":           {"DELETE FROM contacts WHERE id = " + last, func(s *tallySheet) int { return min(s.missingContacts, s.eventsWithout, len(s.searchDisagreements)) }},
		"change":            {"UPDATE contacts SET company = 'Firma' WHERE id = " + last, func(s *tallySheet) int { return min(s.staleContacts, len(s.searchDisagreements)) }},
		"twice":             {"UPDATE contacts SET email = 'p1@example.com'", func(s *tallySheet) int { return s.doubleContacts }},
		"event":             {"DELETE FROM events WHERE contact = " + last, func(s *tallySheet) int { return min(s.contactsWithout, s.unknownEvents) }},
		"event of a change": {"DELETE FROM events WHERE type = 'contact.updated'", func(s *tallySheet) int { return s.contactsWithout }},
		"delivery":          {"DELETE FROM deliveries WHERE event = (SELECT max(event) FROM deliveries WHERE webhook = $healthy)", func(s *tallySheet) int { return s.missingDeliveries }},
		"pending":           {"UPDATE deliveries SET status = 'pending' WHERE rowid = (SELECT max(rowid) FROM deliveries)", func(s *tallySheet) int { return s.unfinished }},
		"arrival":           {"UPDATE events SET id = 'somethingelse00' WHERE id = (SELECT max(event) FROM deliveries WHERE webhook = $healthy)", func(s *tallySheet) int { return min(s.missingEvents, s.unknownEvents) }},
		"search row":        {"DELETE FROM _contactSearch WHERE contact = " + last, func(s *tallySheet) int { return len(s.searchDisagreements) }},
		"trigrams":          {"DELETE FROM _contactGrams WHERE rowid = (SELECT min(seq) FROM _contactSearch)", func(s *tallySheet) int { return len(s.searchDisagreements) }},
		"other trigrams":    {"UPDATE _contactSearch SET text = text || 'x', indexed = 1", func(s *tallySheet) int { return len(s.searchDisagreements) }},
		"old event":         {"UPDATE events SET id = $old WHERE rowid = (SELECT max(rowid) FROM events)", func(s *tallySheet) int { return s.unpruned }},
		"guest":             {"DELETE FROM tenants WHERE id = $here", guests},
		"guest's contact":   {"DELETE FROM contacts WHERE id = (SELECT id FROM contacts WHERE tenant = $here AND company = 'batch1')", func(s *tallySheet) int { return min(s.lostGuests, s.tornBatches) }},
		"guest's event":     {"DELETE FROM events WHERE id = (SELECT id FROM events WHERE tenant = $here)", func(s *tallySheet) int { return min(s.lostGuests, s.remains) }},
		"guest's delivery":  {"DELETE FROM deliveries WHERE id = (SELECT id FROM deliveries WHERE tenant = $here)", guests},
		"return":            {"INSERT INTO tenants (id, name, created, updated) VALUES ($gone, 'Back', '', '')", func(s *tallySheet) int { return s.returnedGuests }},
		"deleted contact":   {"UPDATE contacts SET tenant = $gone WHERE tenant = $here", remains},
		"deleted event":     {"UPDATE events SET tenant = $gone WHERE tenant = $here", remains},
		"deleted delivery":  {"UPDATE deliveries SET tenant = $gone WHERE tenant = $here", remains},
		"deleted webhook":   {"UPDATE webhooks SET tenant = $gone WHERE tenant = $here", remains},
		"deleted key":       {"UPDATE api_keys SET tenant = $gone WHERE tenant = $here", remains},
		"deleted inbound":   {"UPDATE inbound_webhooks SET tenant = $gone WHERE tenant = $here", remains},
		"deleted request":   {"UPDATE inbound_requests SET tenant = $gone WHERE tenant = $here", remains},
		"deleted search":    {"UPDATE _contactSearch SET tenant = $gone WHERE tenant = $here", remains},
		"deleted answer":    {"UPDATE _idempotency SET tenant = $gone WHERE tenant = $here", remains},
		"stored bytes":      {"INSERT INTO _stored (tenant, bytes) VALUES ($gone, 1) ON CONFLICT DO UPDATE SET bytes = 1", remains},
		"people":            {"INSERT INTO _inboundPeople (person, request) VALUES ('somebody', 'somethingelse00')", remains},
		"crowd":             {"INSERT INTO _inboundCrowds (tenant, request, people) VALUES ($here, 'somethingelse00', '')", remains},
		"deletion":          {"INSERT INTO _deletions (collection, record, detail, created) VALUES ('tenants', $gone, '', '')", remains},
		"attempt":           {"UPDATE delivery_attempts SET delivery = 'somethingelse00' WHERE rowid = (SELECT max(rowid) FROM delivery_attempts)", remains},
		"remembered answer": {"UPDATE _idempotency SET contact = 'somethingelse00' WHERE contact != ''", remains},
		"late index":        {"UPDATE _contactIndexed SET upTo = 0", func(s *tallySheet) int { return min(s.unindexed, len(s.searchDisagreements)) }},
		"index":             {"PRAGMA writable_schema = ON; UPDATE sqlite_schema SET sql = replace(sql, '(`contact`)', '(`type`)') WHERE name = 'idx_events_contact'", func(s *tallySheet) int { return len(s.unsound) }},
	} {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			copyFolder(t, c.data, folder)
			db := openData(t, folder)
			if _, err := db.ExecContext(t.Context(), replacer.Replace(tc.damage)); err != nil {
				t.Fatal(err)
			}
			if err := db.Close(); err != nil {
				t.Fatal(err)
			}
			sheet := audit(t, openData(t, folder), c)
			if tc.count(sheet) == 0 || sheet.sound() {
				t.Errorf("after %s the audit says %s", tc.damage, sheet)
			}
		})
	}
	t.Run("pruned", func(t *testing.T) { seesLostPast(t, c) })
	t.Run("not found", func(t *testing.T) { seesUnfound(t, c) })
}

// The audit also detects an event that was pruned without having arrived.
func seesLostPast(t *testing.T, c *crew) {
	c.old["somethingelse00"] = past{kind: "contact.updated"}
	defer delete(c.old, "somethingelse00")
	if sheet := audit(t, openData(t, c.data), c); sheet.missingEvents != 3 {
		t.Errorf("an event that none of three receivers got counts as %d", sheet.missingEvents)
	}
}

// The search for all contacts of a guest detects missing ones.
func seesUnfound(t *testing.T, c *crew) {
	g := c.list[1]
	folder := t.TempDir()
	copyFolder(t, c.data, folder)
	db := openData(t, folder)
	if _, err := db.ExecContext(t.Context(), "UPDATE _contactSearch SET text = 'somebody else' WHERE tenant = '"+g.tenant+"'"); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	damaged := &crew{installation: &installation{t: t, data: folder, env: c.env}, t: t}
	s := damaged.serve()
	if damaged.find(s, g) == 0 {
		t.Error("contacts whose search rows are others' are found")
	}
}

// first returns one of the values.
func first[T any](values iter.Seq[T]) (value T) {
	for value = range values {
		break
	}
	return value
}
