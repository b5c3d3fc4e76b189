package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
)

// heading prints what readers must know about the figures: the command, the commit, the machine and its load.
func (b *bench) heading(title, about string) error {
	commit, err := commit()
	if err != nil {
		return fmt.Errorf("looking for the commit: %w", err)
	}
	synced, err := syncTimes(b.dir)
	if err != nil {
		return fmt.Errorf("measuring the disk: %w", err)
	}
	fmt.Fprintf(b.out, "# %s\n\nMade by `%s` on %s at commit %s: %d × %s, "+
		"%s, %s/%s; %d rounds in alternation; figures are their medians. ", title,
		strings.Join(append([]string{"go run ./bench"}, os.Args[1:]...), " "), time.Now().UTC().Format(time.DateOnly), commit,
		runtime.NumCPU(), processor(), runtime.Version(), runtime.GOOS, runtime.GOARCH, *rounds)
	fmt.Fprintf(b.out, "Writing 4 KiB and syncing took the disk %s (p50) and %s (p99). "+
		"The load average before the run was %s.\n\n%s Servers, clients and receivers share the processors.\n",
		short(quantile(synced, .5)), short(quantile(synced, .99)), load5(), about)
	return nil
}

// titles begins a table. They are separated by " | ".
func (b *bench) titles(titles string) {
	fmt.Fprintf(b.out, "\n| %s |\n|%s\n", titles, strings.Repeat("---|", strings.Count(titles, " | ")+1))
}

// row adds a row to the table that was begun last.
func (b *bench) row(cells ...string) { fmt.Fprintf(b.out, "| %s |\n", strings.Join(cells, " | ")) }

// commit returns the commit of the program, and whether it differs from that. Results and documents do not count.
func commit() (string, error) {
	head, err := exec.Command("git", "rev-parse", "--short=12", "HEAD").Output()
	if err != nil {
		return "", err
	}
	changes, err := exec.Command("git", "status", "--porcelain", "--", ":/", ":(exclude,top)*.md").Output()
	if err != nil {
		return "", err
	}
	if len(changes) > 0 {
		return strings.TrimSpace(string(head)) + " with uncommitted changes", nil
	}
	return strings.TrimSpace(string(head)), nil
}

// syncTimes measures how long the disk takes to store a small write, and returns the times in order.
func syncTimes(dir string) (times []time.Duration, err error) {
	file, err := os.Create(filepath.Join(dir, "sync"))
	if err != nil {
		return nil, err
	}
	defer file.Close()
	page := make([]byte, 4096)
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

// processor returns the name of the processor, if the system tells.
func processor() string {
	info, _ := os.ReadFile("/proc/cpuinfo")
	_, rest, _ := strings.Cut(string(info), "model name")
	name, _, _ := strings.Cut(strings.TrimLeft(rest, "\t: "), "\n")
	return name
}

// load5 returns the load average of the last 5 minutes.
func load5() string {
	average, _ := os.ReadFile("/proc/loadavg")
	if fields := strings.Fields(string(average)); len(fields) > 1 {
		return fields[1]
	}
	return "unknown"
}

func thousands(n int) string {
	text := strconv.Itoa(n)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}
