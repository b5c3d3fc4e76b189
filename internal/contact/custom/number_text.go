package custom

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// maxWritten is the maximum length of a text that may be a number or a date, in bytes.
const maxWritten = 100

// currencies are the words beside an amount, in lower case.
var currencies = strings.Fields("eur euro euros usd us gbp chf fr sfr pln zł zl czk kč kc sek nok dkk kr kr. huf ft " +
	"ron lei bgn rub uah try tl ils jpy cny rmb inr rs rs. krw aud cad nzd sgd hkd brl r mxn zar aed sar")

// writtenNumber is a number as people write it.
type writtenNumber struct {
	isNegative      bool
	whole, fraction string
	separator       string // of the two if it may be a decimal one or one of thousands, "" if it cannot be both
	style           Style
}

var (
	grouped = regexp.MustCompile(`^[0-9]{1,3}(?:[ '][0-9]{3})+$`)
	digits  = regexp.MustCompile(`^[0-9]*$`)
)

// spaces are those that people write between digits, and apostrophes as in Switzerland.
var spaces = strings.NewReplacer("\u00a0", " ", "\u2009", " ", "\u202f", " ", "’", "'", "\u2212", "-")

// parseNumber reads a number such as 1,234.50, 1.234,50, 1 234,50, 1'234.50, € 99, 12 % and (5).
func parseNumber(text string) (n writtenNumber, ok bool) {
	if len(text) > maxWritten {
		return n, false
	}
	text, n.isNegative = withoutSign(strings.TrimSpace(spaces.Replace(text)))
	text = strings.TrimSpace(strings.TrimSuffix(text, "%"))
	points, commas := strings.Count(text, "."), strings.Count(text, ",")
	last := strings.LastIndexAny(text, ".,")
	switch {
	case last < 0:
		n.whole = text
	case points > 0 && commas > 0:
		n.whole, n.fraction, n.style = text[:last], text[last+1:], decimalBy(text[last])
		thousands := string("., "[strings.IndexByte(",.", text[last])])
		if n.whole, ok = withoutThousands(n.whole, thousands); !ok {
			return n, false
		}
	case points > 1 || commas > 1:
		n.style = decimals &^ decimalBy(text[last])
		n.whole, ok = withoutThousands(text, text[last:last+1])
		return n, ok
	default:
		n.whole, n.fraction, n.style = text[:last], text[last+1:], decimalBy(text[last])
		if n.fraction == "" {
			return n, false
		}
		if len(n.fraction) == 3 && n.whole != "" && len(n.whole) <= 3 && n.whole[0] != '0' {
			n.separator, n.style = text[last:last+1], 0
		}
	}
	if grouped.MatchString(n.whole) {
		n.whole = strings.NewReplacer(" ", "", "'", "").Replace(n.whole)
	}
	return n, n.whole+n.fraction != "" && digits.MatchString(n.whole) && digits.MatchString(n.fraction)
}

func decimalBy(separator byte) Style {
	if separator == ',' {
		return decimalComma
	}
	return decimalPoint
}

// withoutSign returns an amount without its sign and currency, and whether it is negative: -5, 5-, € -5 or (5).
func withoutSign(text string) (amount string, isNegative bool) {
	if inner, isAccounting := strings.CutPrefix(text, "("); isAccounting && strings.HasSuffix(inner, ")") {
		text, isNegative = "-"+inner[:len(inner)-1], true
	}
	for range 2 { // the sign may be before or behind the currency
		text = strings.TrimSpace(text)
		begin := strings.IndexAny(text, "+-.,0123456789")
		end := strings.LastIndexAny(text, "+-0123456789%") + 1
		if begin < 0 || end <= begin || !isCurrency(text[:begin]) || !isCurrency(text[end:]) {
			return "", false
		}
		switch text = text[begin:end]; {
		case text[0] == '-' || text[0] == '+':
			isNegative, text = isNegative || text[0] == '-', text[1:]
		case text[len(text)-1] == '-':
			isNegative, text = true, text[:len(text)-1]
		}
	}
	return strings.TrimSpace(text), isNegative
}

// isCurrency reports whether a text beside an amount says at most which currency it has.
func isCurrency(text string) bool {
	text = strings.ToLower(strings.Trim(strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Sc, r) {
			return ' '
		}
		return r
	}, text), " "))
	return text == "" || slices.Contains(currencies, text)
}

// thousandsBy has the numbers whose thousands are separated, by the separator. India has groups of two digits, too.
var thousandsBy = map[string]*regexp.Regexp{
	".": regexp.MustCompile(`^[0-9]{1,3}(?:\.[0-9]{2,3})*\.[0-9]{3}$`),
	",": regexp.MustCompile(`^[0-9]{1,3}(?:,[0-9]{2,3})*,[0-9]{3}$`),
}

func withoutThousands(text, separator string) (string, bool) {
	return strings.ReplaceAll(text, separator, ""), thousandsBy[separator].MatchString(text)
}

// numberIn returns the number in a text, or why it has none.
func numberIn(text string, style Style) (any, string) {
	if json.Valid([]byte(text)) && strings.ContainsAny(text, "eE") && strings.ContainsAny(text[:1], "-0123456789") {
		return json.Number(text), ""
	}
	n, ok := parseNumber(text)
	if !ok {
		return nil, "is not a number, such as 1234.5"
	}
	switch isDecimal := style&decimals == decimalBy((n.separator + ".")[0]); {
	case n.separator == "" || isDecimal:
	case style&decimals != 0 && style&decimals != decimals:
		n.whole, n.fraction = n.whole+n.fraction, ""
	case n.separator == ",":
		return nil, "may be " + n.whole + "." + n.fraction + " or " + n.whole + n.fraction +
			": write it without a comma, or choose the country"
	}
	plain := strings.TrimLeft(n.whole, "0")
	if plain == "" {
		plain = "0"
	}
	if n.fraction != "" {
		plain += "." + n.fraction
	}
	if n.isNegative {
		plain = "-" + plain
	}
	return json.Number(plain), ""
}
