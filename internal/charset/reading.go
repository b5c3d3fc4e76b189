package charset

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// reading is what an encoding makes of cells.
type reading struct {
	name       string
	texts      []string
	scores     []float64 // of the cells, from 0 to 1
	likelihood float64   // the mean of the scores
	isLatin    bool      // whether most words are Latin ones
}

func read(name string, cells [][]byte) *reading {
	r := &reading{name: name, texts: make([]string, len(cells)), scores: make([]float64, len(cells))}
	for i, cell := range cells {
		r.texts[i] = decode(name, cell)
	}
	if lead, isWide := wide[name]; isWide {
		for i, text := range r.texts {
			r.scores[i] = everyday(text, cells[i], lead)
		}
	} else {
		r.scoreWords()
	}
	for _, score := range r.scores {
		r.likelihood += score / float64(len(cells))
	}
	return r
}

// scoreWords scores the cells by their words.
func (r *reading) scoreWords() {
	words, spoken := make([][]word, len(r.texts)), languagesIn(r.name)
	all, latin, known := 0, 0, make([]int, len(languages))
	for i, text := range r.texts {
		words[i] = wordsOf(text)
		all += len(words[i])
		for at := range words[i] {
			w := &words[i][at]
			if !w.isLatin {
				continue
			}
			latin++
			w.languages &= spoken
			for at := range known {
				if w.penalty == 0 && w.languages&(1<<at) != 0 {
					known[at]++
				}
			}
		}
	}
	r.isLatin = 2*latin > all
	share := make([]float64, len(languages))
	for at, of := range languages {
		share[at] = of.usual * float64(known[at]) / float64(max(latin, 1))
	}
	for i := range words {
		for _, w := range words[i] {
			r.scores[i] += w.score(share) / float64(len(words[i]))
		}
		r.scores[i] = max(r.scores[i], 0)
	}
}

// score returns how plausible a word is beside the others: a language counts as much as it has of their share.
func (w word) score(share []float64) float64 {
	score := 0.3 + 0.7*w.fluency
	switch {
	case w.penalty > 0:
		return 1 - w.penalty
	case w.isLatin:
		most := 0.0
		for at := range share {
			if w.languages&(1<<at) != 0 {
				most = max(most, share[at])
			}
		}
		if most == 0 {
			return 0
		}
		score = (0.3 + 0.7*most) * (0.5 + 0.5*w.fluency)
	}
	if w.isOdd {
		score *= 0.7
	}
	return score
}

// isAhead reports whether the reading has at least a likelihood, and leads all others by a distance.
func (r *reading) isAhead(others []*reading, likelihood, distance float64) bool {
	return r.likelihood >= likelihood && !slices.ContainsFunc(others, func(other *reading) bool {
		return r.lead(other) < distance && !areSiblings(r.name, other.name)
	})
}

// siblings have the same letters at the same places, but for a few.
var siblings = [][2]string{
	{"windows-1253", "iso-8859-7"}, {"windows-1255", "iso-8859-8"}, {"koi8-r", "koi8-u"}, {"gbk", "gb18030"},
}

func areSiblings(a, b string) bool {
	return slices.Contains(siblings, [2]string{a, b}) || slices.Contains(siblings, [2]string{b, a})
}

// lead returns how much more likely the reading is than another one in the cells that they read differently.
func (r *reading) lead(other *reading) float64 {
	sum, cells := 0.0, 0
	for i, text := range r.texts {
		if text != other.texts[i] {
			sum += r.scores[i] - other.scores[i]
			cells++
		}
	}
	return sum / float64(max(cells, 1))
}

// scale makes a reading less likely.
func (r *reading) scale(factor float64) {
	r.likelihood *= factor
	for i := range r.scores {
		r.scores[i] *= factor
	}
}

// samples returns the first cells that the first candidates read differently.
func (r *reading) samples(all []*reading) (samples []string) {
	for i, text := range r.texts {
		for _, other := range all[:min(shown, len(all))] {
			if other != r && other.texts[i] != text && len(samples) < sampled {
				samples = append(samples, text)
				break
			}
		}
	}
	return samples
}

const (
	japanese = "shift_jis"
	korean   = "euc-kr"
)

// wide has the encodings of East Asia, whose characters have two bytes, with the first and the last leading byte of
// everyday characters.
var wide = map[string][2]byte{
	japanese: {0x82, 0x97}, "euc-jp": {0xa4, 0xcf}, korean: {0xb0, 0xc8}, "gbk": {0xb0, 0xd7},
	"gb18030": {0xb0, 0xd7}, "big5": {0xa4, 0xc6},
}

// everyday returns the share of everyday characters in a cell, 0 if it has some that do not exist. A character beside a
// Latin letter is not one: words rarely mix them, but the East Asian reading of a Latin word does.
func everyday(text string, cell []byte, lead [2]byte) float64 {
	if strings.ContainsFunc(text, func(c rune) bool {
		return isHigh(c) && (c == utf8.RuneError || !unicode.IsPrint(c) && !unicode.IsSpace(c))
	}) {
		return 0
	}
	found, characters, isBehindLetter := 0, 0, false
	for i := 0; i < len(cell); i++ {
		if cell[i] < utf8.RuneSelf {
			isBehindLetter = isLetter(cell[i])
			continue
		}
		begin := cell[i]
		characters++
		if isSingle := lead == wide[japanese] && begin >= 0xa1 && begin <= 0xdf; !isSingle {
			i++
		}
		isBeforeLetter := i+1 < len(cell) && isLetter(cell[i+1])
		if begin >= lead[0] && begin <= lead[1] && !isBehindLetter && !isBeforeLetter {
			found++
		}
		isBehindLetter = false
	}
	return float64(found) / float64(max(characters, 1))
}

func isLetter(b byte) bool { return b|0x20 >= 'a' && b|0x20 <= 'z' }

// isHangul reports whether all characters beyond ASCII are everyday Korean syllables, and there are some: rows of other
// languages are not among these only.
func (r *reading) isHangul() bool {
	const some = 12
	syllables := 0
	for _, text := range r.texts {
		for _, c := range text {
			if isHigh(c) && !unicode.Is(unicode.Hangul, c) {
				return false
			}
			if isHigh(c) {
				syllables++
			}
		}
	}
	return syllables >= some && r.likelihood > 0.999
}
