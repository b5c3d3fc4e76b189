package xlsx

import (
	"fmt"
	"regexp"
	"strconv"
)

// A workbook has characters that XML cannot have as _x and four hexadecimal digits and _ (ECMA-376 part 1, 22.9.2.19, ST_Xstring).
var (
	special = regexp.MustCompile(`_x|[\x00-\x08\x0B-\x1F\x{FFFE}\x{FFFF}]`)
	escaped = regexp.MustCompile(`_x[0-9A-Fa-f]{4}_`)
)

func escape(text string) string {
	return special.ReplaceAllStringFunc(text, func(found string) string {
		if found == "_x" {
			return "_x005F_x"
		}
		return fmt.Sprintf("_x%04X_", []rune(found)[0])
	})
}

func unescape(text string) string {
	return escaped.ReplaceAllStringFunc(text, func(found string) string {
		code, err := strconv.ParseUint(found[2:6], 16, 16)
		if err != nil {
			return found
		}
		return string(rune(code))
	})
}
