package sheet

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"mime/quotedprintable"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/emersion/go-vcard"
	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/transform"

	"contactbase/internal/contact"
	"contactbase/internal/contact/names"
)

const quotedPrintable = "QUOTED-PRINTABLE"

// productID marks the cards that an export writes. Their semicolons have no backslash.
const productID = "-//Contactbase//Contacts//EN"

// noName is the N of a contact without a name. Its FN, which every card must have, is the email address.
const noName = ";;;;"

// card is what an import reads of a card (vCard 2.1, RFC 2426 and RFC 6350).
type card struct{ vcard.Card }

// parseCard parses the properties between the first and the last line of a card, or returns why they cannot be read.
func parseCard(properties string) (parsed card, refused string, err error) {
	parsed.Card, err = vcard.NewDecoder(strings.NewReader("BEGIN:VCARD\n" + properties + "END:VCARD\n")).Decode()
	if err != nil {
		return card{}, fmt.Sprintf("the card is damaged (%s): export it again as vCard 3.0", strings.TrimPrefix(err.Error(), "vcard: ")), nil
	}
	for name, found := range parsed.Card {
		for _, property := range found {
			if why := decodeValue(property); why != "" {
				return card{}, fmt.Sprintf("the %s of the card %s: export it again as vCard 3.0", name, why), nil
			}
		}
	}
	return parsed, "", nil
}

var (
	quotedHead    = regexp.MustCompile(`^(?:[^:"]|"[^"]*")*:`)
	quotedText    = regexp.MustCompile(`"[^"]*"|"`)
	withoutQuotes = strings.NewReplacer(`"`, "", ":", "", ";", "", `\`, "")
)

// withNamedParameters returns the line of a property with a name for each parameter, and without quotation marks. Version 2.1 has unnamed types.
func withNamedParameters(line string) string {
	end := strings.IndexByte(line, ':') + 1
	head := line[:end]
	if strings.Contains(head, `"`) {
		end = max(end, len(quotedHead.FindString(line))) // no match: a quotation mark without the second one
		head = quotedText.ReplaceAllStringFunc(line[:end], withoutQuotes.Replace)
	}
	parts := strings.Split(head, ";")
	for i, part := range parts[1:] {
		if !strings.Contains(part, "=") {
			parts[i+1] = vcard.ParamType + "=" + part
		}
	}
	return strings.Join(parts, ";") + line[end:]
}

// decodeValue replaces a quoted-printable value with its text, or returns why it cannot be read.
func decodeValue(property *vcard.Field) (refused string) {
	if !property.Params.HasType(quotedPrintable) && !strings.EqualFold(property.Params.Get("ENCODING"), quotedPrintable) {
		return ""
	}
	raw, err := io.ReadAll(quotedprintable.NewReader(strings.NewReader(property.Value)))
	if err != nil {
		return "is not quoted-printable"
	}
	var charset transform.Transformer = mixed{}
	if name := property.Params.Get("CHARSET"); name != "" {
		switch known := charsetNamed(name); {
		case known != nil:
			charset = known.NewDecoder()
		case !slices.Contains([]string{"utf8", "usascii"}, names.Fold(name)):
			return fmt.Sprintf("is in the character set %s, which is not supported", Cut(name, maxShown))
		}
	}
	decoded, _, err := transform.Bytes(charset, raw)
	if err != nil {
		return "is not in the character set that it names"
	}
	property.Value = string(decoded)
	return ""
}

// charsetNamed returns the character set with that name if it has one byte per character, nil otherwise.
func charsetNamed(name string) encoding.Encoding {
	for _, known := range charmap.All {
		if names.Fold(fmt.Sprint(known)) == names.Fold(name) {
			return known
		}
	}
	return nil
}

// cell returns what the card has for a field. Several addresses or numbers become a list, with the preferred ones first.
func (c card) cell(field string) string {
	switch property := propertyOf(field); field {
	case names.Name:
		return c.name()
	case names.Company:
		return c.components(property)[0] // before the department
	case contact.Email, contact.Phone:
		return c.list(property)
	default:
		return c.text(property)
	}
}

