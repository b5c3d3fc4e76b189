package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

type outcome string

const (
	failed    outcome = "killed"
	timedOut  outcome = "killed by timeout"
	survived  outcome = "survived"
	unreached outcome = "reached by no test"
)

// A test is a top-level test function in a test binary.
type test struct {
	*binary
	name    string
	took    time.Duration
	reaches map[int]bool // ids of mutants; nil if the test fails without a mutant
}

type binary struct {
	path, dir string
	number    int
}

type runner struct {
	options
	temp     string
	binaries int
	tests    []*test
}

// build builds the tests of a package with all mutants, and lists those whose names match.
func (r *runner) build(ctx context.Context, dir, path, matching, overlay string) error {
	match, err := regexp.Compile(matching)
	if err != nil {
		return err
	}
	b := &binary{path: filepath.Join(r.temp, fmt.Sprintf("tests%d", r.binaries)), number: r.binaries}
	r.binaries++
	out, err := command(ctx, dir, "list", "-f={{.Dir}}", path)
	if err != nil {
		return err
	}
	b.dir = strings.TrimSpace(string(out))
	if _, err := command(ctx, dir, "test", "-c", "-vet=off", "-overlay="+overlay, "-o="+b.path, path); err != nil {
		return err
	}
	list := exec.CommandContext(ctx, b.path, "-test.list=^(Test|Example|Fuzz)")
	list.Dir = b.dir
	names, err := list.Output()
	for _, name := range strings.Fields(string(names)) {
		if match.MatchString(name) {
			r.tests = append(r.tests, &test{binary: b, name: name})
		}
	}
	return err
}

// reach runs each test alone, without a mutant, and notes which mutants it reaches. A test that fails
// twice is left out.
func (r *runner) reach(ctx context.Context) {
	parallel(r.workers, r.tests, func(t *test) {
		noted := filepath.Join(r.temp, fmt.Sprint(t.name, t.number))
		if err := os.WriteFile(noted, nil, 0o600); err != nil {
			log.Fatal(err)
		}
		for range 2 {
			begin := time.Now()
			if r.run(ctx, 10*time.Minute, []*test{t}, "MUTANTS_REACHED="+noted) != survived {
				continue
			}
			t.took, t.reaches = time.Since(begin), map[int]bool{}
			ids, _ := os.ReadFile(noted)
			for _, id := range strings.Fields(string(ids)) {
				n, _ := strconv.Atoi(id)
				t.reaches[n] = true
			}
			return
		}
		log.Printf("%s fails without a mutant, and is left out", t.name)
	})
}

// try decides the outcome of each mutant and counts them.
func (r *runner) try(ctx context.Context, mutants []*mutant) map[outcome]int {
	var done atomic.Int32
	parallel(r.workers, mutants, func(m *mutant) {
		m.outcome = r.tryOne(ctx, m.id)
		if n := done.Add(1); n%50 == 0 {
			log.Printf("%d of %d", n, len(mutants))
		}
	})
	counts := map[outcome]int{}
	for _, m := range mutants {
		counts[m.outcome]++
	}
	return counts
}

// tryOne runs the tests that reach a mutant: first a few that reach little else, because they are quick and
// specific, then the others.
func (r *runner) tryOne(ctx context.Context, id int) outcome {
	result := unreached
	for number := range r.binaries {
		var tests []*test
		for _, t := range r.tests {
			if t.number == number && t.reaches[id] {
				tests = append(tests, t)
			}
		}
		slices.SortStableFunc(tests, func(a, b *test) int { return cmp.Compare(len(a.reaches), len(b.reaches)) })
		for few := 8; len(tests) > 0; few = len(tests) {
			few = min(few, len(tests))
			var took time.Duration
			for _, t := range tests[:few] {
				took += t.took
			}
			if result = r.run(ctx, r.timeout+10*took, tests[:few], "MUTANT="+strconv.Itoa(id)); result != survived {
				return result
			}
			tests = tests[few:]
		}
	}
	return result
}

// run runs tests of one binary until the first fails or the time is over.
func (r *runner) run(ctx context.Context, timeout time.Duration, tests []*test, environment string) outcome {
	temp, err := os.MkdirTemp(r.temp, "run")
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = os.RemoveAll(temp) }() // a test that was stopped leaves files behind
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	var names []string
	for _, t := range tests {
		names = append(names, regexp.QuoteMeta(t.name))
	}
	c := exec.CommandContext(ctx, tests[0].path, "-test.failfast", "-test.run=^("+strings.Join(names, "|")+")$")
	c.Dir = tests[0].dir
	c.Env = append(os.Environ(), environment, "TMPDIR="+temp)
	c.Stdout = &untilFailure{stop: cancel}
	c.WaitDelay = 5 * time.Second
	err = c.Run()
	switch {
	case err == nil:
		return survived
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return timedOut
	default:
		return failed
	}
}

// untilFailure reads the output of tests and stops them when one has failed.
type untilFailure struct {
	stop context.CancelFunc
	last []byte
}

func (u *untilFailure) Write(p []byte) (int, error) {
	u.last = append(u.last, p...)
	if bytes.Contains(u.last, []byte("--- FAIL")) {
		u.stop()
	}
	u.last = u.last[max(0, len(u.last)-len("--- FAIL")):]
	return len(p), nil
}

// parallel calls do with each item, in several goroutines.
func parallel[T any](workers int, items []T, do func(T)) {
	next := make(chan T)
	var group sync.WaitGroup
	for range workers {
		group.Go(func() {
			for item := range next {
				do(item)
			}
		})
	}
	for _, item := range items {
		next <- item
	}
	close(next)
	group.Wait()
}
