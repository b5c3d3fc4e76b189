package xlsx

import (
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"regexp"
	"strconv"
	"strings"
)

var (
	errPart = fmt.Errorf(
		"the workbook is larger than %d MiB when unpacked: split it, or save the sheet as CSV", maxPart>>20,
	)
	errText  = fmt.Errorf("a cell of the workbook has more than %d KiB: shorten it", maxText>>10)
	errFiles = errors.New("the workbook contains too many files: copy the sheet into a new workbook")

	errRepeated = errors.New(
		"the cells of the workbook repeat long texts: shorten those that many rows have, or split the workbook",
	)

	errFormats = fmt.Errorf(
		"the workbook has more than %d formats of cells: copy the values into a new workbook", maxFormats,
	)
)

// damaged returns the error of a part that is not as the standard says. It returns an error of a limit or of
// the disk unchanged.
func damaged(err error) error {
	if errors.Is(err, errPart) || errors.Is(err, errText) ||
		errors.Is(err, errFiles) || errors.Is(err, errEnded) || isDisk(err) {
		return err
	}
	return fmt.Errorf("the workbook is damaged: open it in your spreadsheet program, "+
		"save it under another name, then import that file (%w)", err)
}

func isDisk(err error) bool {
	var disk *fs.PathError
	return errors.As(err, &disk)
}

// errEnded means that the context of the reader has ended.
var errEnded = errors.New("reading was cancelled")

// limits reads a part up to a number of bytes, and up to a number of bytes per token, until ctx ends.
type limits struct {
	io.Reader
	ctx         context.Context
	left, token int64
}

func (l *limits) Read(p []byte) (int, error) {
	if err := l.ctx.Err(); err != nil {
		return 0, fmt.Errorf("%w: %w", errEnded, err)
	}
	n, err := l.Reader.Read(p)
	l.left -= int64(n)
	l.token -= int64(n)
	switch {
	case l.left < 0:
		return n, errPart
	case l.token < 0:
		return n, errText
	}
	return n, err
}

// parser reads the tokens of a part. It does not check that elements are nested correctly, for which it would have
// to remember them.
type parser struct {
	xml    *xml.Decoder
	limits *limits
	part   io.Closer
}

// next returns the next token. At the end of the part it returns io.EOF if the part is complete.
func (p *parser) next() (xml.Token, error) {
	p.limits.token = maxText
	token, err := p.xml.RawToken()
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, damaged(err)
	}
	return token, err
}

// end reads the rest of the part, which checks its sum, and returns io.EOF.
func (p *parser) end() error {
	p.limits.token = math.MaxInt64
	if _, err := io.Copy(io.Discard, p.limits); err != nil {
		return damaged(err)
	}
	return io.EOF
}

// content is what an element contains: the text of all v and t elements, and whether there is a formula.
type content struct {
	text    string
	formula bool
}

// content reads an element up to its end. It leaves out phonetic guides.
func (p *parser) content(element string) (c content, err error) {
	var text strings.Builder
	isText, isPhonetic := false, false
	for {
		token, err := p.next()
		if err != nil {
			return c, unexpected(err)
		}
		switch t := token.(type) {
		case xml.StartElement:
			switch t.Name.Local {
			case "v", "t":
				isText = !isPhonetic
			case "f":
				c.formula = true
			case "rPh":
				isPhonetic = true
			}
		case xml.CharData:
			if isText {
				text.Write(t)
			}
			if text.Len() > maxText {
				return c, errText
			}
		case xml.EndElement:
			switch t.Name.Local {
			case "v", "t":
				isText = false
			case "rPh":
				isPhonetic = false
			case element:
				c.text = text.String()
				return c, nil
			}
		}
	}
}

// unexpected returns the error of a part that ends too early.
func unexpected(err error) error {
	if errors.Is(err, io.EOF) {
		return damaged(io.ErrUnexpectedEOF)
	}
	return err
}

// attribute returns the value of an attribute, "" if there is none.
func attribute(element xml.StartElement, name string) string {
	for _, attribute := range element.Attr {
		if attribute.Name.Local == name {
			return attribute.Value
		}
	}
	return ""
}

// A workbook has characters that XML cannot have as _x and four hexadecimal digits and _ (ECMA-376 part 1,
// 22.9.2.19, ST_Xstring).
var (
	special = regexp.MustCompile(`_x|[\x00-\x08\x0B-\x1F\x{FFFE}\x{FFFF}]`)
	escaped = regexp.MustCompile(`_x[0-9A-Fa-f]{4}_`)
)

func escape(text string) string {
	return special.ReplaceAllStringFunc(text, func(found string) string {
		if found == "_x" {
			return "_x005F_x"
		}
		return fmt.Sprintf("_x%04X_", []rune(found)[0])
	})
}

func unescape(text string) string {
	return escaped.ReplaceAllStringFunc(text, func(found string) string {
		code, err := strconv.ParseUint(found[2:6], 16, 16)
		if err != nil {
			return found
		}
		return string(rune(code))
	})
}
