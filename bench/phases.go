package main

import (
	"cmp"
	"fmt"
	"math/rand/v2"
)

const createsPerSecond = 5_000

// phase is a kind of request.
type phase struct {
	name        string
	requests    func(*population) request
	plain       bool // whether plain PocketBase has such requests
	connections int  // 0 for -connections
	writes      bool
	fixed       int64 // how many requests are sent; 0 for any number in -seconds
	perSecond   int64 // how many requests are sent for each of -seconds, instead
	webhooks    int
}

func (p *phase) parallel() int { return cmp.Or(p.connections, *connections) }

// count returns how many requests are sent; 0 for any number. Contacts are created in the same number on all servers.
func (p *phase) count() int64 { return max(p.fixed, int64(float64(p.perSecond)**seconds)) }

// commonPhases are those that any number of tenants and contacts can have.
func commonPhases() []*phase {
	return []*phase{
		{name: "read one", plain: true, requests: func(p *population) request {
			return func(_ int64, random *rand.Rand) call { return draw(random, p.people) }
		}},
		{name: "list 50", plain: true, requests: list("", "")},
		{name: "list 50, at any depth", plain: true, requests: func(p *population) request {
			return func(_ int64, random *rand.Rand) call { return draw(random, p.pages) }
		}},
		{name: "q rare, 1 connection", plain: true, connections: 1,
			requests: func(p *population) request { return p.searches(rareWord(p)) }},
		search("q common", "example", true),
		search("q two words", "anna example7", false),
		search("q two letters", "nn", false),
		search("q no such letters", "qq", false),
		{name: "update one field", plain: true, writes: true, requests: func(p *population) request {
			return func(n int64, random *rand.Rand) call {
				person := draw(random, p.people)
				return call{"PATCH", person.path, fmt.Sprintf(`{"company":"Changed %d"}`, n), person.auth}
			}
		}},
		{name: createPhase, plain: true, writes: true, perSecond: createsPerSecond, requests: creates},
	}
}

const createPhase = "create"

// requestPhases are those that are measured side by side with plain PocketBase.
func requestPhases() []*phase {
	half := *contacts / 2
	return append(commonPhases(),
		search("q accented", "zoe", false),
		&phase{name: "offset at half", plain: true, requests: list(fmt.Sprintf("&offset=%d", half),
			fmt.Sprintf("&page=%d", half/50+1))},
		&phase{name: "upsert, new contacts", writes: true, perSecond: createsPerSecond, requests: func(
			p *population,
		) request {
			return func(_ int64, random *rand.Rand) call {
				n := random.Int64N(1 << 40)
				return call{
					"PUT", fmt.Sprintf("%s/by-external-id/bench-%d", ourContacts, n),
					p.contact(p.members[0], n), p.members[0].auth(),
				}
			}
		}},
		&phase{name: "batch of 1,000 new contacts, 1 connection", writes: true, fixed: 20, connections: 1, requests: batches},
		&phase{
			name:   "batch of 1,000 new contacts, 4 connections",
			writes: true, fixed: 20, connections: 4, requests: batches,
		},
		&phase{name: "inbound call with 1,000 new contacts, 1 connection",
			writes: true, fixed: 20, connections: 1, requests: func(p *population) request {
				return func(_ int64, random *rand.Rand) call {
					all := make([]byte, 0, 200_000)
					for range 1_000 {
						all = append(append(all, ','), p.contact(p.members[0], random.Int64N(1<<40))...)
					}
					all[0] = '['
					return call{method: "POST", path: p.inbound, body: string(append(all, ']'))}
				}
			}},
		&phase{name: "1,000 events of the feed, 1 connection", connections: 1, requests: func(p *population) request {
			return func(_ int64, random *rand.Rand) call { return draw(random, p.events) }
		}},
	)
}

func search(name, word string, plain bool) *phase {
	return &phase{name: name + ", 1 connection", plain: plain, connections: 1, requests: func(p *population) request {
		return p.searches(word)
	}}
}

func (p *population) searches(word string) request {
	return func(_ int64, random *rand.Rand) call { return p.search(draw(random, p.members), word) }
}

func list(ours, plain string) func(*population) request {
	return func(p *population) request {
		return func(_ int64, random *rand.Rand) call { return p.list(draw(random, p.members), ours, plain) }
	}
}

func creates(p *population) request {
	return func(_ int64, random *rand.Rand) call { return p.create(draw(random, p.members), random.Int64N(1<<40)) }
}

func batches(p *population) request {
	return func(_ int64, random *rand.Rand) call {
		return p.newContacts(p.members[0], random.Int64N(1<<40), 1_000)
	}
}

func draw[V any](random *rand.Rand, from []V) V { return from[random.IntN(len(from))] }

func createsOfOne(p *population) request {
	return func(_ int64, random *rand.Rand) call { return p.create(p.members[0], random.Int64N(1<<40)) }
}
