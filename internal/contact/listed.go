package contact

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"

	"contactbase/internal/contact/written"
	"contactbase/internal/fault"
)

// Reading is what a text that people and other programs write has for a field.
type Reading struct {
	Value   string
	Assumed string       // a warning about what is assumed, "" for nothing
	LeftOut string       // a warning about values that are left out, "" for none
	Wrong   *fault.Field // why it has no value
}

// Warnings returns the warnings about what is assumed and left out.
func (r Reading) Warnings() []string {
	return slices.DeleteFunc([]string{r.Assumed, r.LeftOut}, func(text string) bool { return text == "" })
}

// ListSeparator separates the values of a list in a cell.
const ListSeparator = " ::: "

// listSeparators separate the values of a list, the most specific first.
var listSeparators = []string{ListSeparator, "\n", ";", ","}

// maxListed is the maximum number of values of a list that are read.
const maxListed = 100

// readOne returns the value of a text that is not a list, what was assumed, or the errors in the text.
type readOne func(text string) (value, assumed string, wrong *fault.Field)

// listed is the first valid value of a list.
type listed struct {
	value, assumed string
	others         []string     // that are left out
	wrong          *fault.Field // why there is none
}

// reading returns the value with warnings about what is assumed and left out.
func (l listed) reading(field string) Reading {
	found := Reading{Value: l.value, Wrong: l.wrong}
	if l.assumed != "" {
		found.Assumed = field + ": " + l.assumed
	}
	if len(l.others) > 0 {
		found.LeftOut = field + ": the first valid value of a list counts; " +
			written.Quote(strings.Join(l.others, ", ")) + " left out"
	}
	return found
}

// readList returns the first valid value of a text that may be a list.
func readList(text string, separators []string, read readOne) (found listed) {
	found.value, found.assumed, found.wrong = read(text)
	if found.wrong == nil {
		return found
	}
	for i, separator := range separators {
		if !strings.Contains(text, separator) {
			continue
		}
		if first := readParts(split(text, separator), separators[i+1:], read); first.value != "" {
			return first
		}
		break
	}
	return listed{wrong: found.wrong}
}

// readParts returns the first valid value of the parts of a list, which may be lists.
func readParts(parts, separators []string, read readOne) listed {
	for at, part := range parts[:min(len(parts), maxListed)] {
		if found := readList(bare(part), separators, read); found.wrong == nil && found.value != "" {
			found.others = slices.Concat(parts[:at], found.others, parts[at+1:])
			return found
		}
	}
	return listed{}
}

// split returns the values of a list.
func split(text, separator string) []string {
	parts := strings.SplitN(text, separator, maxListed+1)
	for i := range parts {
		parts[i] = strings.TrimSpace(parts[i])
	}
	return slices.DeleteFunc(parts, func(part string) bool { return part == "" })
}

// bare returns a value without the marks of other programs for a text: an apostrophe, two of them, or a formula.
func bare(text string) string {
	text = strings.TrimSpace(text)
	if inner, isQuoted := strings.CutPrefix(text, "'"); isQuoted {
		return strings.TrimSuffix(inner, "'")
	}
	if inner, isFormula := strings.CutPrefix(text, `="`); isFormula {
		return strings.TrimSuffix(inner, `"`)
	}
	return text
}

// withoutJSON returns the texts of a JSON array as a list, and any other text unchanged.
func withoutJSON(text string) string {
	if !strings.HasPrefix(text, `["`) {
		return text
	}
	var texts []string
	if json.Unmarshal([]byte(text), &texts) != nil {
		return text
	}
	return strings.Join(texts, ListSeparator)
}

// apart returns international numbers that only their plus signs tell apart, as in "+49301 / +49302", as a list.
func apart(text string) string {
	first, others, _ := strings.Cut(text, "+")
	if !strings.Contains(others, "+") {
		return text
	}
	return first + "+" + numberBegin.ReplaceAllString(others, "${1}"+ListSeparator+"+")
}

// numberBegin finds the end of a number and the beginning of another one, without a separator of lists between them.
var numberBegin = regexp.MustCompile(`([^\s/|:;,])[\s/|]+\+`)
