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
	"unicode/utf8"

	"github.com/emersion/go-vcard"
	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/charset"
	"contactbase/internal/contact"
	"contactbase/internal/contact/names"
)

const quotedPrintable = "QUOTED-PRINTABLE"

// productID marks the cards that an export writes, and oldProductID those of 1.0, whose semicolons have no backslash.
const (
	productID    = "-//Contactbase//Contacts 2//EN"
	oldProductID = "-//Contactbase//Contacts//EN"
)

// noUID begins the UID of a contact without an external id: every card should have one.
const noUID = "urn:contactbase:"

// noName is the N of a contact without a name. Its FN, which every card must have, is the email address.
const noName = ";;;;"

// card is what an import reads of a card (vCard 2.1, RFC 2426 and RFC 6350).
type card struct{ vcard.Card }

// parseCard parses a card, whose buffer the decoder takes as its own, or returns why it cannot be read.
// guess returns the encoding of a value that does not name it.
func parseCard(
	properties *bufio.Reader, guess func(raw []byte) string,
) (parsed card, refused string, err error) {
	parsed.Card, err = vcard.NewDecoder(properties).Decode()
	if err != nil {
		return card{}, fmt.Sprintf("the card is damaged (%s): export it again as vCard 3.0",
			strings.TrimPrefix(err.Error(), "vcard: ")), nil
	}
	for name, found := range parsed.Card {
		for _, property := range found {
			if why := decodeValue(property, guess); why != "" {
				return card{}, fmt.Sprintf("the %s of the card %s: export it again as vCard 3.0", name, why), nil
			}
		}
	}
	return parsed, "", nil
}

// withoutDelimiters removes what would end a parameter.
var withoutDelimiters = strings.NewReplacer(":", "", ";", "", `\`, "")

// withNamedParameters returns the line of a property with a name for each parameter, and without quotation marks.
// Version 2.1 has unnamed types. It doubles the backslashes of the value, so that the library leaves its escapes, of
// which it knows only some.
func withNamedParameters(line string) string {
	end := headLength(line)
	parts := strings.Split(unquoted(line[:end]), ";")
	for i, part := range parts[1:] {
		if !strings.Contains(part, "=") {
			parts[i+1] = vcard.ParamType + "=" + part
		}
	}
	return strings.Join(parts, ";") + strings.ReplaceAll(line[end:], `\`, `\\`)
}

// headLength returns the length of what is before the value of a property, with the colon that ends it: the first one
// outside of quotation marks, or the first one if a quotation mark has no second one.
func headLength(line string) int {
	isQuoted := false
	for i := range len(line) {
		switch {
		case line[i] == '"':
			isQuoted = !isQuoted
		case line[i] == ':' && !isQuoted:
			return i + 1
		}
	}
	return strings.IndexByte(line, ':') + 1
}

// unquoted returns what is before a value without quotation marks, and without delimiters between two of them.
func unquoted(head string) string {
	var text strings.Builder
	for {
		before, rest, found := strings.Cut(head, `"`)
		text.WriteString(before)
		if !found {
			return text.String()
		}
		if quoted, after, isClosed := strings.Cut(rest, `"`); isClosed {
			text.WriteString(withoutDelimiters.Replace(quoted))
			rest = after
		}
		head = rest
	}
}

// decodeValue replaces a quoted-printable value with its text, or returns why it cannot be read.
func decodeValue(property *vcard.Field, guess func(raw []byte) string) (refused string) {
	if !property.Params.HasType(quotedPrintable) && !strings.EqualFold(property.Params.Get("ENCODING"), quotedPrintable) {
		return ""
	}
	raw, err := io.ReadAll(quotedprintable.NewReader(strings.NewReader(property.Value)))
	if err != nil {
		return "is not quoted-printable"
	}
	encoding, broken := charset.UTF8, ""
	if !utf8.Valid(raw) {
		broken = guess(raw)
	}
	if label := property.Params.Get(charsetParameter); label != "" {
		var ok bool
		if _, encoding, ok = charset.Named(label); !ok {
			return fmt.Sprintf("is in the character set %s, which is not supported", Cut(label, maxShown))
		}
	}
	property.Value = charset.Result{Encoding: encoding, Broken: broken}.Text(raw)
	if strings.ContainsRune(property.Value, utf8.RuneError) {
		return "is not in the character set that it names"
	}
	return ""
}

