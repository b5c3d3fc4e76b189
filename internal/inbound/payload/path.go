package payload

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxPath is the maximum length of a path, in bytes. The cost of a path is counted when it runs, see work.
const maxPath = 500

// path is a GJSON path (https://github.com/tidwall/gjson/blob/master/SYNTAX.md): chains separated by "|", each of
// which continues from the result of the one before. Syntax that creates text instead of finding values is not
// supported: {}, "!", and modifiers other than those below and @answer.
type path []chain

// chain is the steps between two pipes, separated by dots. After "#" and "#(…)#", the rest of the chain
// applies to each element.
type chain []step

// step leads from a value to others.
type step interface {
	// find goes from v by the step and then by the rest of its chain.
	find(w *work, v any, rest chain) (any, bool)
}

// parsePath reads a path, or returns why it is invalid.
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
		p.refuse("there is extra text after the end of the path")
	}
	return parsed, p.reason
}

// pathParser reads the text once. It keeps the first error.
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

// next returns the next character without reading it, 0 at the end.
func (p *pathParser) next() byte {
	if p.at < len(p.text) {
		return p.text[p.at]
	}
	return 0
}

// skip reads the text if it comes next.
func (p *pathParser) skip(text string) bool {
	if !strings.HasPrefix(p.text[p.at:], text) {
		return false
	}
	p.at += len(text)
	return true
}

// path reads up to one of the characters in stop, which belong to the surrounding syntax.
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
		p.refuse("a part of a path cannot begin with %c (write a property of that name as \\%[1]c)", p.next())
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
	if name == "answer" {
		return p.answer(stop)
	}
	m, ok := modifiers[name]
	switch {
	case !ok:
		p.refuse(`the modifier @%s is not supported here (write a property of that name as \@%[1]s)`, shorten(name))
	case p.next() == ':':
		p.refuse("@%s takes no arguments here", name)
	}
	return m
}

// answer reads the argument of "@answer:field".
func (p *pathParser) answer(stop string) step {
	if !p.skip(":") {
		p.refuse("@answer needs a field, as in @answer:email")
		return nil
	}
	asked, isProperty := p.property(stop).(property)
	if !isProperty {
		p.refuse("@answer needs a field, as in @answer:email")
	}
	return answer(asked.name)
}

// selection reads "[path,path]".
func (p *pathParser) selection() step {
	var s selection
	for p.reason == "" {
		p.at++ // the bracket or a comma
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

// property reads a property's name, the number of an element, or "#".
func (p *pathParser) property(stop string) step {
	start := p.at
	for ; p.at < len(p.text) && strings.IndexByte(".|"+stop, p.text[p.at]) < 0; p.at++ {
		switch c := p.text[p.at]; {
		case c == '\\':
			p.at++
		case stop != "" && strings.IndexByte(`([{"`, c) >= 0:
			p.refuse(`in brackets, write %c in a name as \%[1]c`, c)
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

// unescape removes backslashes, and reports whether a "*" or "?" has none.
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

// queryStop ends the path in a query.
const queryStop = "=!<>%)"

// query reads "#(path op value)", and a "#" after it.
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
	q.number, _ = strconv.ParseFloat(q.value, 64) // 0 if it is not a number, as in GJSON
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

// value reads a query's operand: quoted or bare text.
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
		p.refuse("a quoted text does not end, or has an invalid escape")
	}
	p.spaces()
	return value
}
