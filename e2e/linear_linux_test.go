package e2e

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// linearEnv is the environment variable that says for how many minutes the tests of linearizability run.
const linearEnv = "LINEAR_MINUTES"

// inboundWebhooks is how many inbound webhooks the clients share, because each has a rate limit.
const inboundWebhooks = 20

// site is an installation whose servers fail, with clients.
type site struct {
	*lab
	installation *installation
	server       *server
}

// newSite serves a data directory that an older version has written, with a tenant for the clients. Its webhook
// delivers so slowly that no event is erased.
func newSite(t *testing.T, program ...string) *site {
	t.Helper()
	x := &site{newLab(t), newInstallation(t), nil}
	x.installation.program = program
	archives, err := filepath.Glob(keptFolders + "/*.zip")
	if err != nil || len(archives) == 0 {
		t.Fatalf("no data directory of an older version is kept: %v", err)
	}
	archive, err := filepath.Abs(archives[len(archives)-1])
	if err != nil {
		t.Fatal(err)
	}
	x.installation.must("restore", archive)
	x.installation.superuser()
	x.server = x.installation.serve()
	x.server.await("The data directory is up to date.")
	x.prepare(x.installation)
	x.sendTo(x.server.base)
	return x
}

// prepare creates a tenant for the clients.
func (l *lab) prepare(i *installation) {
	l.t.Helper()
	tenant := str(l.t, i.one("tenant", "create", "Linear", "--rateLimit", "1000000000"), "id")
	l.key = str(l.t, i.one("key", "create", tenant), "key")
	i.must("webhook", "create", tenant, nowhere, "--maxPerSecond", "1")
	for n := range inboundWebhooks {
		created := i.one("inbound", "create", tenant, "--name", fmt.Sprint(n), "--access", "full")
		l.hooks = append(l.hooks, "/api/hooks/"+str(l.t, created, "token"))
	}
}

// siteFaults are those of a single machine.
var siteFaults = []struct {
	name    string
	quick   bool // whether it happens where not all tests run, too
	happens func(*site)
}{
	{"kill", true, func(x *site) {
		x.server.kill()
		x.server = x.server.again()
	}},
	{"pause", true, func(x *site) {
		x.signal(syscall.SIGSTOP)
		<-time.After(rand.N(2 * time.Second))
		x.signal(syscall.SIGCONT)
	}},
	{"full disk", true, func(x *site) {
		wal, err := os.Stat(filepath.Join(x.installation.data, "data.db-wal"))
		if err != nil {
			x.t.Fatal(err)
		}
		fileSize(x.t, x.server, uint64(wal.Size())+rand.Uint64N(64<<10))
		x.await(100)
		fileSize(x.t, x.server, unix.RLIM_INFINITY)
	}},
	{"full disk, and a kill", false, func(x *site) {
		fileSize(x.t, x.server, 1<<10)
		x.await(50)
		x.server.kill()
		x.server = x.server.again()
	}},
	{"vacuum", false, func(x *site) {
		x.server.signIn().expect(http.StatusOK, http.MethodPost, "/api/sql", `{"query":"VACUUM"}`)
	}},
	{"backup", false, func(x *site) {
		if err := os.Remove(str(x.t, x.installation.one("backup"), "path")); err != nil {
			x.t.Error(err)
		}
	}},
	{"upgrade", false, func(x *site) { // the first time; then a restart
		x.server.stop()
		x.installation.later()
		x.server = x.server.again()
	}},
	{"two processes", false, func(x *site) {
		first, second := x.server, x.installation.serve()
		x.sendTo(first.base, second.base)
		x.await(200)
		if rand.IntN(2) == 0 {
			first, second = second, first
		}
		if rand.IntN(2) == 0 {
			first.kill()
		} else {
			first.stop()
		}
		x.server = second
		x.sendTo(second.base)
	}},
}

func (x *site) signal(s syscall.Signal) {
	x.t.Helper()
	if err := x.server.command.Process.Signal(s); err != nil {
		x.t.Fatal(err)
	}
}

// play records a lap in which each fault happens once.
func (x *site) play(all bool) (problems []string) {
	return x.lap(func() {
		for _, n := range rand.Perm(len(siteFaults)) {
			if f := siteFaults[n]; all || f.quick {
				x.await(100 + rand.IntN(300))
				x.t.Log(f.name)
				f.happens(x)
			}
		}
		x.await(100)
	}, func() {
		x.server.kill()
		x.server = x.server.again()
		x.sendTo(x.server.base)
	})
}

// allFaults reports whether all faults happen, which takes minutes: in `task linearize`.
func allFaults() bool { return os.Getenv(linearEnv) != "" }

// linearizable plays a lap, and then more until the time of linearEnv is over.
func (l *lab) linearizable(play func(all bool) []string) {
	l.t.Helper()
	began := time.Now()
	deadline := began
	if os.Getenv(linearEnv) != "" {
		deadline = began.Add(time.Duration(envCount(l.t, linearEnv, 1)) * time.Minute)
	}
	for lap := 0; lap == 0 || time.Now().Before(deadline); lap++ {
		if problems := play(allFaults()); len(problems) > 0 {
			l.t.Fatalf("%d problems, of which the first are\n%s", len(problems), strings.Join(problems[:min(20, len(problems))], "\n"))
		}
	}
	l.t.Logf("%d requests in %s", l.requests.Load(), time.Since(began).Round(time.Second))
}

// Histories of 16 clients that create, change, merge, delete and read a few contacts in all ways are linearizable
// while a machine fails, and the feed is a prefix of them.
func TestLinearizable(t *testing.T) {
	t.Parallel()
	x := newSite(t)
	if allFaults() {
		if _, err := buildLater(); err != nil { // now, not while the clients wait
			t.Fatal(err)
		}
	}
	x.linearizable(x.play)
}
