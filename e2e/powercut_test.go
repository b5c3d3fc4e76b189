package e2e

import (
	"bytes"
	"database/sql"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"contactbase/internal/testenv"
)

// cutsEnv is the environment variable with the number of power cuts per trace.
const cutsEnv = "POWER_CUTS"

// powerCuts returns that number.
func powerCuts(t *testing.T) int {
	t.Helper()
	return envCount(t, cutsEnv, testenv.Count(5, 10))
}

// tracedAnswers is the number of responses before the server is killed: enough for a few checkpoints.
const tracedAnswers = 600

// What the disk does with writes that were not synced before a power cut.
var fates = map[string]fate{
	"nothing": func(change) []change { return nil },
	"all":     func(c change) []change { return []change{c} },
	// each write reaches the disk or not, independently of the others, and some only in part
	"some": func(c change) []change {
		switch n := rand.IntN(4); {
		case n == 0:
			return nil
		case n < 3 || c.data == nil:
			return []change{c}
		}
		const sector = 512
		var parts []change
		for start := 0; start < len(c.data); start += sector {
			if rand.IntN(2) == 0 {
				parts = append(parts, change{offset: c.offset + int64(start), data: c.data[start:min(start+sector, len(c.data))]})
			}
		}
		return parts
	},
}

// A power cut at any moment loses nothing that was acknowledged, and does not corrupt the database. The server runs
// under strace, which records its writes, syncs and responses. From those the test rebuilds the data directory of a
// disk that keeps only what was certainly synced.
func TestPowerCut(t *testing.T) {
	t.Parallel()
	s := runTraced(t, "full")
	sum := s.cut(t, powerCuts(t))
	t.Log(sum)
	if sum.missing > 0 || sum.stale > 0 || sum.phantoms > 0 {
		t.Error("a power cut loses acknowledged writes or deliveries")
	}
	s.serveAgain(t)
}

// With --durability=normal a power cut may lose the last commits, but nothing else.
func TestPowerCutNormal(t *testing.T) {
	t.Parallel()
	if os.Getenv(cutsEnv) == "" {
		testenv.Long(t, "repeats the power cuts with the durability that promises less")
	}
	sum := runTraced(t, "normal").cut(t, powerCuts(t))
	t.Log(sum)
}

// traced is a run of the server and its trace.
type traced struct {
	before string // the folder at its start
	data   string // where it was
	key    string
	calls  []*call
}

// runTraced makes clients write to a traced server for a while.
func runTraced(t *testing.T, durability string) *traced {
	t.Helper()
	if findTool(t, "strace") == "" {
		t.Skip("the test needs strace")
	}
	if out, err := exec.Command("strace", "-f", "--seccomp-bpf", "-e", "trace=write", "-o", os.DevNull, "true").CombinedOutput(); err != nil {
		t.Skipf("no program may be traced here: %v %s", err, out)
	}
	c := newCrew(t)
	run := &traced{before: t.TempDir(), data: c.data, key: c.key}
	copyFolder(t, c.data, run.before)
	path := filepath.Join(t.TempDir(), "trace")
	c.env = []string{"CONTACTBASE_DURABILITY=" + durability}
	s := c.serveTraced(path)
	wait := c.start(s)
	c.await(tracedAnswers)
	s.kill()
	wait()
	c.check()
	c.heal() // a server that starts on what is left need not wait for the receivers when it stops
	awaitTrace(t, path, s.command.Process.Pid)
	var err error
	if run.calls, err = readTrace(path); err != nil {
		t.Fatal(err)
	}
	return run
}

// serveTraced is serve under strace, which runs beside the server so that signals to one do not reach the other.
func (i *installation) serveTraced(path string) *server {
	i.t.Helper()
	address := freeAddress(i.t)
	args := []string{"-D", "-f", "--seccomp-bpf", "-y", "-xx", "-s", "1000000", "-e", "trace=" + tracedCalls, "-o", path,
		binary(i.t), "serve", "--http", address, "--dir", i.data}
	command := exec.Command("strace", args...)
	command.Env = testEnv(i.env...)
	s := &server{launch(i.t, command), "http://" + address, i}
	if !s.healthy() {
		i.t.Fatalf("the server does not start under strace:\n%s", s.output)
	}
	return s
}

