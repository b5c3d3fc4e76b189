package charset

import (
	"bytes"
	"cmp"
	"slices"
	"strings"

	"github.com/wlynxg/chardet"
)

// Candidate is an encoding in which a text may be.
type Candidate struct {
	Encoding string   `json:"encoding"`
	Samples  []string `json:"samples"` // up to two cells, as this encoding reads them
}

const (
	// certain is the likelihood from which a candidate is chosen, and distance is how much more likely it must be than
	// each other one in the cells that these read differently.
	certain, distance = 0.8, 0.05

	// likely and farther are the same for a candidate that is far more likely than others.
	likely, farther = 0.6, 0.2

	// possible is the likelihood from which a usual encoding of the country is chosen, unless another one is more likely
	// by overruling.
	possible, overruling = 0.4, 0.15

	// shown is how many candidates, and cells of each, a person can compare.
	shown, sampled = 3, 2
)

// Guess returns the encoding of a text's cells that have bytes beyond ASCII. country is the code of the country that
// the text comes from, "" if unknown. If neither that nor the cells decide, the encoding is the most likely one, and
// there are two or three candidates, of which that is the first.
func Guess(cells [][]byte, country string) (name string, undecided []Candidate) {
	readings := readAll(cells, country)
	slices.SortStableFunc(readings, func(a, b *reading) int { return cmp.Compare(b.likelihood, a.likelihood) })
	best := readings[0]
	if best.isAhead(readings[1:], certain, distance) || best.isAhead(readings[1:], likely, farther) {
		return best.name, nil
	}
	for _, own := range readings {
		if slices.Contains(usual[country], own.name) && own.likelihood >= possible && best.lead(own) <= overruling {
			return own.name, nil
		}
	}
	for _, r := range readings[:min(shown, len(readings))] {
		undecided = append(undecided, Candidate{r.name, r.samples(readings)})
	}
	return best.name, undecided
}

// readAll returns what the encodings make of the cells, without those that read the same as one before.
func readAll(cells [][]byte, country string) (readings []*reading) {
	guessed := confidences(cells)
	seen := map[string]bool{}
	for _, name := range slices.Concat(usual[country], others) {
		if r := read(name, cells); !seen[strings.Join(r.texts, "\n")] {
			seen[strings.Join(r.texts, "\n")] = true
			readings = append(readings, r)
		}
	}
	isKorean := slices.ContainsFunc(readings, func(r *reading) bool { return r.name == korean && r.isHangul() })
	first := firstWide(guessed)
	if isKorean {
		first = korean
	}
	for _, r := range readings {
		own := slices.Index(usual[country], r.name)
		switch _, isWide := wide[r.name]; {
		case isWide && (r.name == first || own >= 0 && !isKorean):
		case r.isLatin && !strings.HasPrefix(r.name, "windows-"): // which is rare
			r.scale(0.95)
		case r.isLatin:
		case isWide:
			r.scale(0.6)
		case own >= 0:
		default:
			r.scale(0.75 + 0.25*min(guessed[r.name]/0.75, 1))
		}
	}
	return readings
}

// guesses has the encodings that a guess of the library stands for, by its name in small letters. It knows no Central
// European ones, and takes all Latin texts for Western or Turkish ones.
var guesses = map[string]string{
	"windows-1251": "windows-1251", "koi8-r": "koi8-r koi8-u", "maccyrillic": "x-mac-cyrillic",
	"iso-8859-5": "iso-8859-5", "ibm866": "ibm866",
	"windows-1253": "windows-1253 iso-8859-7", "iso-8859-7": "windows-1253 iso-8859-7",
	"windows-1255": "windows-1255 iso-8859-8", "iso-8859-8": "windows-1255 iso-8859-8",
	"shift_jis": "shift_jis", "cp932": "shift_jis", "euc-jp": "euc-jp", "euc-kr": korean, "cp949": korean,
	"gb2312": "gbk gb18030", "gb18030": "gbk gb18030", "big5": "big5", "euc-tw": "big5", "tis-620": "windows-874",
}

// confidences returns how sure the library is of encodings.
func confidences(cells [][]byte) map[string]float64 {
	sure := map[string]float64{}
	for _, guess := range chardet.DetectAll(bytes.Join(cells, []byte{'\n'})) {
		for name := range strings.FieldsSeq(guesses[strings.ToLower(guess.Encoding)]) {
			sure[name] = max(sure[name], guess.Confidence)
		}
	}
	return sure
}

// firstWide returns the East Asian encoding of which the library is most sure, "" for none.
func firstWide(sure map[string]float64) (first string) {
	for _, name := range others {
		if _, isWide := wide[name]; isWide && sure[name] > sure[first] {
			first = name
		}
	}
	return first
}
