package contact_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/pocketbase/dbx"

	"contactbase/internal/stamp"

	"contactbase/internal/testkit"
)

// seen remembers what was there when it looked last.
type seen struct {
	*book
	events   int
	contacts map[string]dbx.NullStringMap // by id, as they were last
}

// ownText matches what an event has of its own: its id and time.
var ownText = regexp.MustCompile(`"id":"evt_[0-9a-z]+",|"timestamp":"[^"]*",`)

// look returns the rows that are there, and the events that came, without what differs from run to run.
func (s *seen) look() (lines []string) {
	s.TB.Helper()
	for _, row := range s.rows("SELECT * FROM contacts WHERE tenant = {:tenant} ORDER BY externalId") {
		former := s.contacts[row["id"].String]
		lines = append(lines, fmt.Sprintf("contact: %s changed=%t moved=%t",
			plain(row, "id", "created", "updated"), row["updated"] != row["created"], row["updated"] != former["updated"]))
		s.contacts[row["id"].String] = row
	}
	replace := []string{s.Tenant, "TENANT"}
	for id, row := range s.contacts {
		replace = append(replace, id, "ID of "+row["externalId"].String)
	}
	mask := strings.NewReplacer(replace...)
	for _, row := range s.rows("SELECT contact, email, text, indexed FROM _contactSearch WHERE tenant = {:tenant} ORDER BY text") {
		lines = append(lines, "search row: "+mask.Replace(plain(row)))
	}
	for _, row := range s.rows("SELECT type, contact, payload FROM events WHERE tenant = {:tenant} ORDER BY rowid")[s.events:] {
		s.events++
		about := s.contacts[row["contact"].String]
		times := strings.NewReplacer(stamp.Show(about["created"].String), "CREATED", stamp.Show(about["updated"].String), "UPDATED")
		payload := times.Replace(ownText.ReplaceAllString(row["payload"].String, ""))
		lines = append(lines, "event: "+mask.Replace(row["type"].String+" "+row["contact"].String+" "+payload))
	}
	testkit.FanOut(s.TB, s.App)
	for _, row := range s.rows("SELECT w.name, d.status, d.attempts, e.type, e.contact FROM deliveries d JOIN events e ON e.id = d.event " +
		"JOIN webhooks w ON w.id = d.webhook WHERE d.tenant = {:tenant} ORDER BY e.rowid, w.name") {
		lines = append(lines, "delivery: "+mask.Replace(plain(row)))
	}
	for _, row := range s.rows("SELECT owner, signer, partners FROM deals ORDER BY rowid") {
		lines = append(lines, "deal: "+mask.Replace(plain(row)))
	}
	return lines
}

func (s *seen) rows(query string) (rows []dbx.NullStringMap) {
	s.TB.Helper()
	if err := s.App.DB().NewQuery(query).Bind(dbx.Params{"tenant": s.Tenant}).All(&rows); err != nil {
		s.TB.Fatalf("%s: %v", query, err)
	}
	return rows
}

// plain returns a row without some columns.
func plain(row dbx.NullStringMap, left ...string) string {
	kept := map[string]string{}
	for name, value := range row {
		if name != "tenant" && !slices.Contains(left, name) {
			kept[name] = value.String
		}
	}
	return fmt.Sprintf("%q", kept)
}
