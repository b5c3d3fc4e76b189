// Package names knows what other programs call the fields of a contact: the headings of their files, the
// properties of their payloads and the questions of their forms, in English, German, French, Spanish, Italian,
// Portuguese and Dutch, and the most usual ones in Chinese, Japanese and Korean.
package names

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// What a heading may mean: a field of a contact, or a part of its name.
const (
	Name       = "name"
	FirstName  = "firstName"
	MiddleName = "middleName"
	LastName   = "lastName"
	Email      = "email"
	Phone      = "phone"
	Company    = "company"
	ExternalID = "externalId"
)

// The ranks of a Meaning. Of several headings of a field, the one with the lowest rank counts first.
const (
	Primary = iota
	Work
	Unqualified
	Other // home, secondary, or the company's own
	Mobile
)

// Meaning is what a heading, a property or the label of a question means. The zero Meaning is that of a
// text without any.
type Meaning struct {
	Field string // a constant such as Email, "" if it is not a field
	Rank  int    // a constant such as Primary
}

// Of returns the meaning of a heading by itself. Each of its words must mean the same field, or be a qualifier of it:
// "Email opt-out" means nothing.
func Of(heading string) Meaning { return parse(heading).meaning() }

// Known reports whether All may give a heading a meaning, depending on the others.
func Known(heading string) bool {
	p := parse(heading)
	return meanings[p.field] != "" || p.alone != 0
}

// IsID reports whether a heading names the ID that another program gives to a contact, such as "Record ID".
func IsID(heading string) bool { return parse(heading).field == otherID }

// IsPerson reports whether a heading says only that a column is about people, such as "Subscriber": it can have
// names, addresses or IDs.
func IsPerson(heading string) bool {
	p := parse(heading)
	return p.field == 0 && p.seen == noun
}

// IsTotal reports whether a text is the label of a row of totals, such as "Grand total (12)".
func IsTotal(text string) bool {
	label := strings.TrimRight(Fold(text[:min(len(text), maxHeading)]), "0123456789")
	return label != "" && slices.Contains(totals, label)
}

// All returns the meanings of headings that stand side by side. "Nom", "Nome" and "Name" mean the last name beside a
// column of first names, and "Nombre" the first name beside one of last names.
func All(headings []string) []Meaning {
	all := make([]parsed, len(headings))
	var has, seen, alone words
	for i, heading := range headings {
		all[i] = parse(heading)
		has |= all[i].field
		seen |= all[i].seen
		alone |= all[i].alone
	}
	for i, p := range all {
		if p.alone != 0 && alone|middle == halves && has&alone == 0 {
			all[i].field = p.alone
		}
	}
	half, names := words(0), nom|name
	switch {
	case has&first != 0 && has&last == 0:
		half = last
	case has&last != 0 && has&first == 0:
		half = first
		if seen&german == 0 { // an English "Name" beside "Last name" is as often the whole name
			names = nom
		}
	}
	meanings := make([]Meaning, len(headings))
	for i, p := range all {
		if half != 0 && p.isBare(names) {
			p.field, half = half, 0
		}
		meanings[i] = p.meaning()
	}
	return meanings
}

// words is a set of kinds of words.
type words uint32

const (
	email words = 1 << iota
	phone
	company
	full  // the whole name
	name  // the word "name", which a company also has
	nom   // the same, where it often means the last name
	first // the first name
	middle
	last
	externalID
	otherID // the ID of another program

	contactWord   // "contact", which is a name if nothing else is
	contactPerson // "contact person", which is a name next to a company, too
	short         // "first" or "last", which need a word for a name, or each other in a column of its own
	noun          // a person who is a contact: "customer"
	german

	halves = first | middle | last
	fields = email | phone | company | full | name | nom | halves | externalID | otherID
)

