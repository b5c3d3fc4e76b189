package main

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"contactbase/internal/replica/fakes3"
)

// replication is a way of running our server that is measured.
type replication struct {
	name      string
	binary    string
	latency   time.Duration // of each request to the store
	arguments []string
	store     *fakes3.Store // nil without a replica
	target    *target
	longest   float64 // turn of a writer, in seconds
	log       int64   // the longest that SQLite's log was, in bytes
}

// connectionCounts is over how many connections contacts are created.
var connectionCounts = []int{1, 16, 64}

// comparison is what was measured of ways of running our server, by way and number of connections.
type comparison struct {
	ways     []*replication
	measured map[string][]load
	costs    map[string]time.Duration // processor time of a create, in the last round
}

// compareReplicas measures creates without a replica, and with one in each mode, in alternation.
func compareReplicas(out io.Writer, dir string) error {
	heading(out, "Creates with a replica", " The store is in the process that sends the requests, on the same machine.")
	ways, err := replications(dir)
	if err != nil {
		return err
	}
	c := &comparison{ways: ways, measured: map[string][]load{}, costs: map[string]time.Duration{}}
	for round := range *rounds {
		for _, way := range ways {
			folder := filepath.Join(dir, fmt.Sprintf("%d-%s", round, strings.ReplaceAll(way.name, " ", "-")))
			if err := c.measure(way, folder); err != nil {
				return fmt.Errorf("%s: %w", way.name, err)
			}
		}
	}
	c.print(out)
	return nil
}

// replications returns the ways that are compared.
func replications(dir string) ([]*replication, error) {
	binary, err := build(dir, "contactbase", ".")
	if err != nil {
		return nil, err
	}
	ways := []*replication{{name: "none", binary: binary}}
	if *before != "" {
		ways = append(ways, &replication{name: "none, the program of before", binary: *before})
	}
	for _, mode := range []string{"async", "sync"} {
		for _, latency := range []time.Duration{0, 20 * time.Millisecond} {
			ways = append(ways, &replication{
				name: fmt.Sprintf("%s, store of %s", mode, latency), binary: binary, latency: latency, arguments: []string{"--replicaMode", mode},
			})
		}
	}
	return ways, nil
}

// measure runs our server in one way, on a new data directory, and adds what it measures.
func (c *comparison) measure(way *replication, folder string) error {
	if err := way.start(folder); err != nil {
		return err
	}
	defer way.stop()
	for _, connections := range connectionCounts {
		found, cost := way.measure(connections)
		if found.errors > 0 {
			return fmt.Errorf("%d errors, the first: %s", found.errors, found.firstError)
		}
		key := fmt.Sprint(way.name, connections)
		c.measured[key] = append(c.measured[key], found)
		c.costs[key] = cost / time.Duration(max(1, found.sent))
	}
	return nil
}

// print prints a row for each way and number of connections.
func (c *comparison) print(out io.Writer) {
	fmt.Fprintln(out, "| replica | connections | creates/s (min–max) | p50 | p99 | CPU/create | longest hold of the writer | longest log |\n|---|---|---|---|---|---|---|---|")
	for _, way := range c.ways {
		for _, connections := range connectionCounts {
			key := fmt.Sprint(way.name, connections)
			all := c.measured[key]
			slices.SortFunc(all, func(a, b load) int { return int(a.perSecond - b.perSecond) })
			middle := all[len(all)/2]
			fmt.Fprintf(out, "| %s | %d | %.0f (%.0f–%.0f) | %s | %s | %s | %.0f ms | %d MiB |\n", way.name, connections, middle.perSecond, all[0].perSecond, all[len(all)-1].perSecond,
				middle.p50.Round(10*time.Microsecond), middle.p99.Round(10*time.Microsecond), c.costs[key].Round(time.Microsecond), way.longest*1000, way.log>>20)
		}
	}
}

func (r *replication) start(dir string) error {
	r.target = &target{name: r.name, dir: dir, header: http.Header{}}
	if _, err := runJSON(r.binary, dir, "tenant", "create", "Bench", "--rateLimit", strconv.Itoa(unlimited)); err != nil {
		return err
	}
	key, err := runJSON(r.binary, dir, "key", "create", "Bench")
	if err != nil {
		return err
	}
	r.target.header[keyHeader] = []string{key["key"].(string)}
	arguments := append([]string{"--metricsAddr", metricsAddress}, r.arguments...)
	if len(r.arguments) > 0 {
		r.store = fakes3.New()
		r.store.SetLatency(r.latency)
		arguments = append(arguments, "--replica", r.store.URL("bench"))
	}
	if err := r.target.start(r.binary, arguments...); err != nil {
		return err
	}
	if r.store == nil {
		return nil
	}
	for range 100 { // the first snapshot
		active, err := r.target.metric("contactbase_replica_active")
		if err != nil {
			return err
		}
		if active == 1 {
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	return nil
}

// measure creates contacts over so many connections, and looks how long SQLite's log becomes.
func (r *replication) measure(connections int) (load, time.Duration) {
	over, looked := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(looked)
		for {
			if info, err := os.Stat(filepath.Join(r.target.dir, "data.db-wal")); err == nil {
				r.log = max(r.log, info.Size())
			}
			select {
			case <-over:
				return
			case <-time.After(50 * time.Millisecond):
			}
		}
	}()
	began := r.target.cpu()
	found := run(r.target.base, r.target.header, connections, time.Duration(*seconds*float64(time.Second)), 0, create(ourContacts, ""))
	close(over)
	<-looked
	if longest, err := r.target.metric("contactbase_writer_longest_hold_seconds"); err == nil {
		r.longest = max(r.longest, longest)
	}
	return found, r.target.cpu() - began
}

func (r *replication) stop() {
	r.target.stop()
	if r.store != nil {
		r.store.Close()
		r.store = nil
	}
}
