package e2e

import (
	"testing"
)

// The audit of the tests that kill the server sees each kind of loss: here somebody makes them happen.
func TestAuditSeesLosses(t *testing.T) {
	t.Parallel()
	c := newCrew(t)
	s := c.serve()
	wait := c.start(s)
	c.await(60)
	c.heal()
	terminate(s)
	wait()
	if sheet := c.settle(); !sheet.sound() {
		t.FailNow()
	}
	const last = "(SELECT contact FROM events WHERE type = 'contact.updated' ORDER BY rowid DESC LIMIT 1)"
	for name, tc := range map[string]struct {
		damage string
		count  func(*tallySheet) int
	}{
		"contact":           {"DELETE FROM contacts WHERE id = " + last, func(s *tallySheet) int { return min(s.missingContacts, s.eventsWithout, len(s.searchDisagreements)) }},
		"change":            {"UPDATE contacts SET company = 'Firma' WHERE id = " + last, func(s *tallySheet) int { return min(s.staleContacts, len(s.searchDisagreements)) }},
		"twice":             {"UPDATE contacts SET email = 'p1@example.com'", func(s *tallySheet) int { return s.doubleContacts }},
		"event":             {"DELETE FROM events WHERE contact = " + last, func(s *tallySheet) int { return min(s.contactsWithout, s.unknownEvents) }},
		"event of a change": {"DELETE FROM events WHERE type = 'contact.updated'", func(s *tallySheet) int { return s.contactsWithout }},
		"delivery":          {"DELETE FROM deliveries WHERE rowid = 1", func(s *tallySheet) int { return s.missingDeliveries }},
		"pending":           {"UPDATE deliveries SET status = 'pending' WHERE rowid = 1", func(s *tallySheet) int { return s.unfinished }},
		"arrival":           {"UPDATE events SET id = 'somethingelse00' WHERE rowid = 1", func(s *tallySheet) int { return min(s.missingEvents, s.unknownEvents) }},
		"search row":        {"DELETE FROM _contactSearch WHERE contact = " + last, func(s *tallySheet) int { return len(s.searchDisagreements) }},
		"trigrams":          {"DELETE FROM _contactGrams WHERE rowid = (SELECT min(seq) FROM _contactSearch)", func(s *tallySheet) int { return len(s.searchDisagreements) }},
		"other trigrams":    {"UPDATE _contactSearch SET text = text || 'x', indexed = 1", func(s *tallySheet) int { return len(s.searchDisagreements) }},
		"index":             {"PRAGMA writable_schema = ON; UPDATE sqlite_schema SET sql = replace(sql, '(`contact`)', '(`type`)') WHERE name = 'idx_events_contact'", func(s *tallySheet) int { return len(s.unsound) }},
	} {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			copyFolder(t, c.data, folder)
			db := openData(t, folder)
			if _, err := db.ExecContext(t.Context(), tc.damage); err != nil {
				t.Fatal(err)
			}
			if err := db.Close(); err != nil {
				t.Fatal(err)
			}
			sheet := audit(t, openData(t, folder), c.traffic, c.endpoints)
			if tc.count(sheet) == 0 || sheet.sound() {
				t.Errorf("after %s the audit says %s", tc.damage, sheet)
			}
		})
	}
}
