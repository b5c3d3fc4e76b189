package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"contactbase/internal/replica/fakes3"
)

const metricsAddress = "127.0.0.1:16061"

// replication is a way to run our server.
type replication struct {
	name, binary string
	mode         string        // "" without a replica
	latency      time.Duration // of each request to the object store

	found       map[int]samples // by connections
	longestHold float64         // of the writer lock, in seconds
	longestWAL  int64           // in bytes
}

// replica measures creates without a replica, and with one in each mode.
func (b *bench) replica() error {
	connectionCounts := []int{1, 16, 64}
	ways := []*replication{{name: "none", binary: b.binary}}
	if *before != "" {
		ways = append(ways, &replication{name: "none, before", binary: *before})
	}
	for _, mode := range []string{"async", "sync"} {
		for _, latency := range []time.Duration{0, 20 * time.Millisecond} {
			ways = append(ways, &replication{
				name: fmt.Sprintf("%s, store of %s", mode, latency), binary: b.binary, mode: mode, latency: latency,
			})
		}
	}
	for round := range *rounds {
		for i := range ways {
			way := ways[(round+i)%len(ways)]
			if err := way.measure(b.temporary("replica"), connectionCounts, uint64(round)); err != nil {
				return fmt.Errorf("%s: %w", way.name, err)
			}
		}
	}
	b.titles("replica | connections | " + figureTitles + " | longest hold of the writer lock | longest WAL")
	for _, way := range ways {
		for _, count := range connectionCounts {
			b.row(append(append([]string{way.name, strconv.Itoa(count)}, way.found[count].figures()...),
				fmt.Sprintf("%.0f ms", way.longestHold*1000), fmt.Sprintf("%d MiB", way.longestWAL>>20))...)
		}
	}
	return nil
}

// measure creates contacts in a new data directory.
func (r *replication) measure(dir string, connectionCounts []int, seed uint64) error {
	defer os.RemoveAll(dir)
	s := &server{binary: r.binary, dir: dir, arguments: []string{"--metricsAddr", metricsAddress}}
	m, err := s.newMember()
	if err != nil {
		return err
	}
	if r.mode != "" {
		store := fakes3.New()
		defer store.Close()
		store.SetLatency(r.latency)
		s.arguments = append(s.arguments, "--replica", store.URL("bench"), "--replicaMode", r.mode)
		s.environment = []string{"AWS_ACCESS_KEY_ID=any", "AWS_SECRET_ACCESS_KEY=any"}
	}
	if err := s.start(); err != nil {
		return err
	}
	defer s.stop()
	if err := r.awaitActive(s); err != nil {
		return err
	}
	p := &population{members: []member{m}}
	if _, err := (load{connections: 16, length: warmUp, seed: seed, next: creates(p)}).run(s.base); err != nil {
		return err
	}
	stop := r.watchWAL(dir)
	defer stop()
	for _, count := range connectionCounts {
		before := s.cpu()
		found, err := load{connections: count, length: duration(), seed: seed + 100, next: creates(p)}.run(s.base)
		if err != nil {
			return err
		}
		found.cpu = (s.cpu() - before) / time.Duration(max(1, found.sent))
		if r.found == nil {
			r.found = map[int]samples{}
		}
		r.found[count] = append(r.found[count], found)
	}
	hold, err := s.metric("contactbase_writer_longest_hold_seconds")
	r.longestHold = max(r.longestHold, hold)
	return err
}

// awaitActive waits for the first snapshot.
func (r *replication) awaitActive(s *server) error {
	if r.mode == "" {
		return nil
	}
	for end := time.Now().Add(startTimeout); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		if active, err := s.metric("contactbase_replica_active"); err != nil || active == 1 {
			return err
		}
	}
	return fmt.Errorf("the replica does not become active")
}

// watchWAL observes how long SQLite's write-ahead log becomes.
func (r *replication) watchWAL(dir string) (stop func()) {
	over, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for {
			if info, err := os.Stat(filepath.Join(dir, "data.db-wal")); err == nil {
				r.longestWAL = max(r.longestWAL, info.Size())
			}
			select {
			case <-over:
				return
			case <-time.After(50 * time.Millisecond):
			}
		}
	}()
	return func() { close(over); <-done }
}

// metric reads one of the server's metrics.
func (s *server) metric(name string) (float64, error) {
	c := connection{base: "http://" + metricsAddress}
	defer c.close()
	got, err := c.exchange(call{method: "GET", path: "/metrics"})
	if err != nil {
		return 0, err
	}
	for line := range bytes.Lines(got.body) {
		if value, found := strings.CutPrefix(string(line), name+" "); found {
			return strconv.ParseFloat(strings.TrimSpace(value), 64)
		}
	}
	return 0, fmt.Errorf("there is no metric %s", name)
}
