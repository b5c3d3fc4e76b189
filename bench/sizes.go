package main

import (
	"cmp"
	"fmt"
	"io"
	"math/rand/v2"
	"net/url"
	"strings"
	"time"
)

// compareSizes measures our server on folders of several sizes, in alternation.
func compareSizes(out io.Writer, dir string) error {
	heading(out, "Few contacts and many", fmt.Sprintf(" %d connections. Requests go to tenants, contacts and pages at random. The ratio is to the first of the sizes.", *connections))
	binary, err := build(dir, "contactbase", ".")
	if err != nil {
		return err
	}
	all, err := preparePopulations(binary, cmp.Or(*folders, dir))
	if err != nil {
		return err
	}
	for _, p := range all {
		defer p.stop()
		if err := p.begin(binary); err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
	}
	fmt.Fprintln(out, "| request | contacts | requests/s (min–max) | ratio | p50 | p99 | CPU/request |\n|---|---|---|---|---|---|---|")
	for _, name := range sizePhases {
		if !wanted(name) {
			continue
		}
		if err := compareSize(out, all, name); err != nil {
			return err
		}
	}
	fmt.Fprintln(out, "\n| contacts | on disk | memory | at its peak | from the start to the first answer |\n|---|---|---|---|---|")
	for _, p := range all {
		now, peak := p.memory()
		fmt.Fprintf(out, "| %s | %d MiB | %d MiB | %d MiB | %v |\n", p, p.size()>>20, now, peak, p.ready.Round(time.Millisecond))
	}
	return nil
}

// preparePopulations prepares those that -sizes names.
func preparePopulations(binary, folders string) (all []*population, err error) {
	for text := range strings.SplitSeq(*sizes, ",") {
		p, err := parsePopulation(text, folders)
		if err != nil {
			return nil, err
		}
		whole, err := p.prepare(binary, *timeout)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", text, err)
		}
		if !whole {
			return nil, fmt.Errorf("%s: there are not all contacts yet, so nothing is measured; run it again with -folders", text)
		}
		all = append(all, p)
	}
	return all, nil
}

// sizePhases are the requests of which populations are compared. Searches go over one connection. What writes comes last, because the
// index of trigrams follows it.
var sizePhases = []string{
	"read one", "list 50", "cursor, at any depth", "q rare", "q common", "q two words", "q two letters", "q no such letters", "update one field", "create", "create, all of one tenant",
}

// compareSize measures one kind of request and prints a row for each population.
func compareSize(out io.Writer, all []*population, name string) error {
	count := *connections
	if strings.HasPrefix(name, "q ") {
		count = 1
	}
	measured := newTable()
	for range *rounds {
		for _, p := range all {
			before := p.cpu()
			loaded, err := loadUntilSettled(p.target, count, p.request(name), nil)
			if err != nil {
				return fmt.Errorf("%s, %s: %w", p.name, name, err)
			}
			measured.add(name, p.name, loaded, p.cpu()-before)
		}
	}
	least := median(measured.rates[name][all[0].name])
	for _, p := range all {
		rates, last := measured.rates[name][p.name], measured.last[name][p.name]
		fmt.Fprintf(out, "| %s | %s | %s | %.2f | %s | %s | %s |\n", name, p, spread(rates), median(rates)/least, short(last.p50), short(last.p99), short(measured.perCall[name][p.name]))
	}
	return nil
}

// request returns the requests of that name, each of a tenant at random.
func (p *population) request(name string) request {
	switch name {
	case "create, all of one tenant":
		return func(int64, *rand.Rand) call {
			return call{"POST", ourContacts, contact(rand.Int64N(1<<40), ""), p.members[0].key}
		}
	case "create":
		return func(int64, *rand.Rand) call {
			return call{"POST", ourContacts, contact(rand.Int64N(1<<40), ""), p.anybody()}
		}
	case "read one":
		return func(int64, *rand.Rand) call {
			person := p.people[rand.IntN(len(p.people))]
			return call{"GET", person.path, "", person.key}
		}
	case "update one field":
		return func(n int64, _ *rand.Rand) call {
			person := p.people[rand.IntN(len(p.people))]
			return call{"PATCH", person.path, fmt.Sprintf(`{"company":"Changed %d"}`, n), person.key}
		}
	case "list 50":
		return p.list("")
	case "cursor, at any depth":
		return func(int64, *rand.Rand) call {
			page := p.pages[rand.IntN(len(p.pages))]
			return call{"GET", page.path, "", page.key}
		}
	}
	return p.list("&q=" + url.QueryEscape(map[string]string{
		"q rare":            rareWord(p.contacts),
		"q common":          "example",
		"q two words":       "anna example7",
		"q two letters":     "nn",
		"q no such letters": "qq",
	}[name]))
}

func (p *population) list(query string) request {
	return func(int64, *rand.Rand) call { return call{"GET", ourContacts + "?limit=50" + query, "", p.anybody()} }
}

// anybody returns the key of a tenant.
func (p *population) anybody() string { return p.members[rand.IntN(len(p.members))].key }

// rareWord returns a word that one of so many contacts has.
func rareWord(contacts int) string {
	return fmt.Sprintf("nr%x", (firstContact+int64(contacts)*7/10)*7919)
}
