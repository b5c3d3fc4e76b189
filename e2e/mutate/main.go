// Command mutate changes a package in one place at a time, and lists the changes that no test notices.
//
// It compiles all changes (mutants) of the package into one test binary, each behind a condition that an environment
// variable switches on, because linking a binary for each takes too long. It uses an overlay, so the working tree
// stays unchanged. It then runs each test alone to learn which mutants it reaches, and for each mutant the tests that
// reach it, until one fails. See ADR 70.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

type options struct {
	more    string // packages whose tests run, too, separated by commas
	run     string // which tests of these packages run
	sample  int    // how many mutants to try; 0 for all
	only    string // a file with lines of an earlier report, to try only these mutants
	timeout time.Duration
	workers int
}

func main() {
	log.SetFlags(log.Ltime)
	var o options
	flag.StringVar(&o.more, "tests", "", "comma-separated packages whose tests run in addition to those of the package")
	flag.StringVar(&o.run, "run", "", "a regular expression for the tests of these packages")
	flag.IntVar(&o.sample, "sample", 0, "try a random sample of this size, the same each time, instead of all mutants")
	flag.StringVar(&o.only, "only", "", "a file with an earlier report: try only the mutants that it lists")
	flag.DurationVar(&o.timeout, "timeout", 30*time.Second,
		"the least time that the tests of a mutant may take; ten times their usual time is added")
	flag.IntVar(&o.workers, "workers", 2, "how many test processes run at the same time")
	flag.Parse()
	if flag.NArg() != 1 {
		log.Fatal("usage: mutate [flags] PACKAGE, for example mutate ./internal/contact")
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	survivors, summary, err := run(ctx, ".", flag.Arg(0), o)
	stop()
	if err != nil {
		log.Fatal(err)
	}
	for _, s := range survivors {
		fmt.Println(s)
	}
	fmt.Println(summary)
}

// run tries the mutants of the package at path, relative to the directory dir. It returns a line for each survivor,
// and one with the counts.
func run(ctx context.Context, dir, path string, o options) (survivors []string, summary string, err error) {
	begin := time.Now()
	temp, err := os.MkdirTemp("", "mutate")
	if err != nil {
		return nil, "", err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(temp)) }()
	pkg, err := load(ctx, dir, path)
	if err != nil {
		return nil, "", err
	}
	mutants := pkg.mutate()
	overlay, err := writeOverlay(temp, pkg)
	if err != nil {
		return nil, "", err
	}
	if mutants, err = choose(mutants, o); err != nil {
		return nil, "", err
	}
	r := runner{temp: temp, options: o}
	if err := r.build(ctx, dir, path, "", overlay); err != nil {
		return nil, "", err
	}
	for _, other := range strings.FieldsFunc(o.more, func(c rune) bool { return c == ',' }) {
		if err := r.build(ctx, dir, other, o.run, overlay); err != nil {
			return nil, "", err
		}
	}
	log.Printf("%d mutants, %d tests, built in %v", len(mutants), len(r.tests), time.Since(begin).Round(time.Second))
	r.reach(ctx)
	counts := r.try(ctx, mutants)
	if err := ctx.Err(); err != nil {
		return nil, "", err
	}
	for _, m := range mutants {
		if m.outcome == survived || m.outcome == unreached {
			survivors = append(survivors, fmt.Sprintf("%s [%s]", m, m.outcome))
		}
	}
	killed := counts[failed] + counts[timedOut]
	return survivors,
		fmt.Sprintf("%s: %d mutants, %d killed (%d by timeout), %d survived, %d reached by no test: %d%% in %v", path,
			len(mutants), killed, counts[timedOut], counts[survived], counts[unreached],
			100*killed/max(1, len(mutants)), time.Since(begin).Round(time.Second)), nil
}

// choose returns the mutants that the options ask for.
func choose(mutants []*mutant, o options) ([]*mutant, error) {
	if o.only != "" {
		report, err := os.ReadFile(o.only)
		if err != nil {
			return nil, err
		}
		listed := map[string]bool{}
		for lines := bufio.NewScanner(strings.NewReader(string(report))); lines.Scan(); {
			line, _, _ := strings.Cut(lines.Text(), " [")
			listed[line] = true
		}
		mutants = slices.DeleteFunc(mutants, func(m *mutant) bool { return !listed[m.String()] })
	}
	if o.sample > 0 && o.sample < len(mutants) {
		rand.New(rand.NewPCG(1, 1)).Shuffle(len(mutants), func(i, j int) { mutants[i], mutants[j] = mutants[j], mutants[i] })
		mutants = mutants[:o.sample]
	}
	return mutants, nil
}

// writeOverlay writes the mutated files and, for the go command, the list of the files that they replace.
func writeOverlay(temp string, pkg *source) (string, error) {
	replace := map[string]string{}
	add := func(name string, content []byte) error {
		mutated := filepath.Join(temp, filepath.Base(name))
		replace[name] = mutated
		return os.WriteFile(mutated, content, 0o600)
	}
	for _, f := range pkg.files {
		if err := add(f.name, f.mutated()); err != nil {
			return "", err
		}
	}
	if err := add(filepath.Join(pkg.dir, helperFile), pkg.helper()); err != nil {
		return "", err
	}
	list, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	name := filepath.Join(temp, "overlay.json")
	return name, os.WriteFile(name, list, 0o600)
}

// command runs the go command in the directory dir and returns its output.
func command(ctx context.Context, dir string, arguments ...string) ([]byte, error) {
	c := exec.CommandContext(ctx, "go", arguments...)
	c.Dir = dir
	out, err := c.Output()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		return nil, fmt.Errorf("go %s: %w\n%s%s", strings.Join(arguments, " "), err, exit.Stderr, out)
	}
	return out, err
}
