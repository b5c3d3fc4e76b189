package xlsx

import (
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
	"time"
)

// precision is how many digits of a number spreadsheet programs compute with and show.
const precision = 15

// lastDay is the day after the last that a workbook can show, 9999-12-31.
const lastDay = 2958466

// number returns a number of a cell as people see it, with a point and no separators of thousands, and dates as 2026-01-31. from1904 says that
// the workbook counts days from 1904.
func (f format) number(cell string, from1904 bool) string {
	value, err := strconv.ParseFloat(cell, 64)
	if err != nil || math.IsInf(value, 0) || math.IsNaN(value) {
		return cell
	}
	isTime := f.date || f.clock || f.elapsed
	switch {
	case isTime && value >= 0 && value < lastDay:
		return f.time(value, from1904)
	case isTime || f.whole == nil && f.most == 0:
		return plain(cell, value)
	}
	return f.digits(value)
}

// plain returns a number without a format. It never shows an exponent for what may be an identifier or a phone number.
func plain(cell string, value float64) string {
	if strings.Trim(cell, "0123456789") == "" { // an identifier may have more digits than Excel's numbers
		return cell
	}
	rounded, err := strconv.ParseFloat(strconv.FormatFloat(value, 'g', precision, 64), 64)
	if err != nil {
		return cell
	}
	if size := math.Abs(rounded); size >= 1e21 || size != 0 && size < 1e-9 {
		return strconv.FormatFloat(rounded, 'g', -1, 64)
	}
	return strconv.FormatFloat(rounded, 'f', -1, 64)
}

func (f format) digits(value float64) string {
	exact, ok := new(big.Rat).SetString(strconv.FormatFloat(math.Abs(value), 'g', precision, 64))
	if !ok {
		return ""
	}
	if f.isPercent {
		exact.Mul(exact, big.NewRat(100, 1))
	}
	whole, fraction, _ := strings.Cut(exact.FloatString(f.most), ".")
	for len(fraction) > f.least && strings.HasSuffix(fraction, "0") {
		fraction = fraction[:len(fraction)-1]
	}
	sign := ""
	if value < 0 && strings.Trim(whole+fraction, "0") != "" {
		sign = "-"
	}
	if fraction != "" {
		fraction = "." + fraction
	}
	return strings.TrimSpace(sign + strings.TrimSpace(fill(f.whole, whole)) + fraction + f.end)
}

// fill returns the symbols with the digits of a number in them.
func fill(symbols []symbol, digits string) string {
	text, left := "", 0 // how many digits the symbols further left take
	for _, s := range symbols {
		if s.kind != literal {
			left++
		}
	}
	if left == 0 {
		text = digits
	}
	for i := len(symbols) - 1; i >= 0; i-- {
		s := symbols[i]
		if s.kind == literal {
			text = s.text + text
			continue
		}
		left--
		if digits == "" && s.kind == '0' {
			digits = "0"
		}
		taken := digits[max(0, len(digits)-1):]
		if left == 0 {
			taken = digits
		}
		text, digits = taken+text, strings.TrimSuffix(digits, taken)
	}
	return text
}

// time returns a number of days as a date, a time of day or both, or as hours. Years begin with 1900, which Excel takes for a leap year.
func (f format) time(days float64, from1904 bool) string {
	seconds := int64(math.Round(days * 86400))
	if f.elapsed {
		return fmt.Sprintf("%d:%02d:%02d", seconds/3600, seconds/60%60, seconds%60)
	}
	first := time.Date(1899, 12, 30, 0, 0, 0, 0, time.UTC)
	switch {
	case from1904:
		first = time.Date(1904, 1, 1, 0, 0, 0, 0, time.UTC)
	case days < 60:
		first = first.AddDate(0, 0, 1)
	}
	layout := time.DateOnly
	switch {
	case f.date && f.clock:
		layout = time.DateTime
	case f.seconds:
		layout = time.TimeOnly
	case f.clock:
		layout = "15:04"
	}
	return time.Unix(first.Unix()+seconds, 0).UTC().Format(layout)
}
