package docs

import (
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the figures of bench/RESULTS*.md into the documents")

// A figure that a document has from a benchmark is followed by a comment. It names the file in bench, the first cells
// of the row, and the column, for example 0.48<!-- RESULTS-sizes.md; create; ours; 1,000 tenants of 1,000; ratio -->.
// The unit, if any, stands behind the comment.
var figures = regexp.MustCompile(`([0-9][0-9,.]*)<!-- (RESULTS[\w-]*\.md); (.*?); ([^;]*?) -->( ?(?:ns|µs|ms|s|KiB|MiB|GiB)\b)?`)

// Figures in documents are those of the results, rounded. With -update, the documents receive them.
func TestFigures(t *testing.T) {
	t.Parallel()
	cited := map[string]bool{}
	for _, pattern := range []string{"../README.md", "*.md", "adr/*.md"} {
		documents, err := filepath.Glob(pattern)
		if err != nil || len(documents) == 0 {
			t.Fatalf("%s: %v", pattern, err)
		}
		for _, document := range documents {
			checkFigures(t, document, cited)
		}
	}
	if len(cited) < 5 {
		t.Errorf("documents have figures of %v only", cited)
	}
}

func checkFigures(t *testing.T, document string, cited map[string]bool) {
	t.Helper()
	text := read(t, document)
	if strings.Count(text, "<!-- RESULTS") != len(figures.FindAllString(text, -1)) {
		t.Errorf("%s has a comment about a figure that does not have the form %s", document, figures)
	}
	right := figures.ReplaceAllStringFunc(text, func(figure string) string {
		parts := figures.FindStringSubmatch(figure)
		cited[parts[2]] = true
		value, err := result(read(t, "../bench/"+parts[2]), strings.Split(parts[3], "; "), parts[4], strings.TrimSpace(parts[5]))
		if err != nil {
			t.Errorf("%s: %s: %v", document, figure, err)
			return figure
		}
		return round(value, parts[1]) + strings.TrimPrefix(figure, parts[1])
	})
	if right == text {
		return
	}
	if *update {
		if err := os.WriteFile(document, []byte(right), 0o644); err != nil {
			t.Error(err)
		}
		return
	}
	before, after := figures.FindAllString(text, -1), figures.FindAllString(right, -1)
	for i := range before {
		if before[i] != after[i] {
			t.Errorf("%s has %q where the results have %q", document, before[i], after[i])
		}
	}
}

var named = regexp.MustCompile("(?m)^Made by `.*` on .* at commit [0-9a-f]{7,40}[:.]")

// Results tell which program they were measured with.
func TestResultsNameTheCommit(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../bench/RESULTS*.md")
	if err != nil || len(files) == 0 {
		t.Fatal(err)
	}
	for _, file := range files {
		text := read(t, file)
		if made := strings.Count(text, "Made by"); made == 0 || made != len(named.FindAllString(text, -1)) {
			t.Errorf("%s does not name the commit that was measured", file)
		}
	}
}

func TestRound(t *testing.T) {
	t.Parallel()
	for _, example := range []struct {
		value    float64
		as, want string
	}{
		{6731.6, "6,700", "6,700"}, {6731.6, "6,731", "6,732"}, {100050, "100,000", "100,000"}, {0.876, "0.9", "0.9"}, {37.4, "40", "37"}, {0.04, "0.9", "0.04"}, {1234567, "999", "1,234,567"},
	} {
		if got := round(example.value, example.as); got != example.want {
			t.Errorf("%v is rounded to %s as %s is, and not to %s", example.value, got, example.as, example.want)
		}
	}
}

// result returns the first number of a cell, in a unit.
func result(results string, row []string, column, unit string) (float64, error) {
	at := -1
	for line := range strings.Lines(results) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "| "), " | ")
		switch {
		case strings.HasPrefix(line, "|--"):
		case len(cells) < 2:
			at = -1
		case at < 0:
			at = indexOf(cells, column)
		case at < len(cells) && len(row) < len(cells) && strings.Join(cells[:len(row)], ";") == strings.Join(row, ";"):
			return number(cells[at], unit)
		}
	}
	return 0, fmt.Errorf("the results have no such cell")
}

// indexOf returns the column with the title; what a title has in brackets at its end does not count.
func indexOf(titles []string, title string) int {
	for i, candidate := range titles {
		if short, _, _ := strings.Cut(candidate, " ("); candidate == title || short == title {
			return i
		}
	}
	return -1
}

var units = map[string]float64{"ns": 1e-9, "µs": 1e-6, "ms": 1e-3, "s": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}

// number returns the number that a cell begins with, in another unit if that is not empty.
func number(cell, unit string) (float64, error) {
	parts := regexp.MustCompile(`^([0-9.]+) ?(ns|µs|ms|s|KiB|MiB|GiB)?\b`).FindStringSubmatch(cell)
	if parts == nil {
		return 0, fmt.Errorf("%q does not begin with a number", cell)
	}
	value, err := strconv.ParseFloat(parts[1], 64)
	if unit != "" {
		value *= units[parts[2]] / units[unit]
	}
	return value, err
}

// round writes a value with as many places as another one. Zeros at the end of a whole number are taken for rounding,
// except that two digits count.
func round(value float64, as string) string {
	digits, fraction, _ := strings.Cut(strings.ReplaceAll(as, ",", ""), ".")
	place := -len(fraction)
	if place == 0 {
		place = min(len(digits)-len(strings.TrimRight(digits, "0")), max(0, len(digits)-2))
	}
	for math.Round(value/math.Pow10(place)) == 0 && value > 0 {
		place--
	}
	text := strconv.FormatFloat(math.Round(value/math.Pow10(place))*math.Pow10(place), 'f', max(0, -place), 64)
	for i := strings.Index(text+".", ".") - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
