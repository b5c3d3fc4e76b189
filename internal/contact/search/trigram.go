package search

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/sqlite"
)

const (
	trigramLength = 3
	maxTrigrams   = 4 // of a query: a few rare ones narrow the hits down enough
)

// trigramsOf returns the trigrams that every hit has, none where no word is long enough. The index only knows that a
// text has them, not where: the hits are checked.
func trigramsOf(words []string) []string {
	var trigrams []string
	for _, word := range words {
		if digitsPattern.MatchString(word) {
			continue // may match in another form than it was written in
		}
		trigrams = append(trigrams, trigramsIn(Fold(word))...)
	}
	slices.Sort(trigrams)
	return slices.Compact(trigrams)
}

func trigramsIn(text string) []string {
	letters := []rune(text)
	var trigrams []string
	for i := 0; i+trigramLength <= len(letters); i++ {
		trigrams = append(trigrams, string(letters[i:i+trigramLength]))
	}
	return trigrams
}

const (
	sampleSize = 500
	sampleAge  = time.Minute
	sampleSQL  = "SELECT `text` FROM `_contactSearch` ORDER BY `seq` DESC LIMIT ?"

	// commonShare is from which part of the texts on a trigram tells too little: walking its list beside a rare one's
	// costs more than it spares.
	commonShare = 0.05
)

// sample counts the trigrams of the contacts that were written last, and so knows which are rare. It steers the search
// and decides nothing: all choices find the same. The zero sample is read when it is first asked.
type sample struct {
	mu     sync.Mutex
	read   time.Time
	texts  int
	counts map[string]int // in how many of the texts each is
}

// match returns the query of the trigram index: the rarest trigram, and others where they are rare too.
func (s *sample) match(app core.App, trigrams []string) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if time.Since(s.read) > sampleAge {
		if err := s.load(app); err != nil {
			return "", fmt.Errorf("counting trigrams: %w", err)
		}
	}
	slices.SortStableFunc(trigrams, func(a, b string) int { return s.counts[a] - s.counts[b] })
	var chosen []string
	for _, trigram := range trigrams[:min(maxTrigrams, len(trigrams))] {
		if len(chosen) > 0 && float64(s.counts[trigram]) > commonShare*float64(s.texts) {
			break
		}
		chosen = append(chosen, `"`+strings.ReplaceAll(trigram, `"`, `""`)+`"`)
	}
	return strings.Join(chosen, " AND "), nil
}

func (s *sample) load(app core.App) error {
	rows, err := sqlite.Direct(app.ConcurrentDB()).Query(sampleSQL, sampleSize)
	if err != nil {
		return err
	}
	defer rows.Close()
	s.texts, s.counts, s.read = 0, map[string]int{}, time.Now()
	for rows.Next() {
		var text string
		if err := rows.Scan(&text); err != nil {
			return err
		}
		s.texts++
		trigrams := trigramsIn(text)
		slices.Sort(trigrams)
		for _, trigram := range slices.Compact(trigrams) {
			s.counts[trigram]++
		}
	}
	return rows.Err()
}
