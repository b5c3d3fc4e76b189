package inbound

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Limits of a path. GJSON has no budget of its own, and a path runs on whatever the internet posts: "[@this,@this]"
// doubles a payload each time it is written, "@tostr" nearly so, "@dig" within "@dig" visits every part of every
// part, and "*a*b*" takes a minute for a name of a megabyte. Kept apart and counted, none makes more than some 50
// copies, and all of them are done with the largest payload in about half a second.
const (
	maxPath       = 500 // bytes
	maxModifiers  = 5
	maxWildcards  = 2  // "*"; with more, a match is no longer linear
	maxMultipaths = 3  // openings of [a,b] and {a,b}
	maxSelectors  = 10 // commas in them
)

// modifiers are GJSON's built-in ones. Custom ones would run code that nobody checked here.
var modifiers = map[string]bool{
	"this": true, "reverse": true, "flatten": true, "join": true, "keys": true, "values": true, "group": true,
	"valid": true, "ugly": true, "pretty": true, "tostr": true, "fromstr": true, "dig": true,
}

// unbounded modifiers stand in a path alone, without a multipath: @dig and @tostr for what they multiply, and
// @fromstr since the text that it opens up has not been checked for depth, which the others would recurse into.
var unbounded = map[string]bool{"dig": true, "tostr": true, "fromstr": true}

// harmless modifiers look no deeper than one level.
var harmless = map[string]bool{"this": true, "keys": true, "values": true, "reverse": true}

// checkPath gives the reason why a path is refused, or "".
func checkPath(path string) string {
	switch {
	case path == "":
		return "the path is empty"
	case len(path) > maxPath:
		return "the path has more than " + strconv.Itoa(maxPath) + " characters"
	case !utf8.ValidString(path) || strings.ContainsFunc(path, unicode.IsControl):
		return "the path has characters that cannot be in a path"
	}
	used := scanPath(path)
	for _, name := range used.modifiers {
		if !modifiers[name] {
			return "there is no modifier @" + shorten(name) + ` (a property of that name is written \@` + shorten(name) + ")"
		}
	}
	switch {
	case len(used.modifiers) > maxModifiers:
		return "the path has more than " + strconv.Itoa(maxModifiers) + " modifiers"
	case used.wildcards > maxWildcards:
		return "the path has more than " + strconv.Itoa(maxWildcards) + " wildcards"
	case used.multipaths > maxMultipaths || used.commas > maxSelectors:
		return "the path selects too many things at once"
	case used.prettyArgs:
		return "@pretty takes no settings here"
	}
	for i, name := range used.modifiers {
		if !unbounded[name] {
			continue
		}
		for j, other := range used.modifiers {
			if i != j && !harmless[other] {
				return "@" + name + " cannot be combined with @" + other
			}
		}
		if used.multipaths > 0 {
			return "@" + name + " cannot be combined with [ ] or { }"
		}
	}
	return ""
}

type pathUse struct {
	modifiers  []string
	wildcards  int
	multipaths int
	commas     int
	prettyArgs bool
}

// scanPath counts what a path uses. It does not understand quotes, so it may see more than GJSON does, never less.
func scanPath(path string) pathUse {
	var use pathUse
	for i := 0; i < len(path); i++ {
		starts := i == 0 || strings.IndexByte(".|[{,:(! ", path[i-1]) >= 0
		switch c := path[i]; {
		case c == '*':
			use.wildcards++
		case c == '\\' && !strings.HasPrefix(path[i+1:], "*"): // an escaped * may become a wildcard again in a query
			i++
		case c == ',':
			use.commas++
		case (c == '[' || c == '{') && starts:
			use.multipaths++
		case c == '@' && starts:
			rest := path[i+1:]
			end := strings.IndexAny(rest, ".|:,]})")
			if end < 0 {
				end = len(rest)
			}
			use.modifiers = append(use.modifiers, rest[:end])
			use.prettyArgs = use.prettyArgs || rest[:end] == "pretty" && strings.HasPrefix(rest[end:], ":")
		}
	}
	return use
}
