package sheet

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"contactbase/internal/charset"
)

const charsetParameter = "CHARSET"

// labelled reads vCards in which single lines name their character set, as those of version 2.1 do. Such a line may be
// in another one than the rest of the file, so its value becomes quoted-printable if it has bytes beyond ASCII.
type labelled struct {
	in  *bufio.Reader
	out []byte // that Read has not returned yet
}

func newLabelled(raw io.Reader) *labelled { return &labelled{in: bufio.NewReaderSize(raw, maxCard)} }

// Read implements io.Reader.
func (l *labelled) Read(p []byte) (int, error) {
	if len(l.out) == 0 {
		if err := l.next(); err != nil {
			return 0, err
		}
	}
	n := copy(p, l.out)
	l.out = l.out[n:]
	return n, nil
}

// next reads the next line, with those that continue it if it names its character set.
func (l *labelled) next() error {
	line, err := l.in.ReadSlice('\n')
	if len(line) == 0 || err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, bufio.ErrBufferFull) {
		return err
	}
	l.out = line
	if isContinuation(line) {
		return nil
	}
	head := line[:headLength(string(line))]
	name := labelIn(string(head))
	if name == "" {
		return nil
	}
	whole := bytes.Clone(line)
	head = whole[:len(head)]
	value := bytes.Clone(bytes.TrimRight(line[len(head):], "\r\n"))
	for next, _ := l.in.Peek(1); isContinuation(next); next, _ = l.in.Peek(1) {
		more, _ := l.in.ReadSlice('\n') // the next call has its error
		if len(whole) < maxCard {       // line cuts the rest off
			whole = append(whole, more...)
			value = append(value, bytes.TrimRight(more[1:], "\r\n")...)
		}
	}
	l.out = whole
	isASCII := !bytes.ContainsFunc(value, func(c rune) bool { return c >= utf8.RuneSelf || c == shift })
	if isASCII || strings.ContainsRune(charset.Result{Encoding: name}.Text(value), utf8.RuneError) {
		return nil // or in another one: see Reader.findEncoding
	}
	l.out = fmt.Appendf(nil, "%s;%s:", head[:len(head)-1], quotedPrintable)
	for _, b := range value {
		l.out = fmt.Appendf(l.out, "=%02X", b)
	}
	l.out = append(l.out, "\r\n"...)
	return nil
}

// shift begins the sequences of Japanese in ISO-2022-JP, which is ASCII.
const shift = 0x1b

// isContinuation reports whether a line continues the one before it.
func isContinuation(line []byte) bool { return len(line) > 0 && (line[0] == ' ' || line[0] == '\t') }

// labelIn returns the name of the encoding of a value, by what is before it: "" if that names none, an unknown one, or
// an encoding that makes the value ASCII.
func labelIn(head string) (name string) {
	parameters := strings.Split(strings.TrimSuffix(unquoted(head), ":"), ";")
	for _, parameter := range parameters[1:] {
		key, value, _ := strings.Cut(parameter, "=")
		switch {
		case strings.EqualFold(key, charsetParameter) && name == "":
			_, name, _ = charset.Named(value)
		case strings.EqualFold(parameter, quotedPrintable), strings.EqualFold(value, quotedPrintable):
			return ""
		}
	}
	return name
}
