// Command bench measures the server side by side with plain PocketBase and with what the machine can do at most, in one
// run and in alternation, and prints Markdown.
//
//	go run ./bench -results bench/RESULTS.md                       # minutes
//	go run ./bench -contacts 1000000 -rounds 1 -alone -only q      # a part, our server alone
//
// Servers, clients and receivers share the processors of the machine: the figures hold for all of them together. So what sends
// requests and what takes deliveries does as little as HTTP/1.1 allows.
package main

import (
	"bytes"
	"flag"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"
)

var (
	rounds      = flag.Int("rounds", 3, "how often each phase is measured on each server, in alternation")
	seconds     = flag.Float64("seconds", 3, "how long each measurement takes")
	contacts    = flag.Int("contacts", 100_000, "how many contacts the reading phases find")
	connections = flag.Int("connections", 32, "connections that are kept alive")
	alone       = flag.Bool("alone", false, "measure our server without plain PocketBase")
	only        = flag.String("only", "", "a part of the names of the phases to run")
	results     = flag.String("results", "", "a file that gets all that is printed, once everything is measured")
	replicas    = flag.Bool("replicas", false, "measure creates with and without a replica, and nothing else")
	sizes       = flag.String("sizes", "", "tenants and contacts of each to compare our server with, such as 1x100000,1000x1000, and nothing else")
	folders     = flag.String("folders", "", "with -sizes: where the data directories stay, which are filled where the run before left off")
	timeout     = flag.Duration("timeout", time.Hour, "with -sizes: how long a data directory is filled; one that is not full by then is not measured")
	isFlood     = flag.Bool("flood", false, "be the process that a benchmark starts beside itself")
	before      = flag.String("before", "", "with -replicas: another executable of ours to compare with, without a replica")
	profile     = flag.String("profile", "", "a folder for CPU profiles of our server, one a phase")
)

func main() {
	flag.Parse()
	if *isFlood {
		if err := sendFlood(os.Stdin); err != nil {
			log.Fatal(err)
		}
		return
	}
	if err := benchmark(); err != nil { // its servers are down by then
		log.Fatal(err)
	}
}

