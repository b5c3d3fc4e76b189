package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// mutantsEnv is the environment variable that runs TestLinearMutants, which builds the program several times.
const mutantsEnv = "LINEAR_MUTANTS"

// mutantLaps is how many laps the clients have to find a mutant.
const mutantLaps = 20

// mutant is the program with one fault in it.
type mutant struct {
	name     string
	file     string // of the module
	old, new string // the text that changes
	added    string // a file beside it, "" for none
	failover bool   // whether only a failover shows the fault
}

var mutants = []mutant{
	{
		name: "an error that does not wait for the commit of what it found", file: "internal/sqlite/batch.go",
		old: "func (b *batch) settle(ctx context.Context, err error) error {\n",
		new: "func (b *batch) settle(ctx context.Context, err error) error {\n\tif ctx != nil {\n\t\treturn err\n\t}\n",
	},
	{
		name: "an update that is lost, because it rests on a read of up to 20 ms ago", file: "internal/contact/finder.go",
		old: "\treturn found[0], nil\n}\n\n// manyBy has",
		new: "\treturn late(f.tenantID, key, found[0]), nil\n}\n\n// manyBy has",
		added: `package contact

import (
	"sync"
	"time"
)

type lateRead struct {
	c  *Contact
	at time.Time
}

var lateReads sync.Map

func late(tenantID string, key Key, found *Contact) *Contact {
	if before, ok := lateReads.Load(tenantID + key.Value); ok && time.Since(before.(lateRead).at) < 20*time.Millisecond {
		return before.(lateRead).c
	}
	lateReads.Store(tenantID+key.Value, lateRead{found, time.Now()})
	return found
}
`,
	},
	{
		name: "one of a hundred acknowledged writes is dropped", file: "internal/contact/execute.go",
		old: "\tfor written < len(p.changes) && refused == nil && err == nil {\n",
		new: "\tif dropped() {\n\t\treturn len(p.changes), nil, nil\n\t}\n" +
			"\tfor written < len(p.changes) && refused == nil && err == nil {\n",
		added: `package contact

import "math/rand/v2"

func dropped() bool { return rand.IntN(100) == 0 }
`,
	},
	{
		name: "standby, which says that nothing was written, after a write", file: "routes/replicated.go", failover: true,
		old: "\t\t\treturn unreplicated(err)\n",
		new: "\t\t\treturn replaced(err)\n",
	},
}

// overlay returns the files that replace those of the module in the mutant, by their paths.
func (m mutant) overlay() (map[string]string, error) {
	path, err := filepath.Abs(filepath.Join("..", m.file))
	if err != nil {
		return nil, err
	}
	source, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	if found := strings.Count(string(source), m.old); found != 1 {
		return nil, fmt.Errorf("%s has the text that the mutant %q changes %d times instead of once: adapt the mutant in e2e/linear_mutants_linux_test.go to the new source", m.file, m.name, found)
	}
	files := map[string]string{path: strings.Replace(string(source), m.old, m.new, 1)}
	if m.added != "" {
		files[filepath.Join(filepath.Dir(path), "mutant.go")] = m.added
	}
	return files, nil
}

// build compiles the mutant, and returns its path.
func (m mutant) build(t *testing.T) string {
	t.Helper()
	files, err := m.overlay()
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	replace := map[string]string{}
	for path, text := range files {
		changed := filepath.Join(folder, filepath.Base(path))
		if err := os.WriteFile(changed, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		replace[path] = changed
	}
	encoded, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		t.Fatal(err)
	}
	overlay := filepath.Join(folder, "overlay.json")
	if err := os.WriteFile(overlay, encoded, 0o600); err != nil {
		t.Fatal(err)
	}
	program, err := compile(filepath.Join(folder, "mutant"), "-overlay="+overlay)
	if err != nil {
		t.Fatal(err)
	}
	return program
}

// players returns what plays a lap with the mutant.
func (m mutant) players(t *testing.T) (play func(all bool) []string) {
	t.Helper()
	program := m.build(t)
	if !m.failover {
		x := newSite(t, program)
		x.drawings = t.TempDir()
		return x.play
	}
	p := newPair(t)
	p.drawings = t.TempDir()
	for _, one := range p.cluster.machines {
		one.program = []string{program}
		p.fails() // which starts it
	}
	return p.play
}

// The mutants are changes of the current sources.
func TestLinearMutantsApply(t *testing.T) {
	t.Parallel()
	for _, m := range mutants {
		if _, err := m.overlay(); err != nil {
			t.Error(err)
		}
	}
}

// The checks of histories find each mutant.
func TestLinearMutants(t *testing.T) {
	if os.Getenv(mutantsEnv) == "" {
		t.Skip("it builds the program several times: run task linearize:mutants")
	}
	for _, m := range mutants {
		t.Run(m.name, func(t *testing.T) {
			play := m.players(t)
			for lap := range mutantLaps {
				if problems := play(false); len(problems) > 0 {
					t.Logf("found in lap %d: %s", lap+1, problems[0])
					return
				}
			}
			t.Errorf("%d laps do not find it", mutantLaps)
		})
	}
}
