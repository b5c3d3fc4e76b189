package charset

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"unicode/utf8"
)

const (
	// pieceSize is how much of a text is surveyed at once.
	pieceSize = 64 << 10

	// maxCells is the maximum size of the cells that a survey keeps, and maxCell that of each, in bytes.
	maxCells, maxCell = 32 << 10, 200

	// brokenIn is in how many lines of a UTF-8 text one may be broken.
	brokenIn = 20
)

// Survey is what is known of the encoding of a text.
type Survey struct {
	// The numbers of lines that are not blank, of those that are not UTF-8, and the first of these.
	Lines, Broken, FirstBroken int

	number           int // of the line
	isText, isBroken bool
	isShifted        bool     // whether it has a sequence that begins Japanese in ISO-2022-JP
	cells            [][]byte // distinct ones that are not UTF-8
	seen             map[string]bool
	size             int
}

// Read surveys a text.
func (s *Survey) Read(text io.Reader) error {
	s.seen = map[string]bool{}
	buffer, length := make([]byte, pieceSize), 0
	for {
		read, err := text.Read(buffer[length:])
		length += read
		atEnd := errors.Is(err, io.EOF)
		rest := s.lines(buffer[:length])
		if atEnd || len(rest) == len(buffer) {
			end := len(rest)
			if !atEnd {
				end -= incomplete(rest)
			}
			s.piece(rest[:end])
			rest = rest[end:]
		}
		length = copy(buffer, rest)
		if atEnd {
			s.endLine()
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// lines surveys the lines that end in the data, and returns what is behind them.
func (s *Survey) lines(data []byte) []byte {
	for {
		end := bytes.IndexAny(data, "\r\n")
		if end < 0 {
			return data
		}
		s.piece(data[:end])
		if data[end] == '\n' || len(data) > end+1 && data[end+1] != '\n' {
			s.endLine()
		}
		data = data[end+1:]
	}
}

func (s *Survey) endLine() {
	s.number++
	if s.isText {
		s.Lines++
	}
	if s.isBroken {
		if s.Broken++; s.Broken == 1 {
			s.FirstBroken = s.number
		}
	}
	s.isText, s.isBroken = false, false
}

// piece surveys a line, or a part of a long one.
func (s *Survey) piece(data []byte) {
	s.isText = s.isText || len(data) > 0
	s.isShifted = s.isShifted || bytes.Contains(data, []byte("\x1b$"))
	if utf8.Valid(data) {
		return
	}
	s.isBroken = true
	for _, cell := range bytes.FieldsFunc(data, isBetweenCells) {
		if !utf8.Valid(cell) && s.size < maxCells {
			s.keep(cell)
		}
	}
}

// isBetweenCells reports whether a character separates cells in CSV or vCards. It is not a part of any other character
// in any encoding.
func isBetweenCells(c rune) bool {
	return c < '0' && c != ' ' && c != '\'' && c != '-' && c != '.' || c == ':' || c == ';'
}

// keep keeps a cell, or the beginning of a long one.
func (s *Survey) keep(cell []byte) {
	if len(cell) > maxCell {
		cell = cell[:bytes.LastIndexByte(cell[:maxCell], ' ')+1]
	}
	cell = bytes.TrimSpace(cell)
	if len(cell) == 0 || s.seen[string(cell)] {
		return
	}
	s.seen[string(cell)] = true
	s.cells = append(s.cells, slices.Clone(cell))
	s.size += len(cell)
}

// incomplete returns the length of a UTF-8 character at the end of data whose last bytes are missing.
func incomplete(data []byte) int {
	for length := 1; length < min(utf8.UTFMax, len(data)+1); length++ {
		if b := data[len(data)-length]; utf8.RuneStart(b) {
			if b >= utf8.RuneSelf && !utf8.FullRune(data[len(data)-length:]) {
				return length
			}
			return 0
		}
	}
	return 0
}

// Result is the encoding of a text.
type Result struct {
	Encoding string

	// Of a UTF-8 text with broken lines, the encoding by which these are read.
	Broken string

	// The candidates, the most likely one first, if the encoding is not certain.
	Undecided []Candidate
}

// Result returns the encoding of the text, which comes from the country with that code, "" if unknown. It is UTF-8
// if that is said, or if at most one line in twenty is broken.
func (s *Survey) Result(country string, isUTF8 bool) Result {
	switch {
	case len(s.cells) > 0:
	case s.isShifted && !isUTF8:
		return Result{Encoding: "iso-2022-jp"}
	default:
		return Result{Encoding: UTF8, Broken: western}
	}
	if !isUTF8 && s.Broken*brokenIn > s.Lines {
		name, undecided := Guess(s.cells, country)
		return Result{Encoding: name, Undecided: undecided}
	}
	for i, cell := range s.cells {
		s.cells[i] = withoutUTF8(cell)
	}
	name, undecided := Guess(s.cells, country)
	if undecided != nil { // they are few
		name = append(usual[country], western)[0]
	}
	return Result{Encoding: UTF8, Broken: name}
}

// withoutUTF8 returns a cell without its characters of UTF-8 beyond ASCII.
func withoutUTF8(cell []byte) (rest []byte) {
	for len(cell) > 0 {
		_, size := utf8.DecodeRune(cell)
		if size == 1 {
			rest = append(rest, cell[0])
		}
		cell = cell[size:]
	}
	return rest
}

// UTF16 returns the encoding of a text that begins with head, which has zero bytes, "" if it is not UTF-16.
func UTF16(head []byte) (name string) {
	fewest := len(head) / 100
	for _, candidate := range []string{UTF16LE, UTF16BE} {
		if odd := countOdd(decode(candidate, head[:len(head)/2*2])); odd <= fewest {
			name, fewest = candidate, odd-1
		}
	}
	return name
}
