package custom

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"contactbase/internal/contact/names"
)

// writtenDate is a time as people write it.
type writtenDate struct {
	time  time.Time
	other time.Time // if day and month may be the other way round: the time in which the month is first
	style Style
}

var (
	clockPattern = regexp.MustCompile(`(?i)^(.*?[^ T,])(?:[T ,]+|, at | at | um | à | alle | a las )` +
		`([0-9]{1,2}:[0-9]{2}(?::[0-9]{2}(?:[.,][0-9]{1,9})?)?)(?: ?Uhr)? ?(?:([ap])\.?m\.?)?` +
		` ?(?:Z|UTC|(?:UTC|GMT)?([+-][0-9]{2}:?[0-9]{2})|GMT)?(?: \([^()]*\))?$`)
	yearFirstPattern = regexp.MustCompile(`^([0-9]{4})([-/.]?)([0-9]{1,2})([-/.]?)([0-9]{1,2})$`)
	yearLastPattern  = regexp.MustCompile(`^([0-9]{1,2})(\. ?|[-/ ])([0-9]{1,2})(\. ?|[-/ ])([0-9]{4})$`)
	serialPattern    = regexp.MustCompile(`^[0-9]{5}(?:\.[0-9]{1,15})?$`)
	wordPattern      = regexp.MustCompile(`[\pL]+|[0-9]+`)
)

// parseDate reads a date such as 1985-01-31, 19850131, 31.01.1985, 01/31/1985 and "Jan 31, 1985", perhaps with a time
// of day, which is UTC if it has no zone.
func parseDate(text string) (d writtenDate, ok bool) {
	if text = strings.TrimSpace(spaces.Replace(text)); len(text) > maxWritten {
		return d, false
	}
	clock, zone := time.Duration(0), time.UTC
	if found := clockPattern.FindStringSubmatch(text); found != nil {
		if clock, ok = clockOf(found[2], found[3]); !ok {
			return d, false
		}
		if text = found[1]; clock != 0 && found[4] != "" { // midnight of a zone is a day
			if zone, ok = zoneOf(found[4]); !ok {
				return d, false
			}
		}
	}
	day, swapped, style := dayIn(text)
	if day.IsZero() {
		return d, false
	}
	at := func(day time.Time) time.Time {
		return time.Date(day.Year(), day.Month(), day.Day(), 0, 0, 0, 0, zone).Add(clock).UTC()
	}
	d.time, d.style = at(day), style
	if !swapped.IsZero() {
		d.other = at(swapped)
	}
	return d, true
}

// dayIn returns the day in a text, and the other day that it may be, with the month first.
func dayIn(text string) (day, swapped time.Time, style Style) {
	if found := yearFirstPattern.FindStringSubmatch(text); found != nil {
		if found[2] == found[4] && (found[2] != "" || len(text) == len("19850131")) {
			return date(found[1], found[3], found[5]), swapped, 0
		}
		return day, swapped, 0
	}
	if found := yearLastPattern.FindStringSubmatch(text); found != nil && found[2] == found[4] {
		day, swapped = date(found[5], found[3], found[1]), date(found[5], found[1], found[3])
		switch {
		case day.IsZero():
			return swapped, day, monthFirst
		case swapped.IsZero():
			return day, swapped, dayFirst
		case day.Equal(swapped):
			return day, time.Time{}, 0
		}
		return day, swapped, 0
	}
	return dayInWords(text), swapped, 0
}

// date returns a day, the zero time if there is none.
func date(year, month, day string) time.Time {
	found, _ := time.Parse("2006-1-2", year+"-"+month+"-"+day)
	if found.Year() == 0 {
		return time.Time{}
	}
	return found
}

// beside are the words and endings that a date may have beside its day, month and year.
var beside = strings.Fields("mon monday tue tues tuesday wed wednesday thu thur thurs thursday fri friday " +
	"sat saturday sun sunday st nd rd th er de del of the le den")

