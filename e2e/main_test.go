// Package e2e tests the executable from outside: its commands, its HTTP API and its files. Like its users, it imports
// nothing of the program.
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

// timeout is how long an event may take. It is long because the machine may be busy, and reached only if
// something is broken.
const timeout = 3 * time.Minute

var buildFolder string // removed when the tests are over

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

// runMoreAtOnce runs three times as many tests concurrently as there are processors, unless -parallel is set,
// because tests mostly wait.
func runMoreAtOnce() {
	isGiven := false
	flag.Visit(func(f *flag.Flag) { isGiven = isGiven || f.Name == "test.parallel" })
	if !isGiven {
		_ = flag.Set("test.parallel", strconv.Itoa(3*runtime.GOMAXPROCS(0))) // a number is valid
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

// compile compiles the program with the settings of these tests, so that Go caches its packages. In continuous
// integration the settings are those of a release.
func compile(path string, flags ...string) (string, error) {
	command := exec.Command("go", slices.Concat([]string{"build", "-o", path}, flags, []string{".."})...)
	if out, err := command.CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build: %w\n%s", err, out)
	}
	return path, nil
}

// lookAtSources opens the directories of the module. Go records the files that a passing test opens, and otherwise
// would not rerun the tests after a change of the program, which they do not import.
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

// testEnv is the environment of the program: the current one without settings of the program, and with
// additional variables.
func testEnv(more ...string) []string {
	var env []string
	for _, entry := range os.Environ() {
		if !strings.HasPrefix(entry, "CONTACTBASE_") {
			env = append(env, entry)
		}
	}
	return append(append(env, "CONTACTBASE_WEBHOOK_ALLOW=127.0.0.0/8"), more...)
}

// outcome is the result of a command that has ended.
type outcome struct {
	code   int
	stdout string
	stderr string
}

// installation is a data directory and the commands for it.
type installation struct {
	t       *testing.T
	data    string
	env     []string // beyond testEnv's
	args    []string // flags of every command
	program []string // what starts the program in a root of its own; none for the one that is built
	damage  string   // why doctor need not find it sound in the end; "" if it must
}

// newInstallation returns an empty data directory. When the test and its servers have ended, doctor must find it sound.
func newInstallation(t *testing.T) *installation {
	t.Helper()
	i := &installation{t: t, data: filepath.Join(t.TempDir(), "pb_data")}
	t.Cleanup(i.examine)
	return i
}

// damaged exempts the data directory from the examination.
func (i *installation) damaged(reason string) *installation {
	i.damage = reason
	return i
}

// examine is sound at the end of a test, unless the data directory is damaged.
func (i *installation) examine() {
	if _, err := os.Stat(filepath.Join(i.data, "data.db")); err != nil || i.t.Failed() {
		return
	}
	if i.damage != "" {
		i.t.Logf("doctor does not examine the data directory: %s", i.damage)
		return
	}
	i.sound()
}

// sound fails the test if doctor finds anything wrong with the data directory, such as a row without its owner.
func (i *installation) sound() {
	i.t.Helper()
	command := i.command(context.Background(), "doctor", "--dir="+i.data)
	command.Env = testEnv() // without settings of the server
	if got := finish(i.t, command); got.code != 0 {
		i.t.Errorf("doctor finds\n%s%s", got.stdout, got.stderr)
	}
}

// run runs a command, and returns its outcome.
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

// must runs a command that must succeed, and returns its output.
func (i *installation) must(args ...string) string {
	i.t.Helper()
	got := i.run(args...)
	if got.code != 0 || got.stderr != "" {
		i.t.Fatalf("%v exits with %d: %s%s", args, got.code, got.stdout, got.stderr)
	}
	return got.stdout
}

// one runs a command with --json, and returns the object that it prints.
func (i *installation) one(args ...string) map[string]any {
	i.t.Helper()
	return parse[map[string]any](i.t, i.must(append(args, "--json")...))
}

// many runs a command with --json, and returns the list that it prints.
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

// str returns a property that must be a string and not empty.
func str(t *testing.T, object map[string]any, name string) string {
	t.Helper()
	text, _ := object[name].(string)
	if text == "" {
		t.Fatalf("there is no %s in %v", name, object)
	}
	return text
}
