package sheet

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"

	"github.com/emersion/go-vcard"

	"contactbase/internal/charset"
	"contactbase/internal/contact"
)

// maxCard is the maximum size of a card in bytes, without the properties that an import does not read.
const maxCard = 64 << 10

// The first and the last property of a card, and their lines.
const (
	beginProperty = "BEGIN"
	endProperty   = "END"

	beginLine = beginProperty + ":VCARD\n"
	endLine   = endProperty + ":VCARD\n"
)

// appleKind is the kind of a card that iCloud exports as version 3.0.
const appleKind = "X-ADDRESSBOOKSERVER-KIND"

// idProperty has the id of a contact, and is the heading of the ids in an address book.
var idProperty = propertyOf(contact.ID)

// propertyOf returns the property that has the id or a field of a contact.
func propertyOf(name string) string {
	if field := contact.FieldNamed(name); field != nil && field.VCard != "" {
		return field.VCard
	}
	return ownProperty + strings.ToUpper(name)
}

// ownProperty begins the properties that only this program writes: the id and custom fields.
const ownProperty = "X-CONTACTBASE-"

// isVCard reports whether a file that begins with head is an address book (vCard 2.1 to 4.0).
func isVCard(head []byte) bool {
	for _, known := range marks {
		head = bytes.TrimPrefix(head, []byte(known.mark))
	}
	const begin = "BEGIN:VCARD"
	head = bytes.TrimSpace(bytes.ReplaceAll(head[:min(len(head), 4*len(begin))], []byte{0}, nil)) // zeros are in UTF-16
	return len(head) >= len(begin) && bytes.EqualFold(head[:len(begin)], []byte(begin))
}

// cardRows reads the cards of an address book as rows, below a row of headings.
type cardRows struct {
	in      *bufio.Reader
	parsed  *bufio.Reader // of the card, because a buffer for each is larger than most cards
	row     int           // that was read last
	columns []string      // nil before the row of headings
	custom  []string      // the custom fields, and the offered properties, that have columns
	country string        // that the file comes from, "" if unknown
	guessed string        // the encoding of quoted-printable values that do not name theirs, "" before the first one
	ahead   string        // a line that was read, and belongs to the next card
	coming  *string       // a line that was read, and begins the next property; nil for none
	isOld   bool          // whether the card is of version 2.1, where a line is folded before a space of its value
	large   []string      // the offered properties of the card that are left out
}

func newCardRows(text io.Reader) *cardRows {
	return &cardRows{in: bufio.NewReaderSize(text, 64<<10), parsed: bufio.NewReader(nil)}
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
		r.columns = append(r.columns, r.custom...)
		return Row{Cells: slices.Clone(r.columns)}, nil
	}
	r.large = nil
	c, refused, err := r.card()
	if err != nil {
		return Row{}, err
	}
	r.row++
	row := Row{Number: r.row, Cells: []string{c.text(idProperty)}, Refused: refused}
	for _, column := range r.columns[1:] {
		row.Cells = append(row.Cells, protect(c.cell(column))) // from Reader.read
	}
	if c.isGroup() {
		row.Skipped = "the card describes a group, not a contact"
	}
	if len(r.large) > 0 {
		row.Warning = strings.Join(r.large, ", ") + " left out: too long"
	}
	return row, nil
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
	var lines, offers strings.Builder
	lines.WriteString(beginLine)
	for {
		line, err := r.next()
		switch {
		case errors.Is(err, io.EOF) || err == nil && propertyIn(line) == beginProperty:
			r.ahead = line
			return card{}, "the card has no line END:VCARD: add it", nil
		case err != nil:
			return card{}, "", err
		case propertyIn(line) == endProperty && refused == "":
			lines.WriteString(offers.String() + endLine)
			r.parsed.Reset(strings.NewReader(lines.String()))
			return parseCard(r.parsed, r.guess)
		case propertyIn(line) == endProperty:
			return card{}, refused, nil
		case slices.Contains(offered, propertyIn(line)):
			if offers.Len()+len(line) > maxCard {
				r.large = append(r.large[:min(len(r.large), maxUnknown)], propertyIn(line))
				continue
			}
			offers.WriteString(withNamedParameters(line) + "\n")
		case lines.Len()+len(line) > maxCard:
			refused = fmt.Sprintf("the card has more than %d KiB: shorten it", maxCard>>10)
		default:
			lines.WriteString(withNamedParameters(line))
			lines.WriteByte('\n')
		}
	}
}