// dayInWords returns the day in a text with the name of a month, such as "Jan 31, 1985" and "31 de enero de 1985".
func dayInWords(text string) time.Time {
	month, year, day := 0, "", ""
	for _, word := range wordPattern.FindAllString(text, -1) {
		named := monthNamed(word)
		isNumber := word[0] <= '9'
		switch {
		case named > 0 && month == 0:
			month = named
		case isNumber && len(word) == 4 && year == "":
			year = word
		case isNumber && len(word) <= 2 && day == "":
			day = word
		case isNumber || !slices.Contains(beside, names.Fold(word)):
			return time.Time{}
		}
	}
	return date(year, strconv.Itoa(month), day)
}

// monthNames are the names of the months and their short forms, folded, in English, German, French, Spanish, Italian,
// Portuguese and Dutch.
//
//nolint:misspell // most words are not English
var monthNames = [12]string{
	"jan january januar jaenner janner janvier janv enero ene gennaio gen janeiro januari",
	"feb february februar fevrier fevr fev febrero febbraio fevereiro februari",
	"mar march marz mars marzo marco maart mrt",
	"apr april avril avr abril abr aprile",
	"may mai mayo maggio mag maio mei",
	"jun june juni juin junio giugno giu junho",
	"jul july juli juillet juil julio luglio lug julho",
	"aug august aout aou agosto ago augustus",
	"sep sept september septembre septiembre settembre set setembro",
	"oct october okt oktober octobre octubre ottobre ott outubro out",
	"nov november novembre noviembre novembro",
	"dec december dez dezember decembre diciembre dic dicembre dezembro",
}

func monthNamed(word string) int {
	folded := names.Fold(word)
	return slices.IndexFunc(monthNames[:], func(called string) bool {
		return slices.Contains(strings.Fields(called), folded)
	}) + 1
}

// clockOf returns a time of day by its hour, minute and perhaps second, and the letter of am or pm.
func clockOf(text, half string) (clock time.Duration, ok bool) {
	hour, rest, _ := strings.Cut(text, ":")
	if half != "" && strings.Trim(hour, "0") == "" {
		return 0, false
	}
	layout := "15:04:05"[:min(len("15:")+len(rest), len("15:04:05"))]
	if half != "" {
		layout, text = strings.Replace(layout, "15", "3", 1)+"PM", text+strings.ToUpper(half)+"M"
	}
	at, err := time.Parse(layout, text)
	return at.Sub(at.Truncate(24 * time.Hour)), err == nil
}

// zoneOf returns a zone such as +01:00 or +0100.
func zoneOf(text string) (zone *time.Location, ok bool) {
	at, err := time.Parse("-0700", strings.ReplaceAll(text, ":", ""))
	_, offset := at.Zone()
	return time.FixedZone("", offset), err == nil
}

// serialDay is the day before the first one of the serial numbers of workbooks. It takes into account that these have
// a day in 1900 that did not exist.
var serialDay = time.Date(1899, 12, 30, 0, 0, 0, 0, time.UTC)

// dateIn returns the time in a text, as a caller of the API would write it, or why it has none. A number of five digits
// is the serial number of a workbook: 1927 to 2173.
func dateIn(text string, style Style) (any, string) {
	if serialPattern.MatchString(text) && text[0] != '0' {
		days, _ := strconv.ParseFloat(text, 64)
		const day = 24 * 60 * 60
		seconds := int64(days*day + 0.5)
		return serialDay.Add(time.Duration(seconds) * time.Second).Format(apiTime), ""
	}
	date, ok := parseDate(text)
	switch {
	case !ok:
		return nil, "is not a date, such as 2026-01-31"
	case date.other.IsZero() || style&dates == dayFirst:
	case style&dates == monthFirst:
		date.time = date.other
	default:
		return nil, "may be the day " + date.time.Format(time.DateOnly) + " or " + date.other.Format(time.DateOnly) +
			": write it so, or choose the country"
	}
	return date.time.Format(apiTime), ""
}

const apiTime = "2006-01-02T15:04:05.000Z"