// meanings are the fields by their words.
var meanings = map[words]string{
	email: Email, phone: Phone, company: Company, full: Name, name: Name,
	nom: Name, first: FirstName, middle: MiddleName, last: LastName,
	externalID: ExternalID,
}

// word is an entry of the table. A qualifier is of no field, but can stand beside words of those that it allows.
type word struct {
	kinds  words
	allows words
	rank   int
}

// parsed is what the words of a heading say together.
type parsed struct {
	field words // one of the fields, 0 for none
	seen  words
	rank  int
	alone words // a short word for a half of a name that has no other word
}

func (p parsed) meaning() Meaning {
	field := meanings[p.field]
	if field == "" {
		return Meaning{}
	}
	return Meaning{field, p.rank}
}

// isBare reports whether the heading has one of the words for a name, but no others except an article or a digit.
// "Nom du client" is bare, too.
func (p parsed) isBare(of words) bool {
	return p.field&of != 0 && (p.field == nom || p.seen&(noun|contactWord) == 0)
}

// The bounds of a heading. The longest question that is worth reading has about twenty words.
const (
	maxHeading = 150 // bytes
	maxParts   = 24
	minHalf    = 4 // letters of half a compound, such as "work" in "workphone"
)

// parse reads a heading from left to right, and stops at the first word that is unknown.
func parse(heading string) parsed {
	var space [2 * maxHeading]byte
	var parts [maxParts]int
	letters, ends := split(heading, space[:0], parts[:0])
	if len(ends) == 0 {
		return parsed{}
	}
	var r reading
	r.allows = fields
	for i, start := 0, 0; i < len(ends); {
		j := min(len(ends), i+maxJoined)
		for ; j > i; j-- {
			if w, ok := table[string(letters[start:ends[j-1]])]; ok {
				r.add(w)
				break
			}
		}
		if j == i {
			j++
			if !isNumber(letters[start:ends[i]]) && !r.addCompound(letters[start:ends[i]]) {
				return parsed{}
			}
		}
		i, start = j, ends[j-1]
	}
	return r.resolve()
}

func isNumber(part []byte) bool { return part[0] >= '0' && part[0] <= '9' }

// reading is a heading that is being read.
type reading struct {
	seen   words
	allows words // by all qualifiers
	ranks  uint  // a bit for each
}

func (r *reading) add(w word) {
	r.seen |= w.kinds
	r.ranks |= 1 << w.rank
	if w.kinds&fields == 0 {
		r.allows &= w.allows
	}
}

// addCompound reads a word that consists of two, such as "Telefonnummer".
func (r *reading) addCompound(part []byte) bool {
	if len(part) > 2*longest {
		return false
	}
	for at := minHalf; at <= len(part)-minHalf; at++ {
		before, ok := table[string(part[:at])]
		if !ok {
			continue
		}
		if after, ok := table[string(part[at:])]; ok {
			r.add(before)
			r.add(after)
			return true
		}
	}
	return false
}

// resolve decides which field the words mean.
func (r *reading) resolve() parsed {
	found := r.seen & fields
	if r.seen&short != 0 && (found&(name|nom|full) == 0 || found&company != 0) {
		if r.seen == short|found && r.allows == fields {
			return parsed{alone: found, rank: Unqualified}
		}
		return parsed{}
	}
	if found = r.nameOf(found); found&company != 0 && found&(email|phone|full|halves) != 0 {
		found &^= company
		if r.ranks&(1<<Work) == 0 { // as in "Business phone"
			r.ranks |= 1 << Other
		}
	}
	if found == 0 {
		return parsed{seen: r.seen}
	}
	if _, single := meanings[found]; !single && found != otherID || found&r.allows == 0 {
		return parsed{}
	}
	return parsed{field: found, seen: r.seen, rank: r.rankOf(found)}
}

