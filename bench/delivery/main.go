// Command delivery measures how webhooks are delivered by the real executable, and prints Markdown tables.
//
//	go run ./bench/delivery                        # everything, about a quarter of an hour
//	go run ./bench/delivery -only throughput       # or limits, latency, isolation, backlog
//	go run ./bench/delivery -results bench/delivery/RESULTS.md
//
// Receivers and clients run in this program, on the same machine as the server: they take their share of its
// processors, and the figures hold for both together.
package main

import (
	"bytes"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"path/filepath"
	"strings"
	"time"
)

var (
	only    = flag.String("only", "", "parts of the names of what to measure, separated by commas; all where there are none")
	rounds  = flag.Int("rounds", 3, "how often each measurement is repeated, in alternation with what it is compared to")
	backlog = flag.Int("backlog", 1_000_000, "pending deliveries of the large backlog")
	drained = flag.Int("drained", 20_000, "deliveries of which the throughput is measured")
	length  = flag.Duration("length", 40*time.Second, "how long latencies are measured at a time")
	rate    = flag.Float64("rate", 50, "events a second where slow receivers are beside healthy ones")
	results = flag.String("results", "", "a file that gets all that is printed, once everything is measured")
	debug   = flag.String("debugAddr", "", "where the server serves its profiles")
	analyze = flag.Bool("analyze", false, "gather the statistics of the query planner on the backlog first, as the daily maintenance may")
	keep    = flag.String("keep", "", "a folder for the data, which stays")
)

func main() {
	flag.Parse()
	if err := run(); err != nil {
		log.Fatal(err)
	}
}

// bench is what the measurements share.
type bench struct {
	out    io.Writer
	dir    string
	binary string
	count  int // of installations
}

func run() (err error) {
	var printed bytes.Buffer
	b := &bench{out: io.MultiWriter(os.Stdout, &printed), dir: *keep}
	if b.dir == "" {
		if b.dir, err = os.MkdirTemp("", "contactbase-delivery-"); err != nil {
			return err
		}
		defer os.RemoveAll(b.dir)
	}
	b.binary = filepath.Join(b.dir, "contactbase")
	if err := build(b.binary); err != nil {
		return err
	}
	if err := b.circumstances(); err != nil {
		return err
	}
	for _, measurement := range []struct {
		name string
		run  func(*bench) error
	}{
		{"throughput", throughput},
		{"limits", limits},
		{"latency", latency},
		{"isolation", isolation},
		{"backlog", backlogs},
	} {
		if !wanted(measurement.name) {
			continue
		}
		if err := measurement.run(b); err != nil {
			return fmt.Errorf("%s: %w", measurement.name, err)
		}
	}
	fmt.Fprintf(b.out, "\nLoad of the machine over the last 5 minutes of all this, which is part of it: %s\n", load5())
	if *results == "" {
		return nil
	}
	return os.WriteFile(*results, printed.Bytes(), 0o644)
}

func wanted(name string) bool {
	for part := range strings.SplitSeq(*only, ",") {
		if strings.Contains(name, part) {
			return true
		}
	}
	return false
}
