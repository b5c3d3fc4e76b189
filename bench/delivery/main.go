// Command delivery measures how webhooks are delivered by the real executable, and prints Markdown tables.
//
//	go run ./bench/delivery                        # everything, about half an hour
//	go run ./bench/delivery -only throughput       # or limits, latency, isolation, backlog or one of the three backlogs
//	go run ./bench/delivery -results bench/delivery/RESULTS.md
//
// What is measured in parts comes together in the file of the results: each section replaces the one of its title.
//
// Receivers and clients run in this program, on the same machine as the server: they take their share of its
// processors, and the figures hold for both together.
package main

import (
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
	results = flag.String("results", "", "a file that gets each section that is printed, in place of the one of the same title")
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
	b := &bench{dir: *keep}
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
	fmt.Print(preamble())
	for _, m := range measurements() {
		if !wanted(m.name) {
			continue
		}
		if err := b.measure(m); err != nil {
			return fmt.Errorf("%s: %w", m.name, err)
		}
	}
	return nil
}

// measurement prints a section.
type measurement struct {
	name string
	run  func(*bench) error
}

func measurements() []measurement {
	all := []measurement{{"throughput", throughput}, {"limits", limits}, {"latency", latency}, {"isolation", isolation}}
	for _, s := range shapes {
		all = append(all, measurement{s.measurement, func(b *bench) error { return b.backlogs(s) }})
	}
	return all
}

// measure prints a section, with what a reader has to know about it, and keeps it where -results says.
func (b *bench) measure(m measurement) error {
	var printed strings.Builder
	b.out = io.MultiWriter(os.Stdout, &printed)
	made, err := b.circumstances()
	if err != nil {
		return err
	}
	if err := m.run(b); err != nil {
		return err
	}
	fmt.Fprintf(b.out, "\n%s The load of the machine over the last 5 minutes of this, which is part of it: %s.\n", made, load5())
	if *results == "" {
		return nil
	}
	return keepSection(*results, printed.String())
}

func wanted(name string) bool {
	for part := range strings.SplitSeq(*only, ",") {
		if strings.Contains(name, part) {
			return true
		}
	}
	return false
}