func benchmark() error {
	dir, err := os.MkdirTemp("", "contactbase-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	var printed bytes.Buffer
	out := io.MultiWriter(os.Stdout, &printed)
	measure := sideBySide
	switch {
	case *replicas:
		measure = compareReplicas
	case *sizes != "":
		measure = compareSizes
	}
	if err := measure(out, dir); err != nil {
		return err
	}
	return save(printed.Bytes())
}

// heading prints what a reader has to know about the figures: the command, the machine, and how often it was measured.
func heading(out io.Writer, title, circumstances string) {
	fmt.Fprintf(out, "# %s\n\nMade by `%s` on %s: %d CPUs, %s, %d rounds of %v s each, in alternation.%s\n\n", title,
		strings.Join(append([]string{"go run ./bench"}, os.Args[1:]...), " "), time.Now().UTC().Format(time.DateOnly), runtime.NumCPU(), runtime.Version(), *rounds, *seconds, circumstances)
}

// sideBySide measures our server and plain PocketBase.
func sideBySide(out io.Writer, dir string) error {
	heading(out, "Side by side with plain PocketBase", fmt.Sprintf(" %d connections, %d contacts.\n"+
		"Ours runs as it comes: full durability, events written, requests checked. Plain PocketBase runs as it comes, with the newer driver of SQLite that ours has: normal durability, no events, no keys, `skipTotal=1` in its lists.\n"+
		"Creating with webhooks lasts until the last delivery has arrived.", *connections, *contacts))
	if err := floors(out, dir); err != nil {
		return err
	}
	s := &suite{out: out, measured: newTable()}
	defer s.stop()
	if err := s.start(dir); err != nil {
		return err
	}
	if err := s.measure(); err != nil {
		return err
	}
	return s.conclude()
}

// save keeps what was printed where -results says, if anywhere.
func save(printed []byte) error {
	if *results == "" {
		return nil
	}
	return os.WriteFile(*results, printed, 0o644) //nolint:gosec // for everybody to read
}

// start builds and starts the servers.
func (s *suite) start(dir string) (err error) {
	if s.binary, err = build(dir, "contactbase", "."); err != nil {
		return err
	}
	s.ours = &target{name: "ours", dir: filepath.Join(dir, "ours-data"), header: http.Header{}}
	if _, err := runJSON(s.binary, s.ours.dir, "tenant", "create", "Bench", "--rateLimit", strconv.Itoa(unlimited)); err != nil {
		return err
	}
	key, err := runJSON(s.binary, s.ours.dir, "key", "create", "Bench")
	if err != nil {
		return err
	}
	s.ours.header[keyHeader] = []string{key["key"].(string)}
	arguments := []string{"--metricsAddr", metricsAddress}
	if *profile != "" {
		arguments = append(arguments, "--debugAddr", debugAddress)
	}
	if err := s.ours.start(s.binary, arguments...); err != nil || *alone {
		return err
	}
	plainBinary, err := build(dir, "plain", "./bench/plain")
	if err != nil {
		return err
	}
	s.plain = &target{name: "plain", dir: filepath.Join(dir, "plain-data"), header: http.Header{}}
	return s.plain.start(plainBinary)
}

func (s *suite) stop() {
	s.ours.stop()
	s.plain.stop()
}

// measure runs the phases and prints a row for each.
func (s *suite) measure() error {
	for _, p := range s.phases() {
		if !wanted(p.name) {
			continue
		}
		if err := s.measurePhase(p); err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
	}
	return nil
}

// measurePhase runs a phase on each server, in alternation, and prints its row.
func (s *suite) measurePhase(p phase) error {
	if p.setUp != nil {
		if err := p.setUp(); err != nil {
			return err
		}
	}
	count := *connections
	if p.single {
		count = 1
	}
	for range *rounds {
		for _, side := range []struct {
			target *target
			next   request
		}{{s.ours, p.ours}, {s.plain, p.plain}} {
			if side.next == nil || side.target == nil {
				continue
			}
			settle := p.settle
			if side.target != s.ours {
				settle = nil
			}
			before := side.target.cpu()
			stopProfile := profileOf(side.target, p.name)
			loaded, err := loadUntilSettled(side.target, count, side.next, settle)
			if err != nil {
				return fmt.Errorf("%s: %w", side.target.name, err)
			}
			stopProfile()
			s.measured.add(p.name, side.target.name, loaded, side.target.cpu()-before)
		}
	}
	s.measured.print(s.out, p.name)
	if p.after == nil {
		return nil
	}
	return p.after()
}

// loadUntilSettled puts a server under load, and then waits for settle, which is part of what is measured; nil for nothing.
func loadUntilSettled(t *target, count int, next request, settle func() error) (load, error) {
	loaded := run(t.base, t.header, count, time.Duration(*seconds*float64(time.Second)), 0, next)
	if settle != nil {
		began := time.Now()
		if err := settle(); err != nil {
			return load{}, err
		}
		loaded.last(time.Since(began))
	}
	if loaded.errors > 0 {
		return load{}, fmt.Errorf("%d errors, the first: %s", loaded.errors, loaded.firstError)
	}
	return loaded, nil
}

// wanted reports whether a phase was asked for.
func wanted(name string) bool { return strings.Contains(name, *only) }

// conclude prints what was noted, the memory, and how long a start takes with all that is there by then.
func (s *suite) conclude() error {
	if wanted("inbound") {
		if err := s.inbound(); err != nil {
			return fmt.Errorf("inbound: %w", err)
		}
	}
	if wanted("batch") {
		if err := s.batch(); err != nil {
			return fmt.Errorf("batch: %w", err)
		}
	}
	if wanted("feed") {
		if err := s.feed(); err != nil {
			return fmt.Errorf("feed: %w", err)
		}
	}
	fmt.Fprintln(s.out, s.pacedTable)
	for _, note := range s.notes {
		fmt.Fprintln(s.out, "* "+note)
	}
	now, peak := s.ours.memory()
	fmt.Fprintf(s.out, "* memory of our server: %d MiB at its peak, %d MiB after all phases\n", peak, now)
	if s.plain != nil {
		now, peak = s.plain.memory()
		fmt.Fprintf(s.out, "* memory of plain PocketBase: %d MiB at its peak, %d MiB after all phases\n", peak, now)
	}
	empty := s.ours.ready
	s.ours.stop()
	if err := s.ours.start(s.binary); err != nil {
		return err
	}
	fmt.Fprintf(s.out, "* from the start of our server to its first answer: %v on an empty folder, %v with all that was created\n",
		empty.Round(time.Millisecond), s.ours.ready.Round(time.Millisecond))
	return nil
}

func (s *suite) note(format string, args ...any) {
	s.notes = append(s.notes, fmt.Sprintf(format, args...))
}