// guess returns the encoding of quoted-printable values that do not name theirs: that of the first one.
func (r *cardRows) guess(raw []byte) string {
	if r.guessed == "" {
		r.guessed, _ = charset.Guess([][]byte{raw}, r.country)
	}
	return r.guessed
}

// next returns the next line with a property that an import reads.
func (r *cardRows) next() (string, error) {
	if line := r.ahead; line != "" {
		r.ahead = ""
		return line, nil
	}
	for {
		line, err := r.property()
		if err != nil || isRead(propertyIn(line)) {
			return line, err
		}
	}
}

// minFolded is the length of a line in bytes from which a program may have broken it only because it was long.
const minFolded = 70

// property returns the next line, with the lines behind it that begin no property. These belong to its value, although
// they do not begin with a space: some programs write line breaks, and break long lines, as they are.
func (r *cardRows) property() (string, error) {
	whole, err := r.nextLine()
	if err != nil || !isProperty(whole) {
		return whole, err
	}
	var text strings.Builder
	text.WriteString(whole)
	for last := len(whole); ; {
		line, err := r.nextLine()
		if errors.Is(err, io.EOF) {
			return text.String(), nil
		}
		if err != nil {
			return "", err
		}
		if isProperty(line) {
			r.coming = &line
			return text.String(), nil
		}
		if line == "" || text.Len()+len(line) > maxCard {
			continue
		}
		if last < minFolded {
			text.WriteString(`\n`)
		}
		text.WriteString(line)
		last = len(line)
	}
}

// nextLine returns the next line. The error is io.EOF after the last one.
func (r *cardRows) nextLine() (string, error) {
	if r.coming != nil {
		line := *r.coming
		r.coming = nil
		return line, nil
	}
	line, err := r.line()
	if errors.Is(err, io.EOF) && line != "" {
		err = nil
	}
	return strings.TrimPrefix(line, mark), err // where files were joined
}

// isProperty reports whether a line begins a property: a name, perhaps with parameters, and a colon.
func isProperty(line string) bool {
	end := strings.IndexAny(line, ":;")
	const inNames = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._"
	return end > 0 && strings.Contains(line[end:], ":") && strings.Trim(line[:end], inNames) == ""
}

// propertyIn returns the name of the property in a line, in capitals and without its group.
func propertyIn(line string) string {
	name := line[:max(strings.IndexAny(line, ":;"), 0)]
	return strings.ToUpper(name[strings.LastIndexByte(name, '.')+1:])
}

// maxUnknown is how many properties that no standard has a warning names.
const maxUnknown = 10

// standard are the properties of vCard 2.1 to 4.0, and of its extensions.
var standard = strings.Fields("SOURCE KIND XML FN N NICKNAME PHOTO BDAY ANNIVERSARY GENDER ADR TEL EMAIL IMPP LANG " +
	"TZ GEO TITLE ROLE LOGO ORG MEMBER RELATED CATEGORIES NOTE PRODID REV SOUND UID CLIENTPIDMAP URL VERSION KEY " +
	"FBURL CALADRURI CALURI NAME PROFILE LABEL AGENT MAILER SORT-STRING CLASS BIRTHPLACE DEATHPLACE DEATHDATE " +
	"EXPERTISE HOBBY INTEREST " +
	"ORG-DIRECTORY CONTACT-URI CREATED GRAMGENDER LANGUAGE PRONOUNS SOCIALPROFILE JSPROP")

// offered are the properties that have columns where a file has them, for fields that an admin has added.
var offered = strings.Fields("BDAY ANNIVERSARY GENDER ADR URL TITLE ROLE CATEGORIES NOTE")

// cardSurvey is what an address book has, apart from the properties that each import reads.
type cardSurvey struct {
	hasOwn  bool     // whether this program has written some of its cards
	offered []string // in their order
	unknown []string // the properties that no standard has, a few
}