// cell returns what the card has for a field. Several addresses or numbers become a list, with the
// preferred ones first.
func (c card) cell(field string) string {
	switch property := propertyOf(field); field {
	case names.Name:
		return c.name()
	case names.Company:
		return c.components(property)[0] // before the department
	case contact.Email, contact.Phone:
		return c.list(property)
	case contact.ExternalID:
		if uid := c.text(property); !strings.HasPrefix(uid, noUID) {
			return uid
		}
		return ""
	default:
		if slices.Contains(offered, field) {
			return c.offer(field)
		}
		if contact.FieldNamed(field) == nil { // white space can be a part of its value
			return c.unescape(c.Value(property))
		}
		return c.text(property)
	}
}

// offer returns what the card has in an offered property.
func (c card) offer(name string) string {
	switch name {
	case "ADR":
		parts := slices.DeleteFunc(c.components(name), func(part string) bool { return part == "" })
		return strings.Join(parts, ", ")
	case "BDAY", "ANNIVERSARY":
		return dayOf(c.text(name))
	}
	return c.plain(c.PreferredValue(name))
}

// noYear is the year of a birthday without one, which address books of Apple write.
const noYear = "1604"

// basicDay finds a day without separators (ISO 8601, as vCard 4.0 has it), perhaps with a time behind it.
var basicDay = regexp.MustCompile(`^(\d{4})(\d{2})(\d{2})(?:T.*)?$`)

// dayOf returns a day with separators, and one without a year as --10-04, which is not a date.
func dayOf(text string) string {
	text = basicDay.ReplaceAllString(text, "$1-$2-$3")
	if day, found := strings.CutPrefix(text, noYear+"-"); found {
		return "--" + day
	}
	return text
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
	if name == "" {
		name = c.parts(vcard.FieldNickname, ',')[0]
	}
	return name
}

// isGroup reports whether the card only names a group, whose members have their own cards.
func (c card) isGroup() bool {
	const group = string(vcard.KindGroup)
	return (strings.EqualFold(c.text(vcard.FieldKind), group) || strings.EqualFold(c.text(appleKind), group)) &&
		c.list(vcard.FieldEmail) == "" && c.list(vcard.FieldTelephone) == ""
}

func (c card) isOurs() bool { return c.isOld() || c.Value(vcard.FieldProductID) == productID }

func (c card) isOld() bool { return c.Value(vcard.FieldProductID) == oldProductID }

// plain returns the text of a value.
func (c card) plain(value string) string { return strings.TrimSpace(c.unescape(value)) }

