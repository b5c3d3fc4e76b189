package e2e

import (
	"database/sql"
	"fmt"
	"path/filepath"
	"testing"
	"time"
)

// Events and attempts, including those of another process, are counted once, across kill -9 before and after
// they are counted.
func TestCountsSurviveKills(t *testing.T) {
	t.Parallel()
	i, _, key := newKey(t)
	r := newReceiver(t)
	r.set(str(t, i.one("webhook", "create", "Acme", r.URL), "secret"), nil)
	made := 0
	create := func(s *server, n int) {
		t.Helper()
		for range n {
			s.client(key).expect(201, "POST", contactsPath, fmt.Sprintf(`{"name":"Person %d"}`, made))
			made++
		}
	}
	awaitCounts := func(s *server) {
		t.Helper()
		admin := s.signIn()
		deadline := time.After(timeout)
		again := time.NewTicker(50 * time.Millisecond)
		defer again.Stop()
		for {
			counted := 0
			for _, step := range admin.do("GET", "/api/integrations/overview", "").data()["steps"].([]any) {
				counted += int(step.(map[string]any)["created"].(float64))
			}
			if counted == made {
				return
			}
			select {
			case <-again.C:
			case <-deadline:
				t.Fatalf("of %d contacts %d are counted", made, counted)
			}
		}
	}
	for round := range 3 {
		s := i.serve()
		create(s, 5)
		if round > 0 { // in the first round nothing is counted before the kill
			awaitCounts(s)
			create(s, 5)
		}
		s.kill()
	}
	s := i.serve()
	r.await(t, "the receiver", contacts(made))
	awaitCounts(s)
	s.end()

	db, err := sql.Open("sqlite", filepath.Join(i.data, "data.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for what, query := range map[string]string{
		"events":   "SELECT (SELECT sum(done) FROM _activity WHERE kind = 'event' AND grain = 3600), (SELECT count(*) FROM events)",
		"attempts": "SELECT (SELECT sum(done + retried + failed) FROM _activity WHERE kind = 'webhook' AND grain = 3600), (SELECT count(*) FROM delivery_attempts)",

		"events by the minute":   "SELECT (SELECT sum(done) FROM _activity WHERE kind = 'event' AND grain = 60), (SELECT count(*) FROM events)",
		"attempts by the minute": "SELECT (SELECT sum(done + retried + failed) FROM _activity WHERE kind = 'webhook' AND grain = 60), (SELECT count(*) FROM delivery_attempts)",
	} {
		var counts, rows int
		if err := db.QueryRow(query).Scan(&counts, &rows); err != nil || counts != rows || rows < made {
			t.Errorf("of %d %s %d are counted (%v)", rows, what, counts, err)
		}
	}
}
