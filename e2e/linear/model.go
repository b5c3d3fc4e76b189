// Package linear has a model of contacts, and checks histories of requests against it. A history is linearizable
// if each request took effect at one moment between its call and its response. Porcupine searches for such
// moments: see ADR 69.
//
// A history is checked in groups of contacts that no request crosses. A group has two external ids, so that a merge,
// a batch or a search of both is one step.
package linear

import (
	"slices"
	"strings"
)

// Version identifies a version of a contact. The zero value is none.
type Version struct{ ID, Updated string }

// Contact is a version of a contact, or no contact.
type Contact struct {
	Version
	Name    string // "" if a response shows only the version
	Company string // "" for null
}

// Kind is what an action does.
type Kind string

// The kinds.
const (
	Create Kind = "create" // with an external id
	Upsert Kind = "upsert" // by external id
	Update Kind = "update"
	Delete Kind = "delete"
	Merge  Kind = "merge"
	Read   Kind = "read"
)

// Action is a part of a request.
type Action struct {
	Kind Kind
	Slot int    // of the group's external ids, which names the contact
	ID   string // which names the contact instead, "" for none

	Token         string // the new value of fields; no two requests share one
	Name, Company bool   // the fields that it sets
	NamesCompany  bool   // whether a new contact with only a company has it as its name

	If       Version // the only version that may be changed; zero for any
	OnlyNew  bool    // whether an existing contact may not be changed
	From     string  // ID of the contact that is merged into this one
	TakeSlot bool    // whether this one gets the external id of that one
}

// Request is actions that take effect at once, in their order.
type Request struct {
	Actions []Action
	Batch   bool   // whether its items have statuses of their own
	Atomic  bool   // whether nothing is written if one action fails
	Key     int    // number of the idempotency key, 0 for none
	Body    string // the same in a repeat with the key
}

// Status is what an action did.
type Status string

// The statuses. Those from Missing on are failures.
const (
	Created   Status = "created"
	Updated   Status = "updated"
	Unchanged Status = "unchanged"
	Deleted   Status = "deleted"
	Merged    Status = "merged"
	Found     Status = "found"
	Missing   Status = "missing"
	Stale     Status = "stale"   // another version, or an existing contact
	Taken     Status = "taken"   // another contact has the external id
	Invalid   Status = "invalid" // a contact without a name, or merged with a missing one
)

func (s Status) failed() bool { return s == Missing || s == Stale || s == Taken || s == Invalid }

// Outcome is what an action did, as a response shows it.
type Outcome struct {
	Status  Status
	Contact Contact
}

// Response is the response to a request.
type Response struct {
	Fate     Fate
	Outcomes []Outcome // one for each action; in an open one only the versions that the feed has
	Replayed bool      // whether the key was used before
	Reused   bool      // whether the key was used with another request, or its contact is gone
}

// hasVersions reports whether there are versions that the request made or read.
func (r Response) hasVersions() bool {
	return slices.ContainsFunc(r.Outcomes, func(o Outcome) bool { return o.Contact.Version != Version{} })
}

// Fate is what a client knows of a request.
type Fate int

// The fates.
const (
	Answered Fate = iota
	Open          // it may take effect now, later or never
	Refused       // it had no effect
)

const (
	slots      = 2
	keys       = 2
	maxActions = 3
)

// State is the contacts of a group by their external ids, what else leads to them, and the responses that are
// remembered for idempotency keys.
type State struct {
	contacts [slots]Contact
	old      [slots]string // the ids of contacts that were merged into the one of a slot, each with a space behind it
	leads    [slots]bool   // whether an external id leads to the contact of the other slot, because of a merge
	answers  [keys]remembered
}

type remembered struct {
	request  string
	outcomes [maxActions]Outcome
}

// step returns the state after a request, and reports whether the response is right. The server chooses the versions.
func (s State) step(q Request, r Response) (State, bool) {
	if q.Key > 0 && s.answers[q.Key-1].request != "" {
		return s, s.repeats(q, r)
	}
	if r.Replayed || r.Reused {
		return s, false
	}
	next, failed := s, false
	made := make([]effect, len(q.Actions))
	for i, a := range q.Actions {
		made[i] = next.apply(a, r.Outcomes[i].Contact.Version)
		failed = failed || made[i].outcome.Status.failed()
	}
	if failed && q.Atomic {
		next = s
		for i := range made {
			made[i] = made[i].undone()
		}
	}
	for i, e := range made {
		if !e.shownBy(q.Actions[i], r.Outcomes[i], r.Fate) {
			return s, r.Fate == Open && !r.hasVersions() // it never took effect
		}
	}
	if q.Key > 0 && (!failed || q.Batch && !q.Atomic) {
		answer := &next.answers[q.Key-1]
		answer.request = q.Body
		for i, e := range made {
			answer.outcomes[i] = e.outcome
		}
	}
	return next, true
}

