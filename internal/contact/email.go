package contact

import (
	"strings"
	"unicode"

	"contactbase/internal/fault"
)

// ReadEmail returns the address in a text that other programs write, or the errors in it. It reads "Ada
// <ada@example.com>", links such as "mailto:ada@example.com?subject=x", "ada@example.com (work)", and addresses with
// invisible characters from a web page.
func ReadEmail(text string) (string, *fault.Field) {
	address, wrong := FieldNamed(Email).Normalize(text)
	if wrong == nil {
		return address, nil
	}
	if address, fault := FieldNamed(Email).Normalize(plainEmail(text)); fault == nil && address != "" {
		return address, nil
	}
	return address, wrong
}

func plainEmail(text string) string {
	text = strings.TrimSpace(strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Cf, r) && !unicode.Is(unicode.Join_Control, r) { // a joiner can be a part of a name
			return -1
		}
		return r
	}, text))
	switch inner, isNamed := strings.CutSuffix(text, ">"); {
	case isNamed && strings.Count(inner, "<") == 1:
		_, text, _ = strings.Cut(inner, "<")
	case strings.HasSuffix(text, ")"):
		text, _, _ = strings.Cut(text, " (")
	}
	const link = "mailto:"
	text = strings.TrimSpace(text)
	if len(text) > len(link) && strings.EqualFold(text[:len(link)], link) {
		text, _, _ = strings.Cut(text[len(link):], "?")
	}
	return text
}