// awaitTrace waits until strace has recorded the end of the process.
func awaitTrace(t *testing.T, path string, pid int) {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	end := regexp.MustCompile(fmt.Sprintf(`(?m)^%d +\+\+\+ (killed|exited)`, pid))
	deadline := time.After(timeout)
	again := time.NewTicker(20 * time.Millisecond)
	defer again.Stop()
	for {
		tail := make([]byte, 64<<10)
		info, err := file.Stat()
		if err != nil {
			t.Fatal(err)
		}
		n, _ := file.ReadAt(tail, max(0, info.Size()-int64(len(tail))))
		if end.Match(tail[:n]) {
			return
		}
		select {
		case <-again.C:
		case <-deadline:
			t.Fatal("strace does not end")
		}
	}
}

func copyFolder(t *testing.T, from, to string) {
	t.Helper()
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
}

// promise is a response or delivery of the server, and when the server began to send it.
type promise struct {
	line    int
	contact string // of a client's answer
	updated string // as the answer shows it
	event   string // of a delivery
}

// promises returns the responses to clients and the deliveries, in the order in which they were sent.
func (r *traced) promises() []promise {
	var all []promise
	for _, c := range r.calls {
		if c.name != "write" || !strings.HasPrefix(c.path, "socket:") {
			continue
		}
		head, body, _ := bytes.Cut(c.data, []byte("\r\n\r\n"))
		switch {
		case bytes.HasPrefix(head, []byte("HTTP/1.1 201 ")), bytes.HasPrefix(head, []byte("HTTP/1.1 200 ")):
			var answer struct {
				Data struct{ ID, UpdatedAt string }
			}
			if json.Unmarshal(body, &answer) == nil && answer.Data.ID != "" {
				all = append(all, promise{line: c.begun, contact: answer.Data.ID, updated: answer.Data.UpdatedAt})
			}
		case bytes.HasPrefix(head, []byte("POST ")):
			if _, id, found := bytes.Cut(head, []byte("\r\nWebhook-Id: evt_")); found {
				all = append(all, promise{line: c.begun, event: string(id[:bytes.IndexByte(id, '\r')])})
			}
		}
	}
	slices.SortFunc(all, func(a, b promise) int { return a.line - b.line })
	return all
}

// cutSum counts the results of power cuts.
type cutSum struct {
	cuts, inCheckpoint         int
	answered, sent             int // promises, all over
	walSyncs, dataSyncs        int
	missing, stale, phantoms   int // contacts, changes and events that were promised and are gone, over all cuts
	losing, worst, worstBehind int // cuts that lose something, the most that one lost and of how many
}

func (s *cutSum) String() string {
	return fmt.Sprintf("%d cuts, %d of them within a checkpoint; %d answers and %d deliveries in all, %d syncs of the log and %d of the data; "+
		"missing contacts %d, missing changes %d, events sent and gone %d; %d cuts lost something, the worst %d of %d answers",
		s.cuts, s.inCheckpoint, s.answered, s.sent, s.walSyncs, s.dataSyncs, s.missing, s.stale, s.phantoms, s.losing, s.worst, s.worstBehind)
}

// cut simulates power cuts at random moments, and checks each resulting data directory.
func (r *traced) cut(t *testing.T, count int) *cutSum {
	t.Helper()
	d, err := newDisk(r.before)
	if err != nil {
		t.Fatal(err)
	}
	d.folder = r.data
	promises := r.promises()
	if len(promises) == 0 {
		t.Fatal("the trace has no response")
	}
	sum := &cutSum{cuts: count}
	moments := r.moments(promises[0].line, count)
	for n, c := range r.calls {
		for len(moments) > 0 && moments[0] == n {
			moments = moments[1:]
			if len(d.files["data.db"].pending) > 0 {
				sum.inCheckpoint++
			}
			for name, decide := range fates {
				folder := t.TempDir()
				if err := d.rebuild(folder, decide); err != nil {
					t.Fatal(err)
				}
				sum.look(t, folder, name, before(promises, r.calls[n-1].over))
			}
		}
		if err := d.apply(c); err != nil {
			t.Fatal(err)
		}
	}
	for _, p := range promises {
		if p.contact != "" {
			sum.answered++
		} else {
			sum.sent++
		}
	}
	sum.walSyncs, sum.dataSyncs = d.syncs["data.db-wal"], d.syncs["data.db"]
	return sum
}

