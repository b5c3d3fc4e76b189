package e2e

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"

	"contactbase/e2e/linear"
)

// group is two external ids, and what the clients know of their contacts.
type group struct {
	number int
	left   int // requests until it is done; of the lab's mu

	mu      sync.Mutex
	known   []knownVersion // the last ones
	repeats map[int]*linearRequest
}

// knownVersion is a contact as a client has seen it.
type knownVersion struct {
	linear.Contact
	tag string // "" where the response had none
}

func (l *lab) newGroup() *group {
	return &group{number: int(l.groups.Add(1)), left: groupRequests, repeats: map[int]*linearRequest{}}
}

func (g *group) externalID(slot int) string { return fmt.Sprintf("g%d-%c", g.number, 'a'+rune(slot)) }

// slotOf returns the slot of an external id, -1 for one that is not of the group.
func (g *group) slotOf(externalID string) int {
	for slot := range 2 {
		if g.externalID(slot) == externalID {
			return slot
		}
	}
	return -1
}

// linearRequest is a request and how it is sent.
type linearRequest struct {
	linear.Request
	method, path string
	header       map[string]string
	kind         func(l *lab, g *group, q *linearRequest, a *answer) []linear.Outcome // reads a success
	expected     knownVersion                                                         // of If-None-Match
}

// next returns a random request to the group.
func (g *group) next(l *lab) *linearRequest {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch n := rand.IntN(100); {
	case n < 10:
		return g.keyed(1, g.create(l))
	case n < 30:
		return g.upsert(l)
	case n < 48:
		return g.update(l)
	case n < 56:
		return g.read()
	case n < 62:
		return g.find()
	case n < 70:
		return g.search()
	case n < 78:
		return g.merge()
	case n < 90:
		return g.batch(l)
	default:
		return g.inbound(l)
	}
}

// pick returns a version that clients know, usually a recent one, or false if they know none.
func (g *group) pick() (knownVersion, bool) {
	if len(g.known) == 0 {
		return knownVersion{}, false
	}
	return g.known[max(0, len(g.known)-1-rand.IntN(4))], true
}

// learn notes a version.
func (g *group) learn(c linear.Contact, tag string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.known = append(g.known, knownVersion{c, tag}); len(g.known) > 8 {
		g.known = g.known[1:]
	}
}

// write returns an action that sets fields to a new token, and the fields.
func (g *group) write(l *lab, kind linear.Kind, name, company bool) (linear.Action, map[string]any) {
	a := linear.Action{Kind: kind, Slot: rand.IntN(2), Token: fmt.Sprintf("g%dn%d", g.number, l.tokens.Add(1)), Name: name, Company: company}
	fields := map[string]any{}
	if name {
		fields["name"] = a.Token
	}
	if company {
		fields["company"] = a.Token
	}
	return a, fields
}

// some returns which fields a change sets, which may be none.
func some() (name, company bool) { return rand.IntN(3) > 0, rand.IntN(2) > 0 }

func (g *group) create(l *lab) *linearRequest {
	a, fields := g.write(l, linear.Create, true, rand.IntN(2) == 0)
	fields["externalId"] = g.externalID(a.Slot)
	return one(a, http.MethodPost, contactsPath, fields)
}

func (g *group) upsert(l *lab) *linearRequest {
	name, company := some()
	a, fields := g.write(l, linear.Upsert, name, company)
	q := one(a, http.MethodPut, contactsPath+"/by-external-id/"+g.externalID(a.Slot), fields)
	switch known, ok := g.pick(); {
	case rand.IntN(5) == 0:
		q.Actions[0].OnlyNew = true
		q.header["If-None-Match"] = "*"
	case ok && rand.IntN(4) == 0:
		q.ifMatch(known)
	}
	return q
}

func (g *group) update(l *lab) *linearRequest {
	known, ok := g.pick()
	if !ok {
		return g.upsert(l)
	}
	name, company := some()
	a, fields := g.write(l, linear.Update, name, company)
	a.ID = known.ID
	q := one(a, http.MethodPatch, contactsPath+"/"+known.ID, fields)
	if rand.IntN(2) == 0 {
		q.ifMatch(known)
	}
	return q
}

func (q *linearRequest) ifMatch(known knownVersion) {
	if known.tag != "" {
		q.Actions[0].If = known.Version
		q.header["If-Match"] = known.tag
	}
}

func (g *group) read() *linearRequest {
	known, ok := g.pick()
	if !ok {
		return g.search()
	}
	q := one(linear.Action{Kind: linear.Read, ID: known.ID}, http.MethodGet, contactsPath+"/"+known.ID, nil)
	if known.tag != "" && rand.IntN(2) == 0 {
		q.header["If-None-Match"], q.expected = known.tag, known
	}
	return q
}

