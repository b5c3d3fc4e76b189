package charset

import (
	"bufio"
	"bytes"
	"io"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/transform"
)

// countOdd returns how many characters of a text are not those of people.
func countOdd(text string) (count int) {
	for _, c := range text {
		if c == utf8.RuneError || !unicode.IsPrint(c) && !unicode.IsSpace(c) && c != '\ufeff' {
			count++
		}
	}
	return count
}

// mark is the byte order mark as UTF-8.
const mark = "\ufeff"

// NewReader returns a reader of the text as UTF-8, without a byte order mark.
func (r Result) NewReader(text io.Reader) io.Reader {
	var decoder transform.Transformer = mixed{Result: r}
	if found, _, ok := Named(r.Encoding); ok && r.Encoding != UTF8 {
		decoder = found.NewDecoder()
	}
	decoded := bufio.NewReader(transform.NewReader(text, decoder))
	if head, _ := decoded.Peek(len(mark)); string(head) == mark {
		_, _ = decoded.Discard(len(mark)) // cannot fail: it is buffered
	}
	return decoded
}

// Text returns bytes in the encoding as text. What is not UTF-8 in a UTF-8 text is in the encoding of broken lines: all
// of it, or what is between characters of UTF-8. The beginning of a character that has been cut off is left out.
func (r Result) Text(raw []byte) string {
	if r.Encoding != UTF8 {
		return decode(r.Encoding, raw)
	}
	if utf8.Valid(raw) {
		return string(raw)
	}
	if !bytes.ContainsFunc(raw, func(c rune) bool { return isHigh(c) && c != utf8.RuneError }) {
		return decode(r.Broken, raw)
	}
	var text bytes.Buffer
	// a single byte may also be a small letter of the other encoding
	if cut := incomplete(raw); cut > 1 || cut == 1 && raw[len(raw)-1] < 0xe0 {
		raw = raw[:len(raw)-cut]
	}
	for len(raw) > 0 {
		c, size := utf8.DecodeRune(raw)
		if c == utf8.RuneError && size == 1 {
			text.WriteString(decode(r.Broken, raw[:1]))
		} else {
			text.Write(raw[:size])
		}
		raw = raw[size:]
	}
	return text.String()
}

// mixed decodes UTF-8 with broken lines, cell by cell.
type mixed struct {
	transform.NopResetter
	Result
}

// validLength returns how many bytes come before the first one that is not UTF-8, or that begins a character which is
// cut off.
func validLength(data []byte) (length int) {
	for length < len(data) {
		c, size := utf8.DecodeRune(data[length:])
		if c == utf8.RuneError && size == 1 {
			break
		}
		length += size
	}
	return length
}

// longestCell is how much of a cell is decoded at once, in bytes. A buffer of transform has room for it.
const longestCell = 512

// Transform implements transform.Transformer.
func (m mixed) Transform(dst, src []byte, atEOF bool) (written, read int, err error) {
	for read < len(src) {
		rest := src[read:]
		valid := validLength(rest)
		length := bytes.LastIndexFunc(rest[:valid], isBetweenCells) + 1
		if length == 0 {
			length = bytes.IndexFunc(rest, isBetweenCells)
		}
		switch {
		case valid > 0 && valid == len(rest)-incomplete(rest):
			length = valid
		case length < 0 && !atEOF && len(rest) < longestCell:
			return written, read, transform.ErrShortSrc
		case length < 0 || length > max(longestCell, valid):
			if length = min(len(rest), longestCell); length < len(rest) {
				length -= incomplete(rest[:length])
			}
		}
		text := m.Text(rest[:length])
		if len(dst)-written < len(text) {
			return written, read, transform.ErrShortDst
		}
		written += copy(dst[written:], text)
		read += length
	}
	return written, read, nil
}
