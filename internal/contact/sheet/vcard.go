package sheet

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"mime/quotedprintable"
	"slices"
	"strings"

	"github.com/emersion/go-vcard"
	"golang.org/x/text/transform"

	"contactbase/internal/contact"
)

// maxCard is the maximum size of a card in bytes, without the properties that an import does not read.
const maxCard = 64 << 10

// cardColumns are the headings of an address book.
var cardColumns = []string{"name", "email", "phone", "company", "externalId"}

// productID marks the cards that an export writes: their ORG is a whole company.
const productID = "-//Contactbase//Contacts//EN"

// isVCard reports whether a file that begins with head is an address book (vCard 2.1 to 4.0).
func isVCard(head []byte) bool {
	head = bytes.TrimSpace(bytes.TrimPrefix(head, []byte(utf8Mark)))
	const begin = "BEGIN:VCARD"
	return len(head) >= len(begin) && bytes.EqualFold(head[:len(begin)], []byte(begin))
}

// cardRows reads the cards of an address book as rows, below a row of headings.
type cardRows struct {
	cards *vcard.Decoder
	row   int // that was read last
	begun bool
}

func newCardRows(raw io.Reader) *cardRows {
	lines := &cardLines{in: bufio.NewReaderSize(transform.NewReader(raw, mixed{}), 64<<10)}
	return &cardRows{cards: vcard.NewDecoder(lines)}
}

// Close implements io.Closer.
func (r *cardRows) Close() error { return nil }

// Read implements rowReader. The number of a row is that of its card.
func (r *cardRows) Read() (Row, error) {
	if !r.begun {
		r.begun = true
		return Row{Cells: slices.Clone(cardColumns)}, nil
	}
	card, err := r.cards.Decode()
	if card == nil && err != nil {
		return Row{}, err
	}
	r.row++
	switch {
	case card[tooLarge] != nil:
		return Row{Number: r.row, Refused: fmt.Sprintf("the card has more than %d KiB", maxCard>>10)}, nil
	case err != nil:
		return Row{Number: r.row, Refused: "the card is damaged: " + strings.TrimPrefix(err.Error(), "vcard: ")}, nil
	}
	return Row{Number: r.row, Cells: cellsOf(card)}, nil
}

// cardLines are the lines of an address book that count, each in one piece, so that the decoder needs little memory for a photograph.
type cardLines struct {
	in   *bufio.Reader
	rest []byte // that is not read yet
	size int    // of the card
}

// tooLarge is the property of a card of which the end was left out.
const tooLarge = "X-TOO-LARGE"

// Read implements io.Reader.
func (l *cardLines) Read(p []byte) (int, error) {
	for len(l.rest) == 0 {
		line, err := l.line()
		if err != nil && (!errors.Is(err, io.EOF) || line == "") {
			return 0, err
		}
		name, isRead := property(line)
		if !isRead {
			continue
		}
		if name == "BEGIN" {
			l.size = 0
		}
		l.size += len(line)
		switch {
		case l.size <= maxCard || name == "END":
			l.rest = append([]byte(line), '\n')
		case l.size-len(line) <= maxCard:
			l.rest = []byte(tooLarge + ":1\n")
		}
	}
	n := copy(p, l.rest)
	l.rest = l.rest[n:]
	return n, nil
}

// read are the properties that an import reads.
var read = []string{"BEGIN", "END", "PRODID", "FN", "N", "EMAIL", "TEL", "ORG", "UID"}

// property returns the name of the property in a line, and whether an import reads it.
func property(line string) (name string, isRead bool) {
	name = line[:max(strings.IndexAny(line, ":;"), 0)]
	name = strings.ToUpper(name[strings.LastIndexByte(name, '.')+1:]) // behind its group
	return name, slices.Contains(read, name)
}