// unescape returns the text of a value with its white space.
func (c card) unescape(value string) string {
	var text strings.Builder
	for {
		before, rest, found := strings.Cut(value, `\`)
		text.WriteString(before)
		if !found || rest == "" {
			text.WriteString(value[len(before):])
			return text.String()
		}
		switch next := rest[0]; {
		case next == 'n' || next == 'N':
			text.WriteByte('\n')
		case next == 'r' && c.isOurs():
			text.WriteByte('\r')
		case strings.IndexByte(`\,;:`, next) >= 0:
			text.WriteByte(next)
		default:
			text.WriteString(`\` + rest[:1])
		}
		value = rest[1:]
	}
}

// escaper writes the texts of values so that unescape, and other programs, read them.
var escaper = strings.NewReplacer(`\`, `\\`, "\n", `\n`, "\r", `\r`, ",", `\,`, ";", `\;`)

// text returns the text of the first property with that name, "" for none.
func (c card) text(name string) string { return c.plain(c.Value(name)) }

// components returns the texts of a value in parts, at least one.
func (c card) components(name string) []string {
	if c.isOld() {
		return []string{c.plain(c.Value(name))}
	}
	return c.parts(name, ';')
}

// parts returns the texts of a value that a character separates, at least one.
func (c card) parts(name string, separator byte) (texts []string) {
	value, start := c.Value(name), 0
	for i := 0; i < len(value); i++ {
		switch value[i] {
		case '\\':
			i++
		case separator:
			texts = append(texts, c.plain(value[start:i]))
			start = i + 1
		}
	}
	return append(texts, c.plain(value[start:]))
}

// listed is a value of a property that a card can have several times. Those with smaller numbers count more.
type listed struct {
	value                    string
	preference, rank, number int
}

// list returns the values of a property that a card can have several times, without the numbers of fax
// machines and pagers.
func (c card) list(name string) string {
	var found []listed
	for i, property := range c.Card[name] {
		types := property.Params.Types()
		has := func(kind string) bool { return slices.Contains(types, kind) }
		value := c.plain(property.Value)
		if value == "" || (has("fax") || has("pager")) && !has("voice") && !has(vcard.TypeCell) {
			continue
		}
		found = append(found, listed{value, preference(property.Params.Get(vcard.ParamPreferred), has), rank(has), i})
	}
	slices.SortFunc(found, func(a, b listed) int {
		return cmp.Or(cmp.Compare(a.preference, b.preference), cmp.Compare(a.rank, b.rank), cmp.Compare(a.number, b.number))
	})
	values := make([]string, len(found))
	for i, one := range found {
		values[i] = one.value
	}
	return strings.Join(values, contact.ListSeparator)
}

// preference orders properties: 1 is the most preferred, and properties without a preference come last.
func preference(named string, has func(kind string) bool) int {
	const least = 101
	if order, err := strconv.Atoi(named); err == nil && order > 0 && order < least {
		return order
	}
	if has("pref") {
		return 1
	}
	return least
}

// rank orders properties of the same preference, as for columns.
func rank(has func(kind string) bool) int {
	switch {
	case has(vcard.TypeWork):
		return names.Work
	case has(vcard.TypeCell):
		return names.Mobile
	}
	return names.Unqualified
}

// cardWriter writes contacts as vCard 3.0, which all address books read.
type cardWriter struct {
	out    *bufio.Writer
	custom []core.Field
}

// WriteContact writes the card of a contact.
func (w cardWriter) WriteContact(c *contact.Contact) error {
	write := func(property, value string) {
		_, _ = w.out.WriteString(property + ":" + value + "\r\n") // the error remains until Close
	}
	write(beginProperty, "VCARD")
	write(vcard.FieldVersion, "3.0")
	write(vcard.FieldProductID, productID)
	write(idProperty, c.ID)
	write(vcard.FieldName, ";"+escaper.Replace(c.Name)+";;;")
	for _, field := range contact.Fields {
		property, value := propertyOf(field.Name), field.Value(c)
		switch {
		case property == vcard.FieldFormattedName:
			value = cmp.Or(value, c.Email)
		case property == vcard.FieldUID && value == "":
			value = noUID + c.ID
		case value == "":
			continue
		}
		write(property, escaper.Replace(value))
	}
	for _, field := range w.custom {
		cell, err := cellOf(field, customValue(c, field.GetName()))
		if err != nil {
			return fmt.Errorf("writing the field %s of the contact %s: %w", field.GetName(), c.ID, err)
		}
		if cell != "" {
			write(propertyOf(field.GetName()), escaper.Replace(cell))
		}
	}
	write(endProperty, "VCARD")
	return nil
}

// customValue returns the value of a custom field, nil for none.
func customValue(c *contact.Contact, name string) any {
	for _, custom := range c.Custom {
		if custom.Name == name {
			return custom.Value
		}
	}
	return nil
}

// Close completes the file, and returns the first error of any write.
func (w cardWriter) Close() error { return w.out.Flush() }
