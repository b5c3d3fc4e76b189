// Package charset finds out in which encoding a text of people's names, cities and companies is. Encodings have the
// names of the WHATWG, such as "windows-1250".
package charset

import (
	"slices"
	"strings"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/htmlindex"
)

// The names of the encodings that have all characters.
const (
	UTF8    = "utf-8"
	UTF16LE = "utf-16le"
	UTF16BE = "utf-16be"
)

// western is the encoding of a text that says nothing about its encoding.
const western = "windows-1252"

// maxLabel is longer than all labels. A body may name its encoding for each of its texts.
const maxLabel = 64

// Named returns the encoding with a name or label of the WHATWG, such as "latin1", and its name. ok is false if there
// is none.
func Named(label string) (found encoding.Encoding, name string, ok bool) {
	if len(label) > maxLabel {
		return nil, "", false
	}
	found, err := htmlindex.Get(strings.ReplaceAll(label, "_", "-"))
	if err != nil {
		found, err = htmlindex.Get(label)
	}
	if err != nil || found == encoding.Replacement {
		return nil, "", false
	}
	name, err = htmlindex.Name(found)
	return found, name, err == nil && name != "x-user-defined"
}

// IsUTF8 reports whether a label names an encoding whose texts are valid UTF-8, in any spelling. It is true for none.
func IsUTF8(label string) bool {
	if len(label) > maxLabel {
		return false
	}
	label = strings.ReplaceAll(strings.ToLower(strings.TrimSpace(label)), "-", "")
	return slices.Contains([]string{"", "utf8", "usascii", "ascii"}, strings.ReplaceAll(label, "_", ""))
}

// decode returns a text of the named encoding, with U+FFFD for bytes that it does not have.
func decode(name string, raw []byte) string {
	found, _, ok := Named(name)
	if !ok {
		return string(raw)
	}
	text, err := found.NewDecoder().Bytes(raw)
	if err != nil {
		return "\uFFFD"
	}
	return string(text)
}

// usual has the encodings of files in a country, the usual one first, before the Western ones.
var usual = func() map[string][]string {
	countries := map[string][]string{}
	for encodings, codes := range map[string]string{
		"windows-1250 iso-8859-2":             "PL CZ SK HU RO HR SI BA AL ME",
		"windows-1251 windows-1250":           "RS MK",
		"windows-1251 koi8-r":                 "RU BY BG KZ KG TJ MN MD",
		"windows-1251 koi8-u":                 "UA",
		"windows-1253 iso-8859-7":             "GR CY",
		"windows-1254 iso-8859-9":             "TR AZ TM",
		"windows-1255 iso-8859-8":             "IL",
		"windows-1256 iso-8859-6":             "AE BH DZ EG IQ IR JO KW LB LY MA OM PK PS QA SA SD SY TN YE AF",
		"windows-1257 iso-8859-13 iso-8859-4": "LT LV EE",
		"windows-1258":                        "VN",
		"windows-874":                         "TH",
		"shift_jis euc-jp":                    "JP",
		"euc-kr":                              "KR",
		"gbk gb18030":                         "CN SG",
		"big5":                                "TW HK MO",
		"windows-1252 iso-8859-14":            "IE GB",
		"windows-1252 iso-8859-10":            "IS GL",
		"windows-1252 iso-8859-3":             "MT",
		"windows-1252 macintosh iso-8859-15":  "AT BE CH DE DK ES FI FR IT LU NL NO PT SE BR MX AR CL CO US CA AU NZ ZA",
	} {
		for _, code := range strings.Fields(codes) {
			countries[code] = strings.Fields(encodings)
		}
	}
	return countries
}()

// others has the candidates besides the usual ones of the country, those that are more usual first.
var others = strings.Fields(western + " windows-1250 windows-1254 windows-1257 macintosh iso-8859-2 " +
	"windows-1251 koi8-r koi8-u x-mac-cyrillic iso-8859-5 ibm866 windows-1253 iso-8859-7 windows-1255 iso-8859-8 " +
	"shift_jis euc-jp euc-kr gbk gb18030 big5")
