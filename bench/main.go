// Command bench measures the program and prints Markdown.
//
//	go run ./bench requests      # beside plain PocketBase
//	go run ./bench sizes         # few contacts and many
//	go run ./bench replica       # creates with a replica and without
//	go run ./bench deliveries    # webhooks
//
// bench/README.md says what is measured and how.
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
	rounds = flag.Int("rounds", 5,
		"how often each measurement is repeated, in alternation with what it is compared to")
	seconds = flag.Float64("seconds", 3, "seconds that each measurement takes; "+
		"phases that create contacts send 5,000 requests for each second instead")
	length      = flag.Duration("length", 20*time.Second, "how long requests that come at a rate are sent at a time")
	connections = flag.Int("connections", 32, "connections that send requests")
	only        = flag.String("only", "",
		"parts of the names of what to measure, separated by commas; everything by default")
	results  = flag.String("results", "", "the file that receives all output once everything is measured")
	profiles = flag.String("profile", "",
		"requests, sizes: the directory that receives a CPU profile of each phase of our server")
	folders = flag.String("folders", "",
		"requests, webhooks, sizes: where to keep the data directories for the next run, which completes them")
	contacts = flag.Int("contacts", 100_000, "requests, webhooks: contacts of the tenant")
	alone    = flag.Bool("alone", false, "requests, webhooks: leave out plain PocketBase")
	withLog  = flag.Bool("log", false, "requests, webhooks: add plain PocketBase with its request log on")
	before   = flag.String("before", "", "requests, webhooks, replica: another executable of ours to compare with")
	sizes    = flag.String("sizes", "1x100000,1000x1000,1x1000000", "sizes: tenants and contacts of each")
	backlog  = flag.Int("backlog", 1_000_000, "deliveries: pending deliveries of the large backlog")
	drained  = flag.Int("drained", 20_000, "deliveries: how many deliveries to drain while measuring the throughput")
)

// bench is what the measurements share.
type bench struct {
	out    io.Writer
	dir    string // for data that goes at the end
	binary string // of our server
}

var measurements = map[string]struct {
	title, about string
	run          func(*bench) error
}{
	"requests": {"Side by side with plain PocketBase", "Our server runs with its default settings: " +
		"full durability, events, API keys. " +
		"Plain PocketBase has the same version of the SQLite driver; it has no events and " +
		"no keys, its request log is off, and its lists use `skipTotal=1`. It runs with its default, " +
		"`synchronous=NORMAL`, and with `synchronous=FULL`, which is the durability of ours.", (*bench).requests},
	"webhooks": {"Creates with webhooks, beside hooks of plain PocketBase", "Plain PocketBase has an after-create " +
		"hook that posts from goroutines: with a row for each delivery, " +
		"or without any row, which loses what is not sent " +
		"when the process is killed. It runs with its default, `synchronous=NORMAL`, " +
		"and with `synchronous=FULL`, which is the durability of ours.", (*bench).webhooks},
	"sizes": {"Few contacts and many", "Requests go to tenants, " +
		"contacts and pages at random. The ratio is to the first size.", (*bench).compareSizes},
	"replica": {
		"Creates with a replica", "The object store is in the process that sends the requests, on the same machine.",
		(*bench).replica,
	},
	"deliveries": {"How fast webhooks are delivered", "The receivers are in the process that creates the contacts, " +
		"on the same machine.", (*bench).deliveries},
}

func main() {
	name := ""
	if len(os.Args) > 1 {
		name = os.Args[1]
		_ = flag.CommandLine.Parse(os.Args[2:]) // exits by itself
	}
	err := fmt.Errorf("say what to measure: requests, webhooks, sizes, replica or deliveries")
	if name == floodName {
		err = sendFlood(os.Stdin)
	} else if _, known := measurements[name]; known {
		err = measure(name) // its servers have stopped by then
	}
	if err != nil {
		log.Fatal(err)
	}
}

func measure(name string) (err error) {
	b := &bench{}
	if b.dir, err = os.MkdirTemp("", "contactbase-bench-"); err != nil {
		return err
	}
	defer os.RemoveAll(b.dir)
	var printed bytes.Buffer
	b.out = io.MultiWriter(os.Stdout, &printed)
	m := measurements[name]
	if err := b.heading(m.title, m.about); err != nil {
		return err
	}
	if b.binary, err = build(b.dir, "contactbase", "."); err != nil {
		return err
	}
	if err := m.run(b); err != nil || *results == "" {
		return err
	}
	return os.WriteFile(*results, printed.Bytes(), 0o644) //nolint:gosec // for everybody to read
}

// wanted reports whether -only selects the name.
func wanted(name string) bool {
	for part := range strings.SplitSeq(*only, ",") {
		if strings.Contains(name, part) {
			return true
		}
	}
	return false
}

// temporary returns the path of a directory that does not exist yet.
func (b *bench) temporary(name string) string {
	return filepath.Join(b.dir, fmt.Sprintf("%s-%d", name, time.Now().UnixNano()))
}

// duration returns how long a measurement takes.
func duration() time.Duration { return time.Duration(*seconds * float64(time.Second)) }
