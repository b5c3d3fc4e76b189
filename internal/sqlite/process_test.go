package sqlite

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/pocketbase/pocketbase/core"
)

// The test binary runs itself as another process that writes. childEnv is the prefix of its rows, and childDirEnv its
// data directory. It prints the name of each acknowledged row.
const (
	childEnv    = "CONTACTBASE_SQLITE_CHILD"
	childDirEnv = "CONTACTBASE_SQLITE_CHILD_DIR"
)

const (
	childWriters = 16
	childRows    = 25 // of each writer
)

// runChild writes some rows, or endlessly if the prefix is "endless".
func runChild(prefix string) {
	app := core.NewBaseApp(core.BaseAppConfig{DataDir: os.Getenv(childDirEnv), DBConnect: Connect(Full)})
	Bind(app)
	if err := app.Bootstrap(); err != nil {
		fmt.Println("error", err)
		return
	}
	collection, err := app.FindCachedCollectionByNameOrId("things")
	if err != nil {
		fmt.Println("error", err)
		return
	}
	var all sync.WaitGroup
	for writer := range childWriters {
		all.Go(func() {
			for row := 0; row < childRows || prefix == "endless"; row++ {
				record := core.NewRecord(collection)
				record.Set("name", fmt.Sprintf("%s-%d-%d", prefix, writer, row))
				if err := app.Save(record); err != nil {
					fmt.Println("error", err)
					return
				}
				fmt.Println(record.GetString("name"))
			}
		})
	}
	all.Wait()
}

func startChild(t *testing.T, dir, prefix string) (*exec.Cmd, io.Reader) {
	t.Helper()
	child := exec.CommandContext(t.Context(), os.Args[0])
	child.Env = append(os.Environ(), childEnv+"="+prefix, childDirEnv+"="+dir)
	child.Stderr = os.Stderr
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatalf("making a pipe: %v", err)
	}
	if err := child.Start(); err != nil {
		t.Fatalf("starting a process: %v", err)
	}
	return child, out
}

// missing returns the acknowledged rows that a new connection does not find.
func missing(t *testing.T, dir string, acknowledged []string) []string {
	t.Helper()
	db, err := Connect(Full)(filepath.Join(dir, dataFile))
	if err != nil {
		t.Fatalf("opening the database: %v", err)
	}
	defer db.Close()
	if got := column(t, db.DB(), "PRAGMA integrity_check"); got != "ok" {
		t.Errorf("the database is corrupt: %s", got)
	}
	there := map[string]bool{}
	for name := range strings.FieldsSeq(column(t, db.DB(), names)) {
		there[name] = true
	}
	var gone []string
	for _, name := range acknowledged {
		if !there[name] {
			gone = append(gone, name)
		}
	}
	return gone
}

func TestTwoProcesses(t *testing.T) {
	t.Parallel()
	app := newApp(t, t.TempDir(), Connect(Full))
	var acknowledged []string
	var mu sync.Mutex
	acknowledge := func(name string) {
		mu.Lock()
		defer mu.Unlock()
		acknowledged = append(acknowledged, name)
	}
	var all sync.WaitGroup
	for _, prefix := range []string{"left", "right"} {
		child, out := startChild(t, app.DataDir(), prefix)
		all.Go(func() {
			for lines := bufio.NewScanner(out); lines.Scan(); {
				acknowledge(lines.Text())
			}
			if err := child.Wait(); err != nil {
				t.Errorf("the process %s: %v", prefix, err)
			}
		})
	}
	for writer := range 4 {
		all.Go(func() {
			for row := range childRows {
				name := fmt.Sprintf("own-%d-%d", writer, row)
				if err := app.Save(thing(t, app, name)); err != nil {
					t.Errorf("saving: %v", err)
					return
				}
				acknowledge(name)
			}
		})
	}
	all.Wait()
	if want := 2*childWriters*childRows + 4*childRows; len(acknowledged) != want {
		t.Errorf("%d rows were acknowledged, want %d", len(acknowledged), want)
	}
	if gone := missing(t, app.DataDir(), acknowledged); len(gone) > 0 {
		t.Errorf("missing: %v", gone)
	}
}

func TestKilledProcess(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	app := newApp(t, dir, Connect(Full))
	if err := app.ResetBootstrapState(); err != nil {
		t.Fatalf("closing the app: %v", err)
	}
	child, out := startChild(t, dir, "endless")
	var acknowledged []string
	for lines := bufio.NewScanner(out); lines.Scan(); {
		acknowledged = append(acknowledged, lines.Text())
		if len(acknowledged) == 500 {
			if err := child.Process.Kill(); err != nil { // SIGKILL
				t.Fatalf("killing the process: %v", err)
			}
		}
	}
	_ = child.Wait() // it was killed
	if len(acknowledged) < 500 {
		t.Fatalf("only %d rows were acknowledged: %v", len(acknowledged), acknowledged)
	}
	if gone := missing(t, dir, acknowledged); len(gone) > 0 {
		t.Errorf("%d of %d acknowledged rows are missing", len(gone), len(acknowledged))
	}
}
