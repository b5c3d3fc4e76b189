package e2e

import (
	"database/sql"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"testing"
	"time"

	"contactbase/internal/testenv"
)

// roundsEnv is the environment variable with the number of rounds of the tests that kill or stop the server.
const roundsEnv = "CRASH_ROUNDS"

// crashRounds returns that number. The default is small unless all tests run.
func crashRounds(t *testing.T, few, all int) int {
	t.Helper()
	return envCount(t, roundsEnv, testenv.Count(few, all))
}

// envCount returns the number in an environment variable, or a default.
func envCount(t *testing.T, name string, usual int) int {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		return usual
	}
	count, err := strconv.Atoi(text)
	if err != nil || count < 1 {
		t.Fatalf("%s is %q", name, text)
	}
	return count
}

// crew is an installation with clients and receivers.
type crew struct {
	*installation
	*traffic
	*endpoints
	*guests
	t      *testing.T
	tenant string          // of the clients
	old    map[string]past // events that were made old, by their ids
	hits   map[string]int  // how often a kill came in the middle of which work
}

func newCrew(t *testing.T) *crew {
	t.Helper()
	i := newInstallation(t).superuser()
	tenant := str(t, i.one("tenant", "create", "Acme", "--rateLimit", "1000000000"), "id")
	key := str(t, i.one("key", "create", tenant), "key")
	endpoints := newEndpoints(t, i, tenant)
	return &crew{i, newTraffic(t, key), endpoints, newGuests(t, endpoints), t, tenant, map[string]past{}, map[string]int{}}
}

// Rounds of kill -9 at random moments, while clients write, one receiver succeeds, one fails and one hangs, and while
// the server indexes, prunes, and deletes the records of a tenant: nothing that was acknowledged is lost, each event
// arrives, and all work completes in the end.
func TestCrashLoop(t *testing.T) {
	t.Parallel()
	c := newCrew(t)
	c.env = []string{"CONTACTBASE_RETENTION_DAYS=1"}
	rounds := crashRounds(t, 5, 15) // of five kinds; `task kills` has a thousand
	lap := max(15, rounds/20)
	began := time.Now()
	for round := range rounds {
		c.round(round)
		if (round+1)%lap == 0 || round+1 == rounds {
			t.Logf("%d rounds of kill -9 in %s, %d answers, %d of them to what was carried out in an earlier round; they hit %v",
				round+1, time.Since(began).Round(time.Millisecond), c.answers, c.replays, c.hits)
			if !c.settle().sound() {
				t.FailNow()
			}
			c.fallIll()
		}
	}
	if rounds >= 30 {
		for _, work := range []string{indexing, pruning, removing} {
			if c.hits[work] == 0 {
				t.Errorf("no round hit the server %s", work)
			}
		}
	}
}

// round starts the server, and kills it while it is busy.
func (c *crew) round(number int) {
	c.t.Helper()
	if number%5 == 4 {
		c.killEarly()
	}
	s := c.serve()
	wait := c.start(s)
	over := func() {}
	switch number % 5 {
	case 1:
		over = c.invite(s)
	case 2:
		over = c.dismiss(s)
	case 3:
		c.prune(s)
	default:
		c.await(1 + rand.IntN(150))
		<-time.After(rand.N(20 * time.Millisecond)) // the moment is not one of an answer
	}
	s.kill()
	over()
	wait()
}

// killEarly kills a server during its start, when it recovers from the last kill.
func (c *crew) killEarly() {
	c.t.Helper()
	command := exec.Command(binary(c.t), "serve", "--http", freeAddress(c.t), "--dir", c.data)
	command.Env = testEnv(c.env...)
	p := launch(c.t, command)
	select {
	case <-p.ended:
		c.t.Errorf("the server does not start: %v\n%s", p.failure, p.output)
	case <-time.After(rand.N(time.Second)):
		p.kill()
	}
}

// settle makes all receivers succeed, waits until all work is done, and audits.
func (c *crew) settle() *tallySheet {
	c.t.Helper()
	c.check()
	c.heal()
	hurry(c.t, openData(c.t, c.data), c.webhooks["healthy"])
	s := c.serve()
	c.awaitDelivered(s)
	c.decide(s)
	unfound := c.findGuests(s)
	c.awaitOver(s)
	s.stop()
	sheet := audit(c.t, openData(c.t, c.data), c)
	sheet.unfound = unfound
	c.t.Log(sheet)
	if !sheet.sound() {
		c.t.Error("the audit found problems", sheet.unsound, sheet.searchDisagreements)
	}
	return sheet
}

// hurry makes the deliveries to all webhooks except one ("" for none) due immediately, and closes the database.
func hurry(t *testing.T, db *sql.DB, except string) {
	t.Helper()
	if _, err := db.ExecContext(t.Context(), "UPDATE deliveries SET nextAttempt = created WHERE status = 'pending' AND webhook != ?", except); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}

// cursorRow selects the rowid of the last event that was fanned out.
const cursorRow = "coalesce((SELECT last.rowid FROM _fanOutCursor JOIN events last ON last.id = _fanOutCursor.event), 0)"

// awaitDelivered waits until all events are fanned out and no delivery is pending.
func (c *crew) awaitDelivered(s *server) {
	c.t.Helper()
	admin := s.signIn()
	deadline := time.After(timeout)
	again := time.NewTicker(50 * time.Millisecond)
	defer again.Stop()
	for {
		lag := c.count("SELECT count(*) FROM events WHERE rowid > " + cursorRow)
		answer := admin.expect(200, "GET", "/api/collections/deliveries/records?perPage=1&filter="+`(status!="delivered")`, "")
		if lag == 0 && answer.json()["totalItems"] == 0.0 {
			return
		}
		select {
		case <-again.C:
		case <-deadline:
			c.t.Fatalf("some events were not delivered: %s", answer)
		}
	}
}

// findTool returns the path of a program, or "" if it is not installed. In CI the test then fails.
func findTool(t *testing.T, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil && os.Getenv("CI") == "true" {
		t.Fatal(err)
	}
	return path
}
