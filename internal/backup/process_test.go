package backup

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/sqlite"
)

// The test binary runs itself as another process with childDirEnv as its data directory.
const (
	childDirEnv  = "CONTACTBASE_BACKUP_CHILD_DIR"
	childRoleEnv = "CONTACTBASE_BACKUP_CHILD_ROLE"
)

// What the serving child prints besides the names of acknowledged rows.
const (
	backupBegins = "backup begins"
	backupEnds   = "backup ends"
	goesOn       = "continues" // after the test has answered backupEnds
)

// childBackup is the name of the backup that the serving child makes.
const childBackup = "child.zip"

func runChild() {
	app := core.NewBaseApp(core.BaseAppConfig{DataDir: os.Getenv(childDirEnv), DBConnect: sqlite.Connect(sqlite.Full)})
	sqlite.Bind(app)
	Bind(app)
	if err := app.Bootstrap(); err != nil {
		fmt.Println("error", err)
		return
	}
	if os.Getenv(childRoleEnv) == "visit" { // like a command
		if _, err := app.CountRecords("things"); err != nil {
			fmt.Println("error", err)
		}
		if err := app.ResetBootstrapState(); err != nil {
			fmt.Println("error", err)
		}
		return
	}
	serve(app)
}

// serve writes forever, and makes a backup after a few rows.
func serve(app core.App) {
	things, err := app.FindCachedCollectionByNameOrId("things")
	if err != nil {
		fmt.Println("error", err)
		return
	}
	var some, all sync.WaitGroup
	for writer := range 8 {
		some.Add(1)
		all.Go(func() {
			for row := 0; ; row++ {
				record := core.NewRecord(things)
				record.Set("name", fmt.Sprintf("%d-%d", writer, row))
				if err := app.Save(record); err != nil {
					fmt.Println("error", err)
					return
				}
				fmt.Println(record.GetString("name"))
				if row == 25 {
					some.Done()
				}
			}
		})
	}
	some.Wait()
	fmt.Println(backupBegins)
	if err := app.CreateBackup(context.Background(), childBackup); err != nil {
		fmt.Println("error", err)
	}
	fmt.Println(backupEnds)
	if _, err := bufio.NewReader(os.Stdin).ReadString('\n'); err != nil {
		fmt.Println("error", err)
	}
	fmt.Println(goesOn)
	all.Wait()
}

func child(t *testing.T, dir, role string) *exec.Cmd {
	t.Helper()
	command := exec.CommandContext(t.Context(), os.Args[0])
	command.Env = append(os.Environ(), childDirEnv+"="+dir, childRoleEnv+"="+role)
	command.Stderr = os.Stderr
	return command
}

// visit makes other processes open and close the database: a command of ours, and SQLite's shell if installed.
func visit(t *testing.T, dir string) {
	t.Helper()
	if out, err := child(t, dir, "visit").Output(); err != nil || len(out) > 0 {
		t.Errorf("a second process said %q, %v", out, err)
	}
	shell, err := exec.LookPath("sqlite3")
	if err != nil {
		return
	}
	query := exec.CommandContext(t.Context(), shell, filepath.Join(dir, dataFile), "SELECT count(*) FROM things")
	if out, err := query.CombinedOutput(); err != nil {
		t.Errorf("the shell said %q, %v", out, err)
	}
}

// TestBackupOfAServedFolder makes a backup during writes while other processes open the database, kills the server,
// and looks for all acknowledged rows.
func TestBackupOfAServedFolder(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	terminate(t, newApp(t, dir)) // creates the collection
	server := child(t, dir, "serve")
	out, err := server.StdoutPipe()
	if err != nil {
		t.Fatalf("making a pipe: %v", err)
	}
	in, err := server.StdinPipe()
	if err != nil {
		t.Fatalf("making a pipe: %v", err)
	}
	if err := server.Start(); err != nil {
		t.Fatalf("starting the server: %v", err)
	}
	var acknowledged, before []string
	after := 0
	visited := false
	for lines := bufio.NewScanner(out); lines.Scan(); {
		switch line := lines.Text(); {
		case strings.HasPrefix(line, "error"):
			t.Error(line)
		case line == backupBegins:
			before = slices.Clone(acknowledged)
			if _, err := Restore(archivePathIn(dir), dir); !errors.Is(err, ErrServed) {
				t.Errorf("restoring into a served folder gave %v", err)
			}
		case line == backupEnds:
			visit(t, dir)
			if _, err := fmt.Fprintln(in); err != nil {
				t.Errorf("answering the server: %v", err)
			}
		case line == goesOn:
			visited = true
		default:
			acknowledged = append(acknowledged, line)
			if visited {
				after++
			}
		}
		if after == 400 {
			after++
			if err := server.Process.Kill(); err != nil { // SIGKILL
				t.Fatalf("killing the server: %v", err)
			}
		}
	}
	_ = server.Wait() // it was killed
	if after < 400 {
		t.Errorf("the server ended by itself, %d rows after the visit", after)
	}

	app := newApp(t, dir)
	wantRows(t, "the folder of the killed server", saved(t, app), acknowledged)
	name, err := Create(t.Context(), app, "second.zip")
	if err != nil {
		t.Fatalf("making a backup after the kill: %v", err)
	}
	for archive, rows := range map[string][]string{childBackup: before, name: acknowledged} {
		restored := filepath.Join(t.TempDir(), "data")
		if _, err := Restore(archivePath(app, archive), restored); err != nil { // also checks the integrity
			t.Fatalf("restoring: %v", err)
		}
		wantRows(t, archive, saved(t, newApp(t, restored)), rows)
	}
}

func archivePathIn(dir string) string {
	return filepath.Join(dir, core.LocalBackupsDirName, childBackup)
}

func wantRows(t *testing.T, where string, got, want []string) {
	t.Helper()
	there := map[string]bool{}
	for _, name := range got {
		there[name] = true
	}
	missing := 0
	for _, name := range want {
		if !there[name] {
			missing++
		}
	}
	if missing > 0 || len(want) == 0 {
		t.Errorf("%s: %d of %d acknowledged rows are missing", where, missing, len(want))
	}
}

// TestBackupFromASecondProcess is the command: its own app on a data directory that another process serves.
func TestBackupFromASecondProcess(t *testing.T) {
	t.Parallel()
	server := newApp(t, t.TempDir())
	save(t, server, "a")
	command := newApp(t, server.DataDir())
	name, err := Create(t.Context(), command, "")
	if err != nil {
		t.Fatalf("making a backup: %v", err)
	}
	terminate(t, command)
	save(t, server, "b")
	restored := filepath.Join(t.TempDir(), "data")
	if _, err := Restore(archivePath(server, name), restored); err != nil {
		t.Fatalf("restoring: %v", err)
	}
	if got := saved(t, newApp(t, restored)); !slices.Equal(got, []string{"a"}) {
		t.Errorf("the backup holds %q", got)
	}
}
