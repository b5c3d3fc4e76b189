package e2e

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
)

// takeoverFaults affect a machine while it takes over.
var takeoverFaults = []fault{
	{name: "killed while it catches up", machines: 2, happens: func(c *cluster) *machine {
		a, b := c.leftBehind()
		a.signal(syscall.SIGKILL)
		catching := make(chan struct{})
		_, release := c.store.Hold(readsOfStandby(catching))
		defer release()
		b.signal(syscall.SIGCONT)
		c.awaitClosed("catching up", catching)
		b.signal(syscall.SIGKILL)
		release()
		b.start()
		c.awaitMore(50, b)
		return b
	}},
	{name: "killed while it moves its databases aside", machines: 2, happens: func(c *cluster) *machine { return c.killedAtRename("data.db") }},
	{name: "killed in the final rename", machines: 2, happens: func(c *cluster) *machine {
		return c.killedAtRename(".contactbase_replica/following/auxiliary.db")
	}},
	{name: "killed in the last of the final renames", machines: 2, happens: func(c *cluster) *machine {
		return c.killedAtRename(".contactbase_replica/following/data.db")
	}},
	{name: "killed in its first snapshot", machines: 2, happens: func(c *cluster) *machine {
		a, b := c.machines[0], c.machines[1]
		reached, release := c.store.Hold(sends("/2/data.db/"))
		defer release()
		a.signal(syscall.SIGKILL)
		c.awaitClosed("the first snapshot", reached)
		b.signal(syscall.SIGKILL)
		release()
		a.start()
		c.awaitMore(50, a)
		return a
	}},
	{name: "a full disk", machines: 2, happens: func(c *cluster) *machine {
		a, b := c.leftBehind()
		b.limitFiles(64 << 10) // less than the database
		a.signal(syscall.SIGKILL)
		b.signal(syscall.SIGCONT)
		c.awaitExit(b, 1) // and not with a part of the contacts; it is started again, without a limit
		c.awaitMore(50, b)
		return b
	}},
}

// leftBehind stops the second machine until the store has more data, so that it must catch up.
func (c *cluster) leftBehind() (a, b *machine) {
	c.t.Helper()
	a, b = c.machines[0], c.machines[1]
	b.signal(syscall.SIGSTOP)
	c.awaitMore(100, a)
	c.awaitRequest(sends("/1/data.db/"))
	c.awaitMore(100, a)
	return a, b
}

// sends matches requests that write objects with such a path.
func sends(path string) func(*http.Request) bool {
	return func(request *http.Request) bool {
		return (request.Method == http.MethodPut || request.Method == http.MethodPost) && strings.Contains(request.URL.Path, path)
	}
}

// awaitRequest waits for a request to the store.
func (c *cluster) awaitRequest(matches func(*http.Request) bool) {
	c.t.Helper()
	seen := make(chan struct{})
	see := sync.OnceFunc(func() { close(seen) })
	_, release := c.store.Hold(func(request *http.Request) bool {
		if matches(request) {
			see()
		}
		return false
	})
	defer release()
	c.awaitClosed("request", seen)
}

// readsOfStandby matches a standby's reads of databases when no machine serves, and closes catching at the first read
// after it has the lease.
func readsOfStandby(catching chan struct{}) func(*http.Request) bool {
	taken, told := false, false
	return func(request *http.Request) bool {
		if request.Method == http.MethodPut && strings.HasSuffix(request.URL.Path, "/lock.json") {
			taken = true
		}
		reads := request.Method == http.MethodGet && strings.HasSuffix(request.URL.Path, ".ltx")
		if reads && taken && !told {
			told = true
			close(catching)
		}
		return reads
	}
}

// killedAtRename makes a machine with databases of its own take over, and kills it when it is about to rename a file
// of its data directory.
func (c *cluster) killedAtRename(file string) *machine {
	c.t.Helper()
	if findTool(c.t, "strace") == "" {
		c.t.Skip("the fault needs strace")
	}
	a, b := c.takenOver()
	path := filepath.Join(a.data, file)
	await(c.t, file, func() bool {
		_, err := os.Stat(path)
		return err == nil
	})
	strace := launch(c.t, exec.Command("strace", "-f", "-o", os.DevNull, "-P", path, "-e", "trace=rename,renameat,renameat2",
		"-e", "inject=rename,renameat,renameat2:signal=KILL", "-p", strconv.Itoa(a.leave())))
	if !strace.prints("attached") {
		c.t.Skipf("no program may be traced here: %s", strace.output)
	}
	b.signal(syscall.SIGKILL)
	a.awaitEnd()
	a.start()
	c.awaitMore(50, a)
	return a
}

// limitFiles limits the size of the files that the program of the machine can write, until it is restarted.
func (m *machine) limitFiles(most int) {
	m.t.Helper()
	if findTool(m.t, "prlimit") == "" {
		m.t.Skip("the fault needs prlimit")
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	out, err := exec.Command("prlimit", fmt.Sprintf("--pid=%d", m.process.command.Process.Pid), fmt.Sprintf("--fsize=%d:", most)).CombinedOutput()
	if err != nil {
		m.t.Fatalf("prlimit: %v %s", err, out)
	}
}