// repeats reports whether a response to a repeated request is that to the first one. The response to a batch has the
// contacts as they are now.
func (s State) repeats(q Request, r Response) bool {
	first := s.answers[q.Key-1]
	if r.Fate == Open {
		return true
	}
	if r.Reused {
		return first.request != q.Body || !q.Batch && s.byID(first.outcomes[0].Contact.ID) < 0
	}
	if !r.Replayed || first.request != q.Body {
		return false
	}
	for i, seen := range r.Outcomes {
		want := first.outcomes[i]
		if at := s.byID(want.Contact.ID); q.Batch && at >= 0 {
			want.Contact = s.contacts[at]
		} else if q.Batch {
			want.Contact = Contact{}
		}
		if seen != want {
			return false
		}
	}
	return true
}

// effect is what an action did.
type effect struct {
	outcome Outcome
	changed bool
	before  Version // of a contact that was changed
}

// undone returns the effect of an action in a batch in which another action failed.
func (e effect) undone() effect {
	if !e.outcome.Status.failed() {
		return effect{outcome: Outcome{Status: Unchanged}}
	}
	return effect{outcome: e.outcome}
}

// shownBy reports whether a response shows the effect. Each change has a later time than what it changes, and an
// event, which has the version that an open response lacks.
func (e effect) shownBy(a Action, seen Outcome, fate Fate) bool {
	version := seen.Contact.Version
	if e.changed && (version.ID != e.outcome.Contact.ID || version.Updated <= e.before.Updated) {
		return false
	}
	if fate == Open {
		return e.changed || a.Kind == Merge || version == Version{}
	}
	want := e.outcome
	switch {
	case seen.Contact.Name != "":
	case version.Updated != "":
		want.Contact = Contact{Version: want.Contact.Version}
	default:
		want.Contact = Contact{Version: Version{ID: want.Contact.ID}}
	}
	return seen == want
}

// apply changes the state as an action does. A contact that it writes gets the ID and the time of chosen.
func (s *State) apply(a Action, chosen Version) effect {
	at := s.find(a)
	before := Contact{}
	if at >= 0 {
		before = s.contacts[at]
	}
	exists := before != Contact{}
	switch {
	case !exists && a.Kind != Create && a.Kind != Upsert:
		return failure(Missing)
	case a.OnlyNew && exists, a.If != Version{} && a.If != before.Version:
		return failure(Stale)
	case a.Kind == Create && exists:
		return failure(Taken)
	case a.Kind == Read:
		return effect{outcome: Outcome{Found, before}}
	case a.Kind == Delete:
		s.contacts[at], s.old[at], s.leads[slots-1-at] = Contact{}, "", false
		return effect{outcome: Outcome{Deleted, Contact{Version: Version{ID: before.ID}}}}
	case a.Kind == Merge:
		return s.merge(a, at, chosen)
	case !exists && !a.Name && (!a.NamesCompany || !a.Company):
		return failure(Invalid)
	}
	after := before
	if a.Name || !exists {
		after.Name = a.Token
	}
	if a.Company {
		after.Company = a.Token
	}
	if after == before {
		return effect{outcome: Outcome{Unchanged, before}}
	}
	status := Updated
	if after.Updated = chosen.Updated; !exists {
		after.ID, status = chosen.ID, Created
	}
	s.contacts[at], s.leads[at] = after, false
	return effect{Outcome{status, after}, true, before.Version}
}

// find returns the slot of the contact that an action names, -1 for none. Old ids and external ids lead updates, reads
// and merges to the contact that remained, but no deletion, and no read of a list.
func (s *State) find(a Action) int {
	switch {
	case a.ID != "":
		return s.byAnyID(a.ID)
	case a.Kind == Upsert && s.leads[a.Slot]:
		return slots - 1 - a.Slot
	default:
		return a.Slot
	}
}

// merge merges another contact of the group into the one at a slot.
func (s *State) merge(a Action, at int, chosen Version) effect {
	from := s.byAnyID(a.From)
	if from < 0 || from == at {
		return failure(Invalid)
	}
	before, other := s.contacts[at], s.contacts[from]
	after := before
	if after.Company == "" {
		after.Company = other.Company
	}
	changed := after != before || a.TakeSlot
	if changed {
		after.Updated = chosen.Updated
	}
	to, left := at, from
	if a.TakeSlot {
		to, left = from, at
	}
	s.old[to], s.old[left] = s.old[at]+s.old[from]+other.ID+" ", ""
	s.contacts[to], s.contacts[left] = after, Contact{}
	s.leads[to], s.leads[left] = false, true
	return effect{Outcome{Merged, after}, changed, before.Version}
}

func failure(s Status) effect { return effect{outcome: Outcome{Status: s}} }

// byAnyID returns the slot of the contact that has an ID or remained when the one that had it was merged, -1 for none.
func (s *State) byAnyID(id string) int {
	if at := s.byID(id); at >= 0 {
		return at
	}
	return slices.IndexFunc(s.old[:], func(ids string) bool { return strings.Contains(ids, id+" ") })
}

// byID returns the slot of the contact with an ID, -1 for none.
func (s *State) byID(id string) int {
	for at, c := range s.contacts {
		if c.ID == id && id != "" {
			return at
		}
	}
	return -1
}
