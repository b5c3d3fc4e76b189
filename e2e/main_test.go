// Package e2e tests the real executable from outside: its commands, its HTTP and what it leaves on the disk. It
// imports nothing of the program, because those who use it do not either.
package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// timeout is how long an event may take that has to come: long, because a machine may be busy, and never waited for
// in full unless something is broken.
const timeout = 3 * time.Minute

var buildFolder string // removed after the tests

func TestMain(m *testing.M) {
	flag.Parse()
	runMoreAtOnce()
	code := m.Run()
	endChromium()
	if buildFolder != "" {
		_ = os.RemoveAll(buildFolder)
	}
	os.Exit(code)
}

// runMoreAtOnce has twice as many tests run at once as there are processors, unless -parallel says how many: they wait for most of
// their time.
func runMoreAtOnce() {
	isGiven := false
	flag.Visit(func(f *flag.Flag) { isGiven = isGiven || f.Name == "test.parallel" })
	if !isGiven {
		_ = flag.Set("test.parallel", strconv.Itoa(2*runtime.GOMAXPROCS(0))) // a number is valid
	}
}

// build compiles the program, once for all tests.
var build = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "contactbase-e2e-")
	if err != nil {
		return "", err
	}
	buildFolder = dir
	if err := lookAtSources(); err != nil {
		return "", err
	}
	return compile(filepath.Join(dir, "contactbase"))
})

// compile compiles the program with the settings of these tests, whose packages are then in Go's cache. In continuous integration
// they are those of a release.
func compile(path string, flags ...string) (string, error) {
	command := exec.Command("go", slices.Concat([]string{"build", "-o", path}, flags, []string{"contactbase"})...)
	if out, err := command.CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build: %w\n%s", err, out)
	}
	return path, nil
}

// lookAtSources opens the folders of the module. Go remembers what a passing test has opened: without this it would
// not run the tests again after a change of the program, which they do not import.
func lookAtSources() error {
	return filepath.WalkDir("..", func(_ string, entry fs.DirEntry, err error) error {
		if err == nil && entry.IsDir() && (entry.Name() == "node_modules" || entry.Name() == ".git") {
			return filepath.SkipDir
		}
		return err
	})
}

func binary(t *testing.T) string {
	t.Helper()
	path, err := build()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// testEnv is the environment of the program: this one's, without what would configure the program, and with more.
func testEnv(more ...string) []string {
	var env []string
	for _, entry := range os.Environ() {
		if !strings.HasPrefix(entry, "CONTACTBASE_") {
			env = append(env, entry)
		}
	}
	return append(append(env, "CONTACTBASE_WEBHOOK_ALLOW=127.0.0.0/8"), more...)
}

// outcome is what a command that has ended came to.
type outcome struct {
	code   int
	stdout string
	stderr string
}

// installation is a data directory and the commands that work on it.
type installation struct {
	t       *testing.T
	data    string
	env     []string // beyond testEnv's
	args    []string // flags of every command
	program []string // what starts the program in a root of its own; none for the one that is built
}

// newInstallation returns an empty data directory.
func newInstallation(t *testing.T) *installation {
	t.Helper()
	return &installation{t: t, data: filepath.Join(t.TempDir(), "pb_data")}
}

// run runs a command to its end, whatever that is.
func (i *installation) run(args ...string) outcome {
	i.t.Helper()
	return finish(i.t, i.command(i.t.Context(), append(append(args, "--dir="+i.data), i.args...)...))
}

// command returns a command of the program.
func (i *installation) command(ctx context.Context, args ...string) *exec.Cmd {
	i.t.Helper()
	program, dir := i.program, "/"
	if program == nil {
		program, dir = []string{binary(i.t)}, filepath.Dir(i.data) // not the sources
	}
	command := exec.CommandContext(ctx, program[0], slices.Concat(program[1:], args)...)
	command.Dir, command.Env = dir, testEnv(i.env...)
	return command
}

func finish(t *testing.T, command *exec.Cmd) outcome {
	t.Helper()
	var stdout, stderr bytes.Buffer
	command.Stdout, command.Stderr = &stdout, &stderr
	err := command.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatalf("%v: %v", command.Args, err)
	}
	return outcome{command.ProcessState.ExitCode(), stdout.String(), stderr.String()}
}

// must runs a command that has to succeed and returns what it printed.
func (i *installation) must(args ...string) string {
	i.t.Helper()
	got := i.run(args...)
	if got.code != 0 || got.stderr != "" {
		i.t.Fatalf("%v exits with %d: %s%s", args, got.code, got.stdout, got.stderr)
	}
	return got.stdout
}

// one runs a command with --json and returns the object that it printed.
func (i *installation) one(args ...string) map[string]any {
	i.t.Helper()
	return parse[map[string]any](i.t, i.must(append(args, "--json")...))
}

// many runs a command with --json and returns the list that it printed.
func (i *installation) many(args ...string) []map[string]any {
	i.t.Helper()
	return parse[[]map[string]any](i.t, i.must(append(args, "--json")...))
}

func parse[T any](t *testing.T, text string) T {
	t.Helper()
	var value T
	if err := json.Unmarshal([]byte(text), &value); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return value
}

// str returns a property that has to be a string with something in it.
func str(t *testing.T, object map[string]any, name string) string {
	t.Helper()
	text, _ := object[name].(string)
	if text == "" {
		t.Fatalf("there is no %s in %v", name, object)
	}
	return text
}
