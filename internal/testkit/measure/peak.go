package measure

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"
)

// peakEnv has the name of the test that a process runs only to measure it.
const peakEnv = "CONTACTBASE_MEASURE_PEAK"

// The process that is measured writes these to its standard error.
const (
	peakBegins = "measure: begin"
	peakEnds   = "measure: end"
)

// Peak returns how many MiB on the heap are live at most while do runs, beyond those that are before, to a fifth of
// what is live. Garbage does not count.
//
// It runs the test in a process of its own, in which each collection stops the world, so that it finds exactly what
// is live, and happens whenever the heap has grown by a fifth. The runtime's trace of its collections has the
// figures. The test or subtest calls Peak once: in the other process it ends with do. There do may fail the test.
func Peak(t *testing.T, do func()) int {
	t.Helper()
	if os.Getenv(peakEnv) == t.Name() {
		runtime.GC()
		fmt.Fprintln(os.Stderr, peakBegins)
		do()
		fmt.Fprintln(os.Stderr, peakEnds)
		if t.Failed() {
			t.FailNow()
		}
		t.SkipNow()
	}
	var names []string
	for name := range strings.SplitSeq(t.Name(), "/") {
		names = append(names, "^"+regexp.QuoteMeta(name)+"$")
	}
	command := exec.CommandContext(t.Context(), os.Args[0], "-test.run="+strings.Join(names, "/"), "-test.count=1")
	command.Env = append(os.Environ(), peakEnv+"="+t.Name(), "GOGC=20", "GOMEMLIMIT=off", "GOMAXPROCS=1",
		"GODEBUG=gcstoptheworld=1,gctrace=1")
	var trace bytes.Buffer
	command.Stderr = &trace
	if out, err := command.Output(); err != nil {
		t.Fatalf("in a process of its own: %v\n%s", err, out)
	}
	peak, err := peakIn(trace.String())
	if err != nil {
		t.Fatal(err)
	}
	return peak
}

// collection matches a line of the trace. Its group is how many MiB were live.
var collection = regexp.MustCompile(`^gc \d+ .*\d+->\d+->(\d+) MB, `)

// peakIn returns by how many MiB what is live grows at most, between the marks.
func peakIn(trace string) (int, error) {
	last, before, most := 0, -1, 0
	for line := range strings.Lines(trace) {
		if found := collection.FindStringSubmatch(line); found != nil {
			last, _ = strconv.Atoi(found[1])
		}
		if before >= 0 {
			most = max(most, last)
		}
		switch strings.TrimSpace(line) {
		case peakBegins:
			before, most = last, last
		case peakEnds:
			return most - before, nil
		}
	}
	return 0, fmt.Errorf("the trace of the collections has no end:\n%s", trace)
}
