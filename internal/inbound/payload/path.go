package payload

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxPath is the longest path, in bytes. What a path costs is counted when it runs, see work.
const maxPath = 500

// path is a GJSON path (https://github.com/tidwall/gjson/blob/master/SYNTAX.md): chains that "|" separates, each of
// which goes on from what the one before it found. Of GJSON's syntax it leaves out what makes text rather than finds
// values: {}, "!" and the modifiers beside those below.
type path []chain

// chain is the steps between two pipes, which dots separate. Behind "#" and "#(…)#" the rest of the chain is taken from
// each element.
type chain []step

// step leads from a value to others.
type step interface {
	// find goes from v by the step and then by the rest of its chain.
	find(w *work, v any, rest chain) (any, bool)
}

// parsePath reads a path, or gives the reason why it is refused.
func parsePath(text string) (path, string) {
	switch {
	case text == "":
		return nil, "the path is empty"
	case len(text) > maxPath:
		return nil, "the path has more than " + strconv.Itoa(maxPath) + " characters"
	case !utf8.ValidString(text) || strings.ContainsFunc(text, unicode.IsControl):
		return nil, "the path has characters that cannot be in a path"
	}
	p := &pathParser{text: text}
	parsed := p.path("")
	if p.reason == "" && p.at < len(text) {
		p.refuse("there is something after the end of the path")
	}
	return parsed, p.reason
}

// pathParser goes through the text once. The first reason stays.
type pathParser struct {
	text   string
	at     int
	reason string
}

func (p *pathParser) refuse(format string, args ...any) {
	if p.reason == "" {
		p.reason = fmt.Sprintf(format, args...)
	}
	p.at = len(p.text)
}

// next tells the next character, 0 at the end.
func (p *pathParser) next() byte {
	if p.at < len(p.text) {
		return p.text[p.at]
	}
	return 0
}

// skip takes the text away if it comes next.
func (p *pathParser) skip(text string) bool {
	if !strings.HasPrefix(p.text[p.at:], text) {
		return false
	}
	p.at += len(text)
	return true
}

// path reads up to one of the characters in stop, which belong to what the path stands in.
func (p *pathParser) path(stop string) path {
	parsed := path{{p.step(stop)}}
	for p.reason == "" {
		switch {
		case p.skip("|"):
			parsed = append(parsed, chain{p.step(stop)})
		case p.skip("."):
			last := len(parsed) - 1
			parsed[last] = append(parsed[last], p.step(stop))
		default:
			return parsed
		}
	}
	return parsed
}

func (p *pathParser) step(stop string) step {
	switch p.next() {
	case '@':
		return p.modifier(stop)
	case '[':
		return p.selection()
	case '{', '!':
		p.refuse("a part of a path cannot begin with %c (a property of that name is written \\%[1]c)", p.next())
		return nil
	case '#':
		if strings.HasPrefix(p.text[p.at:], "#(") {
			return p.query()
		}
	}
	return p.property(stop)
}

// modifier reads "@name".
func (p *pathParser) modifier(stop string) step {
	p.at++
	length := strings.IndexAny(p.text[p.at:], ".|:"+stop)
	if length < 0 {
		length = len(p.text) - p.at
	}
	name := p.text[p.at : p.at+length]
	p.at += length
	m, ok := modifiers[name]
	switch {
	case !ok:
		p.refuse(`there is no modifier @%s here (a property of that name is written \@%[1]s)`, shorten(name))
	case p.next() == ':':
		p.refuse("@%s takes no settings here", name)
	}
	return m
}

// selection reads "[path,path]".
func (p *pathParser) selection() step {
	var s selection
	for p.at++; p.reason == ""; p.at++ {
		s = append(s, p.path(",]"))
		if p.skip("]") {
			return s
		}
		if p.next() != ',' {
			p.refuse("a [ has no ]")
		}
	}
	return s
}

// property reads a property's name, a number of an element, or "#".
func (p *pathParser) property(stop string) step {
	start := p.at
	for ; p.at < len(p.text) && strings.IndexByte(".|"+stop, p.text[p.at]) < 0; p.at++ {
		switch c := p.text[p.at]; {
		case c == '\\':
			p.at++
		case stop != "" && strings.IndexByte(`([{"`, c) >= 0:
			p.refuse(`in brackets a %c in a name is written \%[1]c`, c)
			return nil
		}
	}
	p.at = min(p.at, len(p.text))
	text := p.text[start:p.at]
	if stop == queryStop && p.next() != '.' && p.next() != '|' {
		text = strings.TrimRight(text, " ")
	}
	switch text {
	case "":
		p.refuse("the path has an empty part")
		return nil
	case "#":
		return elements{}
	}
	name, isWild := unescape(text)
	if isWild {
		return wildcard(text)
	}
	index, err := strconv.Atoi(name)
	if err != nil || index < 0 {
		index = -1
	}
	return property{name, index}
}

// unescape takes the backslashes away, and reports whether there is a "*" or "?" without one.
func unescape(text string) (name string, isWild bool) {
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		switch {
		case text[i] == '*' || text[i] == '?':
			isWild = true
		case text[i] == '\\' && i+1 < len(text):
			i++
		}
		b.WriteByte(text[i])
	}
	return b.String(), isWild
}

// queryStop is what ends the path in a query.
const queryStop = "=!<>%)"

// query reads "#(path op value)", and a "#" behind it.
func (p *pathParser) query() step {
	p.at += len("#(")
	p.spaces()
	q := query{}
	if p.next() != 0 && strings.IndexByte(queryStop, p.next()) < 0 {
		q.path = p.path(queryStop)
		p.spaces()
	}
	for _, op := range []string{"==", "=", "!=", "!%", "<=", ">=", "<", ">", "%"} {
		if p.skip(op) {
			q.op = strings.Replace(op, "==", "=", 1)
			q.value = p.value()
			break
		}
	}
	q.number, _ = strconv.ParseFloat(q.value, 64) // 0 for what is none, as GJSON has it
	if !p.skip(")") {
		p.refuse("a #( has no )")
	}
	if q.op == "" && len(q.path) == 0 {
		p.refuse("a #( ) is empty")
	}
	q.all = p.skip("#")
	return q
}

func (p *pathParser) spaces() {
	for p.skip(" ") {
	}
}

// value reads what a query compares with: a text in quotes, or the bare text.
func (p *pathParser) value() string {
	p.spaces()
	if p.next() != '"' {
		length := strings.IndexAny(p.text[p.at:], `()[]"`)
		if length < 0 {
			p.refuse("a #( has no )")
			return ""
		}
		value := strings.TrimSpace(p.text[p.at : p.at+length])
		p.at += length
		return value
	}
	start := p.at
	for p.at++; p.at < len(p.text) && p.text[p.at] != '"'; p.at++ {
		if p.text[p.at] == '\\' {
			p.at++
		}
	}
	p.at = min(p.at+1, len(p.text))
	var value string
	if err := json.Unmarshal([]byte(p.text[start:p.at]), &value); err != nil {
		p.refuse("a text in quotes does not end, or has a \\ that stands for nothing")
	}
	p.spaces()
	return value
}