// nameOf decides whose name the words for names mean: "Company name" is a company, "Name: first name" a first name,
// and both halves are a whole.
func (r *reading) nameOf(found words) words {
	const names = name | nom
	switch {
	case found == 0 && r.seen&contactWord != 0, found == company && r.seen&contactPerson != 0:
		return full
	case found&first != 0 && found&last != 0:
		return found&^(halves|names) | full
	case found&names != 0 && found&halves&r.allows != 0, found&names != 0 && found&company != 0:
		return found &^ names
	case found&names != 0: // "Name and surname"
		return found &^ halves
	}
	return found
}

// rankOf returns the rank of the heading. Only addresses and numbers have another than Unqualified.
func (r *reading) rankOf(field words) int {
	if field&(email|phone) == 0 && r.ranks&(1<<Other) == 0 {
		return Unqualified
	}
	for _, rank := range []int{Mobile, Other, Primary, Work} {
		if r.ranks&(1<<rank) != 0 {
			return rank
		}
	}
	return Unqualified
}

// split returns the letters and digits of a heading, folded, and where each of its parts ends. Parts end at other
// characters, at a digit beside a letter, and in "emailAddress" at a capital letter. It returns nothing for a heading
// that is too long.
func split(heading string, letters []byte, parts []int) ([]byte, []int) {
	if len(heading) > maxHeading {
		return nil, nil
	}
	end, before, beforeThat := 0, ' ', ' '
	for _, c := range decompose(heading) {
		kind := kindOf(c)
		if kind == 'm' {
			continue
		}
		cut := kind != before && (kind != 'a' || before != 'A')
		if cut && len(letters) > end {
			parts, end = append(parts, len(letters)), len(letters)
		} else if kind == 'a' && before == 'A' && beforeThat == 'A' && len(letters)-1 > end { // the N of "URLName"
			parts, end = append(parts, len(letters)-1), len(letters)-1
		}
		if len(parts) == maxParts {
			return nil, nil
		}
		if kind != ' ' {
			letters = appendFolded(letters, c)
		}
		before, beforeThat = kind, before
	}
	if len(letters) > end {
		parts = append(parts, len(letters))
	}
	return letters, parts
}

// kindOf returns 'a' for a letter, 'A' for a capital one, '0' for a digit, 'm' for an accent, and a space
// for anything else.
func kindOf(c rune) rune {
	switch {
	case 'a' <= c && c <= 'z':
		return 'a'
	case 'A' <= c && c <= 'Z':
		return 'A'
	case '0' <= c && c <= '9':
		return '0'
	case c < utf8.RuneSelf:
		return ' '
	case unicode.IsUpper(c):
		return 'A'
	case unicode.IsLetter(c):
		return 'a'
	case unicode.IsMark(c):
		return 'm'
	}
	return ' '
}

// decompose separates the letters of a text from their accents.
func decompose(text string) string {
	for i := range len(text) {
		if text[i] >= utf8.RuneSelf {
			return norm.NFD.String(text)
		}
	}
	return text
}

func appendFolded(letters []byte, c rune) []byte {
	switch c = unicode.ToLower(c); c {
	case 'ß':
		return append(letters, "ss"...)
	case 'œ':
		return append(letters, "oe"...)
	}
	return utf8.AppendRune(letters, c)
}

// Fold returns the letters and digits of a heading without the differences that do not count: case, accents,
// punctuation and white space.
func Fold(heading string) string {
	var letters []byte
	for _, c := range decompose(heading) {
		if kind := kindOf(c); kind != ' ' && kind != 'm' {
			letters = appendFolded(letters, c)
		}
	}
	return string(letters)
}

// table has the words, folded and without separators: "firstname" is also "first name" and "First_Name".
var table, longest = func() (map[string]word, int) {
	all, most := map[string]word{}, 0
	for _, line := range vocabulary {
		for text := range strings.FieldsSeq(line.texts) {
			text = Fold(text) // a letter of Japanese or Korean may consist of several
			all[text] = line.word
			most = max(most, len(text))
		}
	}
	return all, most
}()
