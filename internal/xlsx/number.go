package xlsx

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// precision is how many digits of a number spreadsheet programs compute with and show.
const precision = 15

// lastDay is the day after the last that a workbook can show, 9999-12-31.
const lastDay = 2958466

// number returns a number of a cell as people see it, with a point and no separators of thousands, and dates as
// 2026-01-31. from1904 says that the workbook counts days from 1904.
func (f format) number(cell string, from1904 bool) string {
	value, err := strconv.ParseFloat(cell, 64)
	if err != nil || math.IsInf(value, 0) || math.IsNaN(value) {
		return cell
	}
	isTime := f.date || f.clock || f.elapsed
	switch {
	case isTime && value >= 0 && value < lastDay:
		return f.time(value, from1904)
	case isTime || f.places == 0 && f.most == 0:
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

// digits returns a number with the places of the format filled, rounded half away from zero. It computes with the
// decimal digits that people see.
func (f format) digits(value float64) string {
	text := strconv.FormatFloat(math.Abs(value), 'e', precision-1, 64)
	mantissa, exponent, _ := strings.Cut(text, "e")
	point, err := strconv.Atoi(exponent)
	if err != nil {
		return ""
	}
	if f.isPercent {
		point += 2
	}
	whole, fraction := rounded(strings.Replace(mantissa, ".", "", 1), point+1, f.most)
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
	return strings.TrimSpace(sign + strings.TrimSpace(f.fill(whole)) + fraction + f.end)
}

// rounded returns the digits before and after the decimal point of a number, with that many decimals. digits are all
// digits of the number, of which the first point ones are before its decimal point.
func rounded(digits string, point, decimals int) (whole, fraction string) {
	if point < 0 {
		digits, point = strings.Repeat("0", min(-point, decimals+1))+digits, 0
	}
	end := point + decimals
	up := end < len(digits) && digits[end] >= '5'
	all := []byte("0" + digits[:min(end, len(digits))] + strings.Repeat("0", max(0, end-len(digits))))
	for i := len(all) - 1; up; i-- {
		if up = all[i] == '9'; up {
			all[i] = '0'
		} else {
			all[i]++
		}
	}
	whole = strings.TrimLeft(string(all[:point+1]), "0")
	if whole == "" {
		whole = "0"
	}
	return whole, string(all[point+1:])
}

// fill returns the whole part of a format with digits in its places. The first place takes all digits that
// have no other one.
func (f format) fill(digits string) string {
	var text strings.Builder
	text.Grow(len(f.whole) + len(digits))
	left := f.places
	for i := range len(f.whole) {
		c := f.whole[i]
		if c != digitOrZero && c != digitOrNothing {
			text.WriteByte(c)
			continue
		}
		isFirst := left == f.places
		left--
		from, to := len(digits)-left-1, len(digits)-left
		if isFirst {
			from = 0
		}
		switch {
		case to > 0:
			text.WriteString(digits[from:to])
		case c == digitOrZero:
			text.WriteByte('0')
		}
	}
	if f.places == 0 {
		text.WriteString(digits)
	}
	return text.String()
}

// time returns a number of days as a date, a time of day or both, or as hours. Years begin with 1900, which Excel
// takes for a leap year.
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