// line returns the next line with those that continue it. It is not longer than maxCard: the rest is cut off.
func (l *cardLines) line() (string, error) {
	var line []byte
	for {
		part, err := l.in.ReadSlice('\n')
		isWhole := !errors.Is(err, bufio.ErrBufferFull)
		line = append(line, part[:min(len(part), max(maxCard-len(line), 0))]...)
		if err != nil && isWhole {
			return string(line), err
		}
		if !isWhole {
			continue
		}
		line = bytes.TrimRight(line, "\r\n")
		next, _ := l.in.Peek(1)
		switch isSoft := isQuotedPrintable(line) && bytes.HasSuffix(line, []byte{'='}); {
		case isSoft:
			line = line[:len(line)-1]
		case len(next) > 0 && (next[0] == ' ' || next[0] == '\t'):
			_, _ = l.in.Discard(1)
		default:
			return string(line), nil
		}
	}
}

func isQuotedPrintable(line []byte) bool {
	params, _, _ := bytes.Cut(line, []byte{':'})
	return bytes.Contains(bytes.ToUpper(params), []byte("QUOTED-PRINTABLE"))
}

// cellsOf returns the cells of a card. Several addresses or numbers are a list, those first that people prefer.
func cellsOf(card vcard.Card) []string {
	name, company := text(card.Get(vcard.FieldFormattedName)), text(card.Get(vcard.FieldOrganization))
	if card.Value(vcard.FieldProductID) != productID {
		company, _, _ = strings.Cut(company, ";") // before the department
	} else if name == card.Value(vcard.FieldEmail) {
		name = "" // see cardWriter
	}
	if parts := strings.Split(text(card.Get(vcard.FieldName)), ";"); name == "" { // family; given; additional
		parts = append(parts, "", "", "")
		name = strings.Join(strings.Fields(parts[1]+" "+parts[2]+" "+parts[0]), " ")
	}
	return []string{name, joined(card[vcard.FieldEmail]), joined(card[vcard.FieldTelephone]), company, text(card.Get(vcard.FieldUID))}
}

// text returns the value of a property, "" for none.
func text(field *vcard.Field) string {
	if field == nil {
		return ""
	}
	value := field.Value
	if strings.EqualFold(field.Params.Get("ENCODING"), "QUOTED-PRINTABLE") || field.Params["QUOTED-PRINTABLE"] != nil {
		if decoded, err := io.ReadAll(quotedprintable.NewReader(strings.NewReader(value))); err == nil {
			value = string(decoded)
		}
	}
	return strings.TrimSpace(strings.ReplaceAll(value, `\;`, ";"))
}

// joined returns the values of a property that a card has several times.
func joined(fields []*vcard.Field) string {
	fields = slices.Clone(fields)
	slices.SortStableFunc(fields, func(a, b *vcard.Field) int { return cmp.Compare(preference(a), preference(b)) })
	var values []string
	for _, field := range fields {
		if value := text(field); value != "" {
			values = append(values, value)
		}
	}
	return strings.Join(values, listSeparators[0])
}

// preference orders the values of a property: preferred ones, those at work, others, mobile ones.
func preference(field *vcard.Field) int {
	switch {
	case field.Params.HasType("pref") || field.Params.Get("PREF") != "":
		return 0
	case field.Params.HasType(vcard.TypeWork):
		return 1
	case field.Params.HasType(vcard.TypeCell):
		return 3
	}
	return 2
}

// cardWriter writes contacts as vCard 3.0, which all address books read.
type cardWriter struct{ out *bufio.Writer }

// WriteContact writes the card of a contact.
func (w cardWriter) WriteContact(c *contact.Contact) error {
	card := vcard.Card{}
	card.SetValue(vcard.FieldVersion, "3.0")
	card.SetValue(vcard.FieldProductID, productID)
	card.SetValue(vcard.FieldFormattedName, cmp.Or(c.Name, c.Email))
	card.SetName(&vcard.Name{GivenName: c.Name})
	for name, value := range map[string]string{
		vcard.FieldEmail: c.Email, vcard.FieldTelephone: c.Phone, vcard.FieldOrganization: c.Company, vcard.FieldUID: c.ExternalID,
	} {
		if value != "" {
			card.SetValue(name, value)
		}
	}
	if err := vcard.NewEncoder(w.out).Encode(card); err != nil {
		return fmt.Errorf("writing the contact %s: %w", c.ID, err)
	}
	return nil
}

// Close completes the file.
func (w cardWriter) Close() error { return w.out.Flush() }