// find reads a contact by its external id.
func (g *group) find() *linearRequest {
	slot := rand.IntN(2)
	return &linearRequest{
		Request: linear.Request{Actions: []linear.Action{{Kind: linear.Read, Slot: slot}}},
		method:  http.MethodGet, path: contactsPath + "?externalId=" + g.externalID(slot), kind: readList,
	}
}

// search reads both contacts.
func (g *group) search() *linearRequest {
	return &linearRequest{
		Request: linear.Request{Actions: []linear.Action{{Kind: linear.Read, Slot: 0}, {Kind: linear.Read, Slot: 1}}},
		method:  http.MethodGet, path: contactsPath + fmt.Sprintf("?q=g%dn", g.number), kind: readList,
	}
}

func (g *group) merge() *linearRequest {
	into, ok := g.pick()
	from, _ := g.pick()
	if !ok || into.ID == from.ID {
		return g.find()
	}
	a := linear.Action{Kind: linear.Merge, ID: into.ID, From: from.ID, TakeSlot: rand.IntN(2) == 0}
	winner := into.ID
	if a.TakeSlot {
		winner = from.ID
	}
	q := one(a, http.MethodPost, contactsPath+"/"+into.ID+"/merge", map[string]any{"from": []string{from.ID}, "fields": map[string]any{"externalId": winner}})
	if rand.IntN(3) == 0 {
		q.ifMatch(into)
	}
	return q
}

func (g *group) batch(l *lab) *linearRequest {
	q := &linearRequest{
		Request: linear.Request{Batch: true, Atomic: rand.IntN(2) == 0}, method: http.MethodPost, path: contactsPath + "/batch", header: map[string]string{}, kind: readBatch,
	}
	var items []any
	for range 2 + rand.IntN(2) {
		kind := []linear.Kind{linear.Create, linear.Upsert, linear.Upsert, linear.Update}[rand.IntN(4)]
		name, company := some()
		a, fields := g.write(l, kind, name || kind == linear.Create, company)
		item := map[string]any{"action": kind, "contact": fields}
		if known, ok := g.pick(); kind == linear.Update && ok {
			a.ID = known.ID
			item["id"] = known.ID
		} else {
			if kind == linear.Update {
				a.Kind, item["action"] = linear.Upsert, linear.Upsert
			}
			fields["externalId"] = g.externalID(a.Slot)
		}
		q.Actions, items = append(q.Actions, a), append(items, item)
	}
	q.Body = encode(map[string]any{"items": items, "atomic": q.Atomic})
	return g.keyed(2, q)
}

// keyed gives some requests an idempotency key of their path, with which clients repeat the first request, or
// send another one.
func (g *group) keyed(key int, q *linearRequest) *linearRequest {
	if rand.IntN(3) > 0 {
		return q
	}
	if first := g.repeats[key]; first != nil && rand.IntN(3) > 0 {
		return first
	}
	q.Key = key
	q.header["Idempotency-Key"] = fmt.Sprintf("g%d", g.number)
	g.repeats[key] = q
	return q
}

// inbound sends one item, or several, to an inbound webhook.
func (g *group) inbound(l *lab) *linearRequest {
	q := &linearRequest{
		Request: linear.Request{Batch: true}, method: http.MethodPost, path: l.hooks[rand.IntN(len(l.hooks))], header: map[string]string{}, kind: readInbound,
	}
	var items []any
	for range 1 + rand.IntN(2) {
		name, company := some()
		a, item := g.write(l, linear.Upsert, name, company)
		a.NamesCompany = true
		if rand.IntN(3) == 0 {
			a, item = linear.Action{Kind: linear.Delete, Slot: a.Slot}, map[string]any{"action": "delete"}
		}
		item["externalId"] = g.externalID(a.Slot)
		q.Actions, items = append(q.Actions, a), append(items, item)
	}
	q.Body = encode(items)
	if len(items) == 1 && rand.IntN(2) == 0 {
		q.Body = encode(items[0])
	}
	return q
}

// one returns a request with one action.
func one(a linear.Action, method, path string, body map[string]any) *linearRequest {
	q := &linearRequest{Request: linear.Request{Actions: []linear.Action{a}}, method: method, path: path, header: map[string]string{}, kind: readOne}
	if body != nil {
		q.Body = encode(body)
	}
	return q
}

func encode(body any) string {
	encoded, err := json.Marshal(body)
	if err != nil {
		panic(err) // unreachable with such bodies
	}
	return string(encoded)
}
