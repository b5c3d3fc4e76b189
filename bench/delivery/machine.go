package main

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"
)

// preamble tells what holds for all figures.
func preamble() string {
	return fmt.Sprintf("# How fast webhooks are delivered\n\nThe server runs with `--durability=full`, as it does by default. It shares the machine with the receivers and the "+
		"clients: %d × %s, %s, %s/%s. %s", runtime.NumCPU(), processor(), runtime.Version(), runtime.GOOS, runtime.GOARCH, others)
}

// others tells what was not measured.
const others = "Nothing of others is measured beside it. [Outpost](https://github.com/hookdeck/outpost) (f67ae011) builds on this machine, but its server runs with " +
	"Redis, PostgreSQL or ClickHouse, and a queue such as RabbitMQ, and its load test with k6 and all of them in containers, which this machine does not have; nobody has set " +
	"them up without. [Convoy](https://github.com/frain-dev/convoy) (2b60cc65) does not build here: the module proxy does not have `jirevwe/gopartman` v0.2.0 and " +
	"`subomi/requestmigrations/v2` v2.3.0.\n"

// circumstances returns what a reader has to know about the figures of a section: the command, the disk and the load.
func (b *bench) circumstances() (string, error) {
	synced, err := syncTime(b.dir)
	if err != nil {
		return "", fmt.Errorf("measuring the disk: %w", err)
	}
	command := strings.Join(append([]string{"go run ./bench/delivery"}, os.Args[1:]...), " ")
	return fmt.Sprintf("Made by `%s` on %s. Writing 4 KiB and syncing took the disk %s (p50) and %s (p99). The load of the machine before it began: %s.",
		command, time.Now().UTC().Format(time.DateOnly), short(quantile(synced, .5)), short(quantile(synced, .99)), load5()), nil
}

// syncTime measures how long the disk takes to keep a small write, sorted.
func syncTime(dir string) ([]time.Duration, error) {
	file, err := os.Create(filepath.Join(dir, "sync"))
	if err != nil {
		return nil, err
	}
	defer os.Remove(file.Name())
	defer file.Close()
	page := make([]byte, 4096)
	var times []time.Duration
	for range 200 {
		began := time.Now()
		if _, err := file.Write(page); err != nil {
			return nil, err
		}
		if err := file.Sync(); err != nil {
			return nil, err
		}
		times = append(times, time.Since(began))
	}
	slices.Sort(times)
	return times, nil
}

// processor returns the name of the processor, as far as the system tells.
func processor() string {
	info, _ := os.ReadFile("/proc/cpuinfo")
	for line := range strings.Lines(string(info)) {
		if name, value, _ := strings.Cut(line, ":"); strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return "processor"
}

// load5 returns how many processes had something to do over the last 5 minutes, on average.
func load5() string {
	average, _ := os.ReadFile("/proc/loadavg")
	if fields := strings.Fields(string(average)); len(fields) > 1 {
		return fields[1]
	}
	return "unknown"
}
