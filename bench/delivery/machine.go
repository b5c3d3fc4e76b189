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

// circumstances prints what a reader has to know about the figures: the command, the machine and its disk.
func (b *bench) circumstances() error {
	synced, err := syncTime(b.dir)
	if err != nil {
		return fmt.Errorf("measuring the disk: %w", err)
	}
	command := strings.Join(append([]string{"go run ./bench/delivery"}, os.Args[1:]...), " ")
	fmt.Fprintf(b.out, "# How fast webhooks are delivered\n\nMade by `%s` on %s.\n", command, time.Now().UTC().Format(time.DateOnly))
	fmt.Fprintf(b.out, "\nThe server runs with `--durability=full`, as it does by default. It shares the machine with the receivers and the "+
		"clients: %d × %s, %s, %s/%s. Writing 4 KiB and syncing takes this disk %s (p50) and %s (p99). The load of the "+
		"machine before it began: %s.\n",
		runtime.NumCPU(), processor(), runtime.Version(), runtime.GOOS, runtime.GOARCH, short(quantile(synced, .5)), short(quantile(synced, .99)), load5())
	return nil
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
