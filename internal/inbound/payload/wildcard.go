package payload

import (
	"slices"
	"unicode/utf8"
)

// wildcard is a pattern: "*" matches any text, "?" any character, and \ escapes a character.
type wildcard string

// find tries each matching name in order, until the rest of the chain finds something.
func (p wildcard) find(w *work, v any, rest chain) (any, bool) {
	obj, ok := v.(map[string]any)
	if !ok || !w.spend(2*len(obj)) {
		return nil, false
	}
	var names []string
	for name := range obj {
		if p.match(w, name) {
			names = append(names, name)
		}
	}
	if !w.spend(16 * len(names)) {
		return nil, false
	}
	slices.Sort(names)
	for _, name := range names {
		if found, ok := w.walk(obj[name], rest); ok {
			return found, true
		}
	}
	return nil, false
}

// match takes at most as many steps as the lengths of text and pattern multiplied. A "*" that has matched too little
// takes one more character; only the last one ever has to.
func (p wildcard) match(w *work, s string) bool {
	if !w.spend(1 + len(s)*len(p)/8) {
		return false
	}
	pattern, text := string(p), s
	afterStar, behind := "", ""
	starred := false
	for text != "" || pattern != "" {
		if pattern != "" && pattern[0] == '*' {
			pattern = pattern[1:]
			starred, afterStar, behind = true, pattern, text
			continue
		}
		if size, used := matchOne(pattern, text); size > 0 {
			text, pattern = text[size:], pattern[used:]
			continue
		}
		if !starred || behind == "" {
			return false
		}
		_, size := utf8.DecodeRuneInString(behind)
		behind = behind[size:]
		pattern, text = afterStar, behind
	}
	return true
}

// matchOne matches the first character. It returns its size in the text, 0 if it does not match, and in the pattern.
func matchOne(pattern, text string) (size, used int) {
	if pattern == "" || text == "" {
		return 0, 0
	}
	if pattern[0] == '?' {
		_, size = utf8.DecodeRuneInString(text)
		return size, 1
	}
	if pattern[0] == '\\' && len(pattern) > 1 {
		pattern, used = pattern[1:], 1
	}
	if pattern[0] != text[0] { // comparing bytes compares characters
		return 0, 0
	}
	return 1, used + 1
}
