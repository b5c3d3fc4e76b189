package search

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/sqlite"
)

const (
	trigramLength = 3
	maxTrigrams   = 4 // of a query: a few rare ones select few enough rows
)

// trigram is a trigram that every hit has, and the number of the first word that contains it.
type trigram struct {
	text string
	word int
}

// trigramsOf returns the trigrams that every hit has, none if no word is long enough. The index knows which texts
// have a trigram, but not where, so that the hits have to be checked.
func trigramsOf(words []string) []trigram {
	var trigrams []trigram
	known := map[string]bool{}
	for i, word := range words {
		if digitsPattern.MatchString(word) {
			continue // it may match a number that is written differently
		}
		for _, text := range trigramsIn(foldWord(word)) {
			if !known[text] {
				known[text] = true
				trigrams = append(trigrams, trigram{text, i})
			}
		}
	}
	return trigrams
}

func trigramsIn(text string) []string { return gramsIn(text, trigramLength) }

// gramsIn returns the parts of a text that have the given number of letters.
func gramsIn(text string, length int) []string {
	letters := []rune(text)
	var grams []string
	for i := 0; i+length <= len(letters); i++ {
		grams = append(grams, string(letters[i:i+length]))
	}
	return grams
}

// shortWordsOf returns the words that are too short for a trigram.
func shortWordsOf(words []string) []string {
	var short []string
	for _, word := range words {
		if word = foldWord(word); !digitsPattern.MatchString(word) && utf8.RuneCountInString(word) < trigramLength {
			short = append(short, word)
		}
	}
	return short
}

const (
	sampleSize = 500
	sampleAge  = time.Minute
	sampleSQL  = "SELECT `text` FROM `_contactSearch` ORDER BY `seq` DESC LIMIT ?"

	// commonShare is the share of the texts from which a trigram is common: reading its list beside that of a rare
	// one costs more than it saves.
	commonShare = 0.05

	// worthWalking is the number of entries of a list that take as long to read as one row.
	worthWalking = 20

	// commonShortShare is the share of the texts from which a word of one or two letters is found faster by
	// reading the texts.
	commonShortShare = 0.01
)

// sample counts the trigrams, letters and pairs of letters of the contacts that were written last, and so knows which
// are rare. It affects only the speed of a search: whatever it chooses finds the same contacts. The zero sample is
// loaded when it is first used.
type sample struct {
	mu     sync.Mutex
	read   time.Time
	texts  int
	counts map[string]int // the number of texts that contain each
}

// refresh loads the sample if it is too old. The caller holds mu.
func (s *sample) refresh(app core.App) error {
	if time.Since(s.read) <= sampleAge {
		return nil
	}
	if err := s.load(app); err != nil {
		return fmt.Errorf("counting trigrams: %w", err)
	}
	return nil
}

// rarest returns the rarest of the short words, "" if all of them are common.
func (s *sample) rarest(app core.App, short []string) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.refresh(app); err != nil {
		return "", err
	}
	word := slices.MinFunc(short, func(a, b string) int { return s.counts[a] - s.counts[b] })
	if float64(s.counts[word]) > commonShortShare*float64(s.texts) {
		return "", nil
	}
	return word, nil
}

// match returns the query of the trigram index: the rarest trigram, and others that narrow the result.
func (s *sample) match(app core.App, trigrams []trigram) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.refresh(app); err != nil {
		return "", err
	}
	slices.SortStableFunc(trigrams, func(a, b trigram) int {
		return cmp.Or(s.counts[a.text]-s.counts[b.text], strings.Compare(a.text, b.text))
	})
	var chosen []string
	used := map[int]bool{} // words
	for _, t := range trigrams {
		if len(chosen) == maxTrigrams {
			break
		}
		if len(chosen) > 0 && !s.narrows(s.counts[t.text], s.counts[trigrams[0].text], used[t.word]) {
			continue
		}
		used[t.word] = true
		chosen = append(chosen, `"`+strings.ReplaceAll(t.text, `"`, `""`)+`"`)
	}
	return strings.Join(chosen, " AND "), nil
}

// narrows reports whether reading the list of a trigram, which is in count texts, costs less than reading the rows of
// the rarest trigram that it excludes. A second trigram of the same word excludes few.
func (s *sample) narrows(count, rarest int, sameWord bool) bool {
	if float64(count) <= commonShare*float64(s.texts) {
		return true
	}
	return !sameWord && count*s.texts <= worthWalking*rarest*(s.texts-count)
}

func (s *sample) load(app core.App) error {
	texts, err := sqlite.Values[string](sqlite.Direct(app.ConcurrentDB()), sampleSQL, sampleSize)
	if err != nil {
		return err
	}
	s.texts, s.counts, s.read = len(texts), map[string]int{}, time.Now()
	for _, text := range texts {
		for length := 1; length <= trigramLength; length++ {
			grams := gramsIn(text, length)
			slices.Sort(grams)
			for _, gram := range slices.Compact(grams) {
				s.counts[gram]++
			}
		}
	}
	return nil
}
