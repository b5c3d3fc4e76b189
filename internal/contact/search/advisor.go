package search

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode"

	"github.com/pocketbase/dbx"
	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/sqlite"
)

const (
	// largeTenant is the number of contacts from which a tenant is searched through the index. The index spans all
	// tenants, so that reading the rows of a smaller tenant is faster.
	largeTenant = 20_000

	sizeAge = time.Minute
)

// Advisor chooses between the ways of searching, all of which find the same contacts. It remembers for a while which
// tenants are large and which trigrams are rare. The zero Advisor is ready for use, by several goroutines at once.
type Advisor struct {
	sizes  sync.Map // of tenants, by id
	sample sample
	folded atomic.Bool // what IsFolded has returned
}

// foldedSQL returns whether Refold has written all rows of earlier versions.
const foldedSQL = "SELECT `upTo` >= `last` FROM `_contactFolded`"

// IsFolded reports whether this version has folded all search rows. Until then their texts may have marks, the index
// has these, and contacts cannot be sorted by the names of their rows. It also answers while an upgrade is running.
func (a *Advisor) IsFolded(app core.App) (bool, error) {
	if a.folded.Load() {
		return true, nil
	}
	folded, err := sqlite.Value[bool](sqlite.Direct(app.ConcurrentDB()), foldedSQL)
	if err != nil && strings.Contains(err.Error(), "no such table: _contactFolded") {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("reading whether search rows are folded: %w", err)
	}
	a.folded.Store(folded)
	return folded, nil
}

type tenantSize struct {
	large bool
	read  time.Time
}

// Match is a condition on `_contactGrams` with its parameters. All contacts with the words fulfil it,
// and perhaps others.
type Match struct {
	SQL    string
	Params map[string]any
}

// Match returns the query of the trigram index, nil if reading the tenant's rows is faster.
func (a *Advisor) Match(app core.App, tenantID string, words []string) (*Match, error) {
	trigrams, short := trigramsOf(words), shortWordsOf(words)
	if len(trigrams) == 0 && len(short) == 0 {
		return nil, nil
	}
	if large, err := a.large(app, tenantID); err != nil || !large {
		return nil, err
	}
	if len(trigrams) == 0 {
		return a.matchShort(app, short)
	}
	query, err := a.sample.match(app, trigrams)
	if err != nil {
		return nil, err
	}
	return &Match{"`_contactGrams` MATCH :match", map[string]any{"match": query}}, nil
}

// The trigrams that begin with a short word are from :match up to :behind. The search statement itself looks up which
// of them the index has, so that it misses none that was indexed meanwhile.
const (
	termsSQL      = "FROM `_contactTerms` WHERE `term` >= :match AND `term` < :behind"
	countTermsSQL = "SELECT count(*) FROM (SELECT 1 " + termsSQL + " LIMIT :limit)"
	shortSQL      = "`_contactGrams` MATCH " +
		"(SELECT ifnull(group_concat('\"' || replace(`term`, '\"', '\"\"') || '\"', ' OR '), '" +
		noText + "') " + termsSQL + ")"
	noText = "\U0010FFFE\U0010FFFE\U0010FFFE" // the query must not be empty
)

// maxTerms is the maximum number of trigrams that a search looks for at once.
const maxTerms = 200

func (a *Advisor) matchShort(app core.App, short []string) (*Match, error) {
	word, err := a.sample.rarest(app, short)
	if err != nil || word == "" {
		return nil, err
	}
	m := &Match{shortSQL, map[string]any{"match": word, "behind": word + string(unicode.MaxRune)}}
	var terms int
	err = app.ConcurrentDB().NewQuery(strings.NewReplacer(":match", "{:match}",
		":behind", "{:behind}", ":limit", "{:limit}").Replace(countTermsSQL)).
		Bind(dbx.Params{"match": word, "behind": m.Params["behind"], "limit": maxTerms + 1}).Row(&terms)
	if err != nil {
		return nil, fmt.Errorf("counting trigrams: %w", err)
	}
	if terms > maxTerms {
		return nil, nil
	}
	return m, nil
}

func (a *Advisor) large(app core.App, tenantID string) (bool, error) {
	if known, ok := a.sizes.Load(tenantID); ok && time.Since(known.(tenantSize).read) < sizeAge {
		return known.(tenantSize).large, nil
	}
	var large bool
	err := app.ConcurrentDB().NewQuery(
		"SELECT EXISTS (SELECT 1 FROM {{_contactSearch}} WHERE [[tenant]] = {:tenant} LIMIT 1 OFFSET {:size})",
	).
		Bind(dbx.Params{"tenant": tenantID, "size": largeTenant}).Row(&large)
	if err != nil {
		return false, fmt.Errorf("counting the contacts of the tenant %s: %w", tenantID, err)
	}
	a.sizes.Store(tenantID, tenantSize{large, time.Now()})
	return large, nil
}
