package sheet

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/emersion/go-vcard"

	"contactbase/internal/contact"
	"contactbase/internal/contact/names"
)

// maxCard is the maximum size of a card in bytes, without the properties that an import does not read.
const maxCard = 64 << 10

// The first and the last property of a card.
const (
	beginProperty = "BEGIN"
	endProperty   = "END"
)

// appleKind is the kind of a card that iCloud exports as version 3.0.
const appleKind = "X-ADDRESSBOOKSERVER-KIND"

// idProperty has the id of a contact, and is the heading of the ids in an address book.
var idProperty = propertyOf(contact.ID)

// propertyOf returns the property that has a field of a contact.
func propertyOf(field string) string {
	switch field {
	case contact.Email:
		return vcard.FieldEmail
	case contact.Phone:
		return vcard.FieldTelephone
	case contact.ExternalID:
		return vcard.FieldUID
	case names.Name:
		return vcard.FieldFormattedName
	case names.Company:
		return vcard.FieldOrganization
	}
	return "X-CONTACTBASE-" + strings.ToUpper(field)
}

// isVCard reports whether a file that begins with head is an address book (vCard 2.1 to 4.0).
func isVCard(head []byte) bool {
	for _, mark := range byteOrderMarks {
		head = bytes.TrimPrefix(head, []byte(mark))
	}
	const begin = "BEGIN:VCARD"
	head = bytes.TrimSpace(bytes.ReplaceAll(head[:min(len(head), 4*len(begin))], []byte{0}, nil)) // zeros are in UTF-16
	return len(head) >= len(begin) && bytes.EqualFold(head[:len(begin)], []byte(begin))
}

// cardRows reads the cards of an address book as rows, below a row of headings.
type cardRows struct {
	in      *bufio.Reader
	row     int      // that was read last
	columns []string // nil before the row of headings
	ahead   string   // a line that was read, and belongs to the next card
}

func newCardRows(text io.Reader) *cardRows {
	return &cardRows{in: bufio.NewReaderSize(text, 64<<10)}
}

// Close implements io.Closer.
func (r *cardRows) Close() error { return nil }

// Read implements rowReader. The number of a row is that of its card.
func (r *cardRows) Read() (Row, error) {
	if r.columns == nil {
		r.columns = []string{idProperty}
		for _, field := range contact.Fields {
			r.columns = append(r.columns, field.Name)
		}
		return Row{Cells: slices.Clone(r.columns)}, nil
	}
	c, refused, err := r.card()
	for r.row++; err == nil && c.isGroup(); r.row++ {
		c, refused, err = r.card()
	}
	if err != nil {
		return Row{}, err
	}
	cells := []string{c.text(idProperty)}
	for _, column := range r.columns[1:] {
		cells = append(cells, protect(c.cell(column))) // from Reader.read
	}
	return Row{Number: r.row, Cells: cells, Refused: refused}, nil
}

// card reads the next card, and why it is refused, "" if it is not. The error is io.EOF after the last one.
func (r *cardRows) card() (c card, refused string, err error) {
	line, err := r.next()
	for err == nil && propertyIn(line) == endProperty { // of no card
		line, err = r.next()
	}
	if err != nil {
		return card{}, "", err
	}
	if propertyIn(line) != beginProperty {
		refused, r.ahead = "the card has no line BEGIN:VCARD: add it", line
	}
	var lines strings.Builder
	for {
		line, err := r.next()
		switch {
		case errors.Is(err, io.EOF) || err == nil && propertyIn(line) == beginProperty:
			r.ahead = line
			return card{}, "the card has no line END:VCARD: add it", nil
		case err != nil:
			return card{}, "", err
		case propertyIn(line) == endProperty && refused == "":
			return parseCard(lines.String())
		case propertyIn(line) == endProperty:
			return card{}, refused, nil
		case lines.Len()+len(line) > maxCard:
			refused = fmt.Sprintf("the card has more than %d KiB: shorten it", maxCard>>10)
		default:
			lines.WriteString(withNamedParameters(line) + "\n")
		}
	}
}

// next returns the next line with a property that an import reads.
func (r *cardRows) next() (string, error) {
	if line := r.ahead; line != "" {
		r.ahead = ""
		return line, nil
	}
	for {
		line, err := r.line()
		if err != nil && (!errors.Is(err, io.EOF) || line == "") {
			return "", err
		}
		if isRead(propertyIn(line)) {
			return line, nil
		}
	}
}

// propertyIn returns the name of the property in a line, in capitals and without its group.
func propertyIn(line string) string {
	name := line[:max(strings.IndexAny(line, ":;"), 0)]
	return strings.ToUpper(name[strings.LastIndexByte(name, '.')+1:])
}

// isRead reports whether an import reads a property. Photographs are large.
func isRead(name string) bool {
	switch name {
	case beginProperty, endProperty, vcard.FieldName, vcard.FieldProductID, vcard.FieldKind, appleKind, idProperty:
		return true
	}
	return slices.ContainsFunc(contact.Fields, func(field *contact.Field) bool { return propertyOf(field.Name) == name })
}

// line returns the next line with those that continue it. It is not longer than maxCard: the rest is cut off.
func (r *cardRows) line() (string, error) {
	var line []byte
	for {
		part, err := r.in.ReadSlice('\n')
		isWhole := !errors.Is(err, bufio.ErrBufferFull)
		line = append(line, part[:min(len(part), max(maxCard+1-len(line), 0))]...)
		if err != nil && isWhole {
			return string(line), err
		}
		if !isWhole {
			continue
		}
		line = bytes.TrimRight(line, "\r\n")
		next, _ := r.in.Peek(1)
		switch isSoft := isQuotedPrintable(line) && bytes.HasSuffix(line, []byte{'='}); {
		case isSoft:
			line = line[:len(line)-1]
		case len(next) > 0 && (next[0] == ' ' || next[0] == '\t'):
			_, _ = r.in.Discard(1)
		default:
			return string(line), nil
		}
	}
}

func isQuotedPrintable(line []byte) bool {
	params, _, _ := bytes.Cut(line, []byte{':'})
	return bytes.Contains(bytes.ToUpper(params), []byte(quotedPrintable))
}
