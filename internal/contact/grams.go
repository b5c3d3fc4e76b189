package contact

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
	gramLength = 3
	maxGrams   = 4 // of a query: a few rare ones narrow the hits down enough
)

// gramsOf returns the trigrams that every hit has, none where no word is long enough. The index only knows that a
// text has them, not where: the hits are checked.
func gramsOf(words []string) []string {
	var grams []string
	for _, word := range words {
		if digitsPattern.MatchString(word) {
			continue // may match in another form than it was written in
		}
		grams = append(grams, gramsIn(Fold(word))...)
	}
	slices.Sort(grams)
	return slices.Compact(grams)
}

func gramsIn(text string) []string {
	letters := []rune(text)
	var grams []string
	for i := 0; i+gramLength <= len(letters); i++ {
		grams = append(grams, string(letters[i:i+gramLength]))
	}
	return grams
}

const (
	sampleSize = 500
	sampleAge  = time.Minute
	sampleSQL  = "SELECT `text` FROM `_contactSearch` ORDER BY `seq` DESC LIMIT ?"

	// commonShare is from which part of the texts on a trigram tells too little: walking its list beside a rare one's
	// costs more than it spares.
	commonShare = 0.05
)

// telling knows which trigrams are rare.
var telling gramSample

// gramSample counts the trigrams of the contacts that were written last. It steers the search and decides nothing: all
// choices find the same.
type gramSample struct {
	mu     sync.Mutex
	read   time.Time
	texts  int
	counts map[string]int // in how many of the texts each is
}

// match returns the query of the trigram index: the rarest trigram, and others where they are rare too.
func (s *gramSample) match(app core.App, grams []string) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if time.Since(s.read) > sampleAge {
		if err := s.load(app); err != nil {
			return "", fmt.Errorf("counting trigrams: %w", err)
		}
	}
	slices.SortStableFunc(grams, func(a, b string) int { return s.counts[a] - s.counts[b] })
	var chosen []string
	for _, gram := range grams[:min(maxGrams, len(grams))] {
		if len(chosen) > 0 && float64(s.counts[gram]) > commonShare*float64(s.texts) {
			break
		}
		chosen = append(chosen, `"`+strings.ReplaceAll(gram, `"`, `""`)+`"`)
	}
	return strings.Join(chosen, " AND "), nil
}

func (s *gramSample) load(app core.App) error {
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
		grams := gramsIn(text)
		slices.Sort(grams)
		for _, gram := range slices.Compact(grams) {
			s.counts[gram]++
		}
	}
	return rows.Err()
}