func before(promises []promise, line int) []promise {
	n, _ := slices.BinarySearchFunc(promises, line, func(p promise, line int) int { return p.line - line })
	return promises[:n]
}

// moments returns between which calls the power is cut: half of them anywhere, and half during checkpoints, which are
// few and most critical.
func (r *traced) moments(first, count int) []int {
	var anywhere, checkpoints []int
	for n, c := range r.calls {
		if c.begun < first {
			continue
		}
		anywhere = append(anywhere, n)
		if strings.HasSuffix(c.path, "/data.db") {
			checkpoints = append(checkpoints, n)
		}
	}
	if len(checkpoints) == 0 {
		checkpoints = anywhere
	}
	moments := make([]int, count)
	for n := range moments {
		choices := anywhere
		if n%2 == 1 {
			choices = checkpoints
		}
		moments[n] = choices[rand.IntN(len(choices))]
	}
	slices.Sort(moments)
	return moments
}

// look opens the resulting database, and checks the promises.
func (s *cutSum) look(t *testing.T, folder, fate string, promised []promise) {
	t.Helper()
	db := openData(t, folder)
	defer db.Close()
	if faults := integrity(t, db); len(faults) > 0 {
		t.Errorf("where %s of the last writes reached the disk the database is broken: %v", fate, faults)
		return
	}
	updated := map[string]string{}
	rows(t, db, "SELECT id, updated FROM contacts", func(row []string) { updated[row[0]] = strings.Replace(row[1], " ", "T", 1) })
	events := map[string]bool{}
	for _, id := range column(t, db, "SELECT id FROM events") {
		events[id] = true
	}
	missing, stale, phantoms := map[string]bool{}, map[string]bool{}, map[string]bool{}
	answers := 0
	for _, p := range promised {
		if p.contact == "" {
			if !events[p.event] {
				phantoms[p.event] = true
			}
			continue
		}
		answers++
		if at, there := updated[p.contact]; !there {
			missing[p.contact] = true
		} else if at < p.updated {
			stale[p.contact] = true
		}
	}
	s.missing, s.stale, s.phantoms = s.missing+len(missing), s.stale+len(stale), s.phantoms+len(phantoms)
	if lost := len(missing) + len(stale); lost > 0 {
		s.losing++
		if lost > s.worst {
			s.worst, s.worstBehind = lost, answers
		}
	}
	checkWhole(t, db)
}

// checkWhole checks that rows that belong together exist together.
func checkWhole(t *testing.T, db *sql.DB) {
	t.Helper()
	for what, query := range map[string]string{
		"contacts without an event":       "SELECT id FROM contacts WHERE id NOT IN (SELECT contact FROM events)",
		"events without a contact":        "SELECT id FROM events WHERE contact NOT IN (SELECT id FROM contacts)",
		"contacts without a search row":   "SELECT id FROM contacts WHERE id NOT IN (SELECT contact FROM _contactSearch)",
		"events that nobody will be sent": "SELECT id FROM events WHERE id NOT IN (SELECT event FROM deliveries) AND rowid <= " + cursorRow,
		"positions on no event":           "SELECT event FROM _fanOutCursor WHERE event != '' AND event NOT IN (SELECT id FROM events)",
	} {
		if ids := column(t, db, query); len(ids) > 0 {
			t.Errorf("a power cut leaves %d %s", len(ids), what)
		}
	}
}

// serveAgain starts the server after a cut in the middle, and checks earlier promises.
func (r *traced) serveAgain(t *testing.T) {
	t.Helper()
	d, err := newDisk(r.before)
	if err != nil {
		t.Fatal(err)
	}
	d.folder = r.data
	promises := r.promises()
	end := promises[len(promises)/2].line
	for _, c := range r.calls {
		if c.over >= end {
			break
		}
		if err := d.apply(c); err != nil {
			t.Fatal(err)
		}
	}
	i := newInstallation(t)
	if err := os.Mkdir(i.data, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := d.rebuild(i.data, fates["some"]); err != nil {
		t.Fatal(err)
	}
	c := i.serve().client(r.key)
	for _, p := range before(promises, end) {
		if p.contact != "" {
			c.expect(http.StatusOK, http.MethodGet, contactsPath+"/"+p.contact, "")
		}
	}
}
