package sheet

import (
	"bufio"
	"errors"
	"io"
	"strings"
	"unicode/utf8"
)

// newCSV returns a reader of CSV, and its separator. Its cells are separated by the character that a first line such
// as "sep=;" names, or by commas, semicolons, tabs or bars: see separatorOf.
func newCSV(text io.Reader, known func(heading string) bool) (*csvRows, Format, error) {
	decoded := bufio.NewReaderSize(text, maxRow)
	separator, err := separatorOf(decoded, known)
	if err != nil {
		return nil, 0, err
	}
	return &csvRows{in: decoded, separator: []byte(string(separator))}, Format(separator), nil
}

// separatorOf returns the separator of the cells, and skips a first line that names it. It is the one that splits one
// of the first lines into most known headings, if these are at least two, otherwise the one that the first line with
// a separator has most of, and a comma if a line before it is one known heading.
func separatorOf(r *bufio.Reader, known func(heading string) bool) (rune, error) {
	head, err := r.Peek(firstLine)
	if err != nil && !errors.Is(err, io.EOF) {
		return 0, err
	}
	line, _, _ := strings.Cut(string(head), "\n")
	if said, found := strings.CutPrefix(strings.TrimRight(line, "\r"), "sep="); found &&
		utf8.RuneCountInString(said) == 1 {
		_, err := r.Discard(min(len(line)+1, len(head)))
		separator, _ := utf8.DecodeRuneInString(said)
		return separator, err
	}
	lines := strings.FieldsFunc(string(head), func(c rune) bool { return c == '\n' || c == '\r' })
	best, most := ',', 1
	for _, line := range lines[:min(len(lines), headingRows)] {
		for _, separator := range separators {
			if count := knownCells(line, separator, known); count > most {
				best, most = separator, count
			}
		}
	}
	for _, line := range lines {
		if most > 1 || known(heading(strings.Trim(line, ` "`))) { // or there is one column
			break
		}
		best, most = mostFrequent(line)
	}
	return best, nil
}

// separators are those that a reader recognizes.
const separators = ",;\t|"

// knownCells returns how many cells of a line are known headings.
func knownCells(line string, separator rune, known func(heading string) bool) (count int) {
	cells := strings.Split(line, string(separator))
	for _, cell := range cells[:min(len(cells), maxColumns)] {
		if known(heading(strings.Trim(cell, ` "`))) {
			count++
		}
	}
	return count
}

// mostFrequent returns the separator that the line has most often outside of quotes, a comma if it has none, and how
// many parts it separates.
func mostFrequent(line string) (most rune, parts int) {
	counts, quoted := map[rune]int{}, false
	for _, c := range line {
		if c == '"' {
			quoted = !quoted
		} else if !quoted {
			counts[c]++
		}
	}
	most = ','
	for _, separator := range separators {
		if counts[separator] > counts[most] {
			most = separator
		}
	}
	return most, counts[most] + 1
}
