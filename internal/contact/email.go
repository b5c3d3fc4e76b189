package contact

import (
	"slices"
	"strings"
	"unicode"

	"contactbase/internal/fault"
)

// emailSeparators separate email addresses, which contain no spaces.
var emailSeparators = append(slices.Clone(listSeparators), "|", "/", " ")

// ReadEmail returns the first address in a text that people and other programs write, which may be a list. It reads
// "Ada <ada@example.com>", links such as "mailto:ada@example.com?subject=x", "ada@example.com (work)", and addresses
// with invisible characters from a web page.
func ReadEmail(text string) Reading {
	text = withoutJSON(bare(text))
	if boxes := mailboxes(text); len(boxes) > 1 {
		if found := readParts(boxes, emailSeparators, oneEmail); found.value != "" {
			return found.reading(Email)
		}
	}
	return readList(text, emailSeparators, oneEmail).reading(Email)
}

func oneEmail(text string) (address, assumed string, wrong *fault.Field) {
	address, wrong = FieldNamed(Email).Normalize(text)
	if wrong == nil {
		return address, "", nil
	}
	if address, fault := FieldNamed(Email).Normalize(plainEmail(text)); fault == nil && address != "" {
		return address, "", nil
	}
	return address, "", wrong
}

// mailboxes returns the parts of a list in which some addresses have angle brackets. A comma in a name does not
// separate them: "Lee, Ann <ann@example.com>, bob@example.com".
func mailboxes(text string) (boxes []string) {
	const between = " \t\n,;|/:"
	plain := unquoted(text)
	add := func(end int) {
		if box := strings.Trim(text[:end], between); box != "" {
			boxes = append(boxes, box)
		}
		text, plain = text[end:], plain[end:]
	}
	for len(boxes) < maxListed {
		end := strings.IndexByte(plain, '>') + 1
		if end == 0 {
			break
		}
		// before the name may be addresses without brackets
		if at := strings.LastIndexByte(plain[:max(strings.IndexByte(plain[:end], '<'), 0)], '@'); at >= 0 {
			if length := strings.IndexAny(plain[at:end], between); length > 0 {
				add(at + length)
				end -= at + length
			}
		}
		add(end)
	}
	add(len(text))
	return boxes
}

// unquoted returns a text with spaces instead of what is between quotation marks.
func unquoted(text string) string {
	if strings.Count(text, `"`)%2 != 0 {
		return text
	}
	blanked, isQuoted := []byte(text), false
	for i, c := range blanked {
		if c == '"' {
			isQuoted = !isQuoted
		} else if isQuoted {
			blanked[i] = ' '
		}
	}
	return string(blanked)
}

func plainEmail(text string) string {
	text = strings.TrimSpace(strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Cf, r) && !unicode.Is(unicode.Join_Control, r) { // a joiner can be a part of a name
			return -1
		}
		return r
	}, text))
	if strings.HasSuffix(text, ")") {
		text, _, _ = strings.Cut(text, " (")
	}
	if inner, isNamed := strings.CutSuffix(text, ">"); isNamed && strings.Contains(inner, "<") {
		text = inner[strings.LastIndexByte(inner, '<')+1:]
	}
	const link = "mailto:"
	text = strings.TrimSpace(text)
	if len(text) > len(link) && strings.EqualFold(text[:len(link)], link) {
		text, _, _ = strings.Cut(text[len(link):], "?")
	}
	return text
}
