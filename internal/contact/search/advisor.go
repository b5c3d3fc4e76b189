package search

import (
	"fmt"
	"sync"
	"time"

	"github.com/pocketbase/dbx"
	"github.com/pocketbase/pocketbase/core"
)

const (
	// largeTenant is from how many contacts on a tenant is searched through the index: it spans all tenants, so that
	// reading the rows of a smaller one is faster.
	largeTenant = 20_000

	sizeAge = time.Minute
)

// Advisor chooses between the ways of searching, which find the same. It remembers for a while which tenants are large
// and which trigrams are rare. The zero Advisor is ready for use, by many at once.
type Advisor struct {
	sizes  sync.Map // of tenants, by id
	sample sample
}

type tenantSize struct {
	large bool
	read  time.Time
}

// Match returns what to ask the index of trigrams for, so that the contacts with all the words are among the hits, and ""
// where reading the tenant's rows is faster.
func (a *Advisor) Match(app core.App, tenantID string, words []string) (string, error) {
	trigrams := trigramsOf(words)
	if len(trigrams) == 0 {
		return "", nil
	}
	if large, err := a.large(app, tenantID); err != nil || !large {
		return "", err
	}
	return a.sample.match(app, trigrams)
}

func (a *Advisor) large(app core.App, tenantID string) (bool, error) {
	if known, ok := a.sizes.Load(tenantID); ok && time.Since(known.(tenantSize).read) < sizeAge {
		return known.(tenantSize).large, nil
	}
	var large bool
	err := app.ConcurrentDB().NewQuery("SELECT EXISTS (SELECT 1 FROM {{_contactSearch}} WHERE [[tenant]] = {:tenant} LIMIT 1 OFFSET {:size})").
		Bind(dbx.Params{"tenant": tenantID, "size": largeTenant}).Row(&large)
	if err != nil {
		return false, fmt.Errorf("sizing up the tenant %s: %w", tenantID, err)
	}
	a.sizes.Store(tenantID, tenantSize{large, time.Now()})
	return large, nil
}