// surveyCards reads an address book to its end.
func surveyCards(text io.Reader) (found cardSurvey, err error) {
	has, rows := map[string]bool{}, newCardRows(text)
	for {
		line, err := rows.property()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return found, err
		}
		switch name := propertyIn(line); {
		case strings.HasPrefix(name, ownProperty):
			found.hasOwn = true
		case slices.Contains(offered, name):
			has[name] = true
		case name == "" || len(found.unknown) == maxUnknown || strings.HasPrefix(name, "X-") || isRead(name) ||
			slices.Contains(standard, name):
		default:
			called := Cut(line[:strings.IndexAny(line, ":;")], maxShown)
			if !slices.Contains(found.unknown, called) {
				found.unknown = append(found.unknown, called)
			}
		}
	}
	found.offered = slices.DeleteFunc(slices.Clone(offered), func(name string) bool { return !has[name] })
	return found, nil
}

// warnings returns the warning about properties that no standard has, if any.
func (s *cardSurvey) warnings() []string {
	if len(s.unknown) == 0 {
		return nil
	}
	return []string{"properties that no vCard standard defines are left out: " + strings.Join(s.unknown, ", ")}
}

// isRead reports whether an import reads a property. Photographs are large.
func isRead(name string) bool {
	return readProperties()[name] || slices.Contains(offered, name) || strings.HasPrefix(name, ownProperty)
}

var readProperties = sync.OnceValue(func() map[string]bool {
	read := map[string]bool{beginProperty: true, endProperty: true, vcard.FieldName: true, vcard.FieldProductID: true,
		vcard.FieldKind: true, appleKind: true, vcard.FieldNickname: true}
	for _, field := range contact.Fields {
		read[propertyOf(field.Name)] = true
	}
	return read
})

// line returns the next line with those that continue it. It is not longer than maxCard: the rest is cut off.
func (r *cardRows) line() (string, error) {
	var line []byte
	var known parameters
	var folds []int
	for end := byte(0); ; {
		part, err := r.in.ReadSlice('\n')
		isWhole := !errors.Is(err, bufio.ErrBufferFull)
		line = append(line, part[:min(len(part), max(maxCard+1-len(line), 0))]...)
		if text := bytes.TrimRight(part, "\r\n"); len(text) > 0 {
			end = text[len(text)-1]
		}
		if err != nil && isWhole {
			return unfold(line, folds), err
		}
		if !isWhole {
			continue
		}
		line = bytes.TrimRight(line, "\r\n")
		known.read(line)
		next, _ := r.in.Peek(1)
		switch isSoft := known.isQuotedPrintable && end == '='; {
		case isSoft:
			line = bytes.TrimSuffix(line, []byte{'='})
			if len(next) > 0 && next[0] == ' ' {
				folds = append(folds, len(line))
			}
		case len(next) > 0 && (next[0] == ' ' || next[0] == '\t'):
			if !r.isOld {
				_, _ = r.in.Discard(1)
			}
		default:
			r.readVersion(line)
			return unfold(line, folds), nil
		}
		end = 0
	}
}

// readVersion notes the version of the card, if the line has it or begins a card.
func (r *cardRows) readVersion(line []byte) {
	name, value, _ := bytes.Cut(line, []byte{':'})
	switch string(bytes.ToUpper(name)) {
	case beginProperty:
		r.isOld = false
	case vcard.FieldVersion:
		r.isOld = string(bytes.TrimSpace(value)) == "2.1"
	}
}

// unfold returns a quoted-printable line without the spaces behind soft breaks, if these fold it as well, as telephones
// of Samsung do. They do if other spaces are encoded, or there are none.
func unfold(line []byte, folds []int) string {
	if len(folds) == 0 || !bytes.Contains(line, []byte("=20")) && bytes.Count(line, []byte{' '}) > len(folds) {
		return string(line)
	}
	var text strings.Builder
	begin := 0
	for _, fold := range folds {
		if fold < len(line) && fold >= begin {
			text.Write(line[begin:fold])
			begin = fold + 1
		}
	}
	text.Write(line[begin:])
	return text.String()
}

// parameters is what is known of the parameters in a line that becomes longer.
type parameters struct {
	isQuotedPrintable bool
	isAll             bool // whether the value has begun
	length            int  // of the line that was read
}

// read reads what the line has more than before: reading all of it after each part would be quadratic.
func (p *parameters) read(line []byte) {
	if p.isAll {
		return
	}
	begin := min(max(p.length-len(quotedPrintable), 0), len(line))
	params, _, found := bytes.Cut(line[begin:], []byte{':'})
	p.isQuotedPrintable = p.isQuotedPrintable || bytes.Contains(bytes.ToUpper(params), []byte(quotedPrintable))
	p.isAll, p.length = found, len(line)
}
