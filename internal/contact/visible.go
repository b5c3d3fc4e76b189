package contact

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// blank are characters that Unicode counts as letters, marks or symbols although they are invisible.
var blank = &unicode.RangeTable{
	R16: []unicode.Range16{{Lo: 0x2800, Hi: 0x2800, Stride: 1}}, // the braille pattern without dots
	R32: []unicode.Range32{
		{Lo: 0x13441, Hi: 0x13442, Stride: 1}, // the blanks of hieroglyphs
		{Lo: 0x16FE4, Hi: 0x16FE4, Stride: 1}, // the filler of the Khitan small script
		{Lo: 0x1D159, Hi: 0x1D159, Stride: 1}, // the null notehead
	},
}

// isVisible reports whether a reader sees the character. A control character counts as visible: the rules refuse it.
func isVisible(r rune) bool {
	if r < utf8.RuneSelf {
		return r != ' '
	}
	if unicode.Is(unicode.Prepended_Concatenation_Mark, r) { // a sign below or around the digits that follow it
		return true
	}
	return !unicode.In(r, unicode.Z, unicode.Cf, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point, blank)
}

// trimmed returns the text without white space around it, or "" if nothing in it is visible.
func trimmed(s string) string {
	s = strings.TrimSpace(s)
	if !strings.ContainsFunc(s, isVisible) {
		return ""
	}
	return s
}