func (c card) name() string {
	name := c.text(vcard.FieldFormattedName)
	if c.isOurs() && c.Value(vcard.FieldName) == noName {
		return ""
	}
	if name == "" {
		parts := append(c.components(vcard.FieldName), "", "", "") // family; given; additional
		name = names.Join([3]string{parts[1], parts[2], parts[0]})
	}
	return name
}

// isGroup reports whether the card only names a group, whose members have their own cards.
func (c card) isGroup() bool {
	if c.list(vcard.FieldEmail) != "" || c.list(vcard.FieldTelephone) != "" {
		return false
	}
	return strings.EqualFold(c.text(vcard.FieldKind), string(vcard.KindGroup)) || strings.EqualFold(c.text(appleKind), string(vcard.KindGroup))
}

func (c card) isOurs() bool { return c.Value(vcard.FieldProductID) == productID }

// remaining are the escapes that the decoder leaves.
var remaining = strings.NewReplacer(`\;`, ";", `\:`, ":", `\N`, "\n")

// plain returns the text of a value.
func (c card) plain(value string) string {
	if !c.isOurs() {
		value = remaining.Replace(value)
	}
	return strings.TrimSpace(value)
}

// text returns the text of the first property with that name, "" for none.
func (c card) text(name string) string { return c.plain(c.Value(name)) }

// components returns the texts of a value in parts, at least one.
func (c card) components(name string) (texts []string) {
	value := c.Value(name)
	if c.isOurs() {
		return []string{value}
	}
	start := 0
	for i := range len(value) {
		if value[i] == ';' && (i == 0 || value[i-1] != '\\') {
			texts = append(texts, c.plain(value[start:i]))
			start = i + 1
		}
	}
	return append(texts, c.plain(value[start:]))
}

// list returns the values of a property that a card can have several times, without the numbers of fax machines and pagers.
func (c card) list(name string) string {
	found := slices.DeleteFunc(slices.Clone(c.Card[name]), func(p *vcard.Field) bool {
		return (p.Params.HasType("fax") || p.Params.HasType("pager")) && !p.Params.HasType("voice") && !p.Params.HasType("cell")
	})
	slices.SortStableFunc(found, func(a, b *vcard.Field) int {
		return cmp.Or(cmp.Compare(preference(a), preference(b)), cmp.Compare(rank(a), rank(b)))
	})
	var values []string
	for _, p := range found {
		if value := c.plain(p.Value); value != "" {
			values = append(values, value)
		}
	}
	return strings.Join(values, listSeparators[0])
}

// preference orders properties: 1 is the most preferred, and properties without a preference come last.
func preference(p *vcard.Field) int {
	const least = 101
	if order, err := strconv.Atoi(p.Params.Get(vcard.ParamPreferred)); err == nil && order > 0 && order < least {
		return order
	}
	if p.Params.HasType("pref") {
		return 1
	}
	return least
}

// rank orders properties of the same preference, as for columns.
func rank(p *vcard.Field) int {
	switch {
	case p.Params.HasType(vcard.TypeWork):
		return names.Work
	case p.Params.HasType(vcard.TypeCell):
		return names.Mobile
	}
	return names.Unqualified
}

// cardWriter writes contacts as vCard 3.0, which all address books read.
type cardWriter struct{ out *bufio.Writer }

// WriteContact writes the card of a contact.
func (w cardWriter) WriteContact(c *contact.Contact) error {
	written := vcard.Card{}
	written.SetValue(vcard.FieldVersion, "3.0")
	written.SetValue(vcard.FieldProductID, productID)
	written.SetValue(idProperty, c.ID)
	written.SetName(&vcard.Name{GivenName: c.Name})
	written.SetValue(vcard.FieldFormattedName, c.Email)
	for _, field := range contact.Fields {
		if value := field.Value(c); value != "" {
			written.SetValue(propertyOf(field.Name), value)
		}
	}
	if err := vcard.NewEncoder(w.out).Encode(written); err != nil {
		return fmt.Errorf("writing the contact %s: %w", c.ID, err)
	}
	return nil
}

// Close completes the file.
func (w cardWriter) Close() error { return w.out.Flush() }
