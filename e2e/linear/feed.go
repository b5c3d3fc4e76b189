package linear

import (
	"fmt"
	"slices"
)

// Event is an event of the feed.
type Event struct {
	ID         string
	Type       string // contact.created, contact.updated or contact.deleted
	Contact    Contact
	MergedInto string
	Set        []string // the tokens that it sets
}

// Reader is a client that reads the feed. All of them start at the same place.
type Reader struct {
	Events []string // ids
	Reads  []ReadTo
}

// ReadTo is a read to the end of the feed.
type ReadTo struct {
	Call   int64
	Events int // how many the reader has afterwards
}

// change identifies what an event is about.
type change struct {
	kind    string
	version Version // only the ID of a deletion
}

func (e Event) change() change {
	if e.Type == "contact.deleted" {
		return change{e.Type, Version{ID: e.Contact.ID}}
	}
	return change{e.Type, e.Contact.Version}
}

// feed has all events, indexed by their content.
type feed struct {
	events []Event
	at     map[change][]int
	setBy  map[string]int // by token, the first event that set it
}

func newFeed(events []Event) *feed {
	f := &feed{events: events, at: map[change][]int{}, setBy: map[string]int{}}
	for i, e := range events {
		f.at[e.change()] = append(f.at[e.change()], i)
		for _, token := range e.Set {
			if _, known := f.setBy[token]; !known {
				f.setBy[token] = i
			}
		}
	}
	return f
}

// resolve returns the response with the versions that only the feed has: those of open requests, and those
// of inbound items.
func (f *feed) resolve(op Op) Response {
	r := op.Response
	isOpen := r.Fate == Open
	if isOpen {
		r.Outcomes = make([]Outcome, len(op.Request.Actions))
	}
	r.Outcomes = slices.Clone(r.Outcomes)
	for i := range r.Outcomes {
		written := r.Outcomes[i].Status == Created || r.Outcomes[i].Status == Updated
		if version := f.versionOf(op.Request.Actions[i]); isOpen ||
			written && r.Outcomes[i].Contact.Updated == "" && version.ID == r.Outcomes[i].Contact.ID {
			r.Outcomes[i].Contact.Version = version
		}
	}
	return r
}

// versionOf returns the version that an action made, zero if it made none.
func (f *feed) versionOf(a Action) Version {
	if a.Kind == Merge {
		deleted := f.merged(a)
		if next := deleted + 1; deleted >= 0 && next < len(f.events) &&
			f.events[next].Type == "contact.updated" && f.events[next].Contact.ID == f.events[deleted].MergedInto {
			return f.events[next].Contact.Version
		}
		return Version{}
	}
	if i, made := f.setBy[a.Token]; made && (a.Name || a.Company) {
		return f.events[i].Contact.Version
	}
	return Version{}
}

// merged returns the index of the event that deletes the contact merged by a merge, -1 for none.
func (f *feed) merged(a Action) int {
	for id := a.From; ; {
		i := f.mergeOf(id)
		if i < 0 {
			return -1
		}
		if f.ledTo(a.From, i) == id && f.ledTo(a.ID, i) == f.events[i].MergedInto {
			return i
		}
		id = f.events[i].MergedInto
	}
}

// mergeOf returns the index of the event that deletes a contact because it was merged, -1 for none.
func (f *feed) mergeOf(id string) int {
	for _, i := range f.at[change{"contact.deleted", Version{ID: id}}] {
		if f.events[i].MergedInto != "" {
			return i
		}
	}
	return -1
}

// ledTo returns the ID of the contact to which an ID has led before an event.
func (f *feed) ledTo(id string, event int) string {
	for i := f.mergeOf(id); i >= 0 && i < event; i = f.mergeOf(id) {
		id = f.events[i].MergedInto
	}
	return id
}

// mayHave reports whether an open request may have had an effect: if it wrote, there is an event.
func (f *feed) mayHave(op Op) bool {
	if op.Request.Key > 0 {
		return true // the response may be remembered
	}
	for _, a := range op.Request.Actions {
		switch {
		case a.Kind == Delete, a.Kind == Merge && f.merged(a) >= 0, f.versionOf(a) != Version{}:
			return true
		}
	}
	return false
}

// isDirty reports whether a read shows a write that was not acknowledged and is lost later.
func (f *feed) isDirty(op Op, group []Op) bool {
	for i, a := range op.Request.Actions {
		if a.Kind != Read || op.Response.Fate != Answered {
			return false
		}
		seen := op.Response.Outcomes[i]
		if seen.Status == Missing && slices.ContainsFunc(group, func(other Op) bool {
			return other.Call < op.Return && f.hasLostRemoval(other)
		}) {
			return true
		}
		if seen.Status == Found && len(f.at[change{"contact.created", seen.Contact.Version}]) == 0 &&
			len(f.at[change{"contact.updated", seen.Contact.Version}]) == 0 {
			return true
		}
	}
	return false
}

// hasLostRemoval reports whether an open request may have removed a contact that later exists again.
func (f *feed) hasLostRemoval(op Op) bool {
	return op.Response.Fate == Open && slices.ContainsFunc(op.Request.Actions, func(a Action) bool {
		return a.Kind == Delete || a.Kind == Merge && f.merged(a) < 0
	})
}

// claims maps events to the requests that made them.
type claims struct {
	of       []*Op           // by event, the acknowledged request that made it; nil for none
	written  map[string]bool // the tokens that acknowledged or open requests may have written
	removals map[int]bool    // the groups in which an open request may have deleted a contact
	groups   map[string]int  // by token
}

// check returns the errors in the feed. It must have each acknowledged change exactly once, in the order of time, and
// no change of a refused request. Each read of it must be a prefix of every later read, and must have everything that
// was acknowledged before it began.
func (f *feed) check(h *History) []string {
	c, problems := f.claims(h)
	latest := int64(0) // the latest call of the events so far
	for i, e := range f.events {
		op := c.of[i]
		switch {
		case op != nil && op.Return < latest:
			problems = append(problems,
				fmt.Sprintf("event %s comes after that of a request that began after its response", e.ID))
		case op != nil:
			latest = max(latest, op.Call)
		case !f.isExplained(i, c):
			problems = append(problems, fmt.Sprintf("event %+v is of a request that was refused, or of none", e))
		}
	}
	return append(problems, f.checkReaders(h, c)...)
}

// claims finds the events of all acknowledged changes. The problems are changes whose event is missing or comes twice.
func (f *feed) claims(h *History) (c *claims, problems []string) {
	c = &claims{make([]*Op, len(f.events)), map[string]bool{}, map[int]bool{}, map[string]int{}}
	for n := range h.Ops {
		op := &h.Ops[n]
		r := f.resolve(*op)
		for i, a := range op.Request.Actions {
			c.groups[a.Token] = op.Group
			if r.Fate == Open {
				c.written[a.Token] = true
				c.removals[op.Group] = c.removals[op.Group] || a.Kind == Delete || a.Kind == Merge
			}
			if r.Fate != Answered || r.Replayed || r.Reused {
				continue
			}
			for _, made := range f.changes(a, r.Outcomes[i]) {
				found := f.at[made]
				switch {
				case len(found) != 1:
					problems = append(problems, fmt.Sprintf("%d events have the acknowledged change %v of %s",
						len(found), made, describe(op.Request, r)))
				case c.of[found[0]] != nil:
					problems = append(problems, fmt.Sprintf("two requests were acknowledged for the change %v: %s",
						made, describe(op.Request, r)))
				default:
					c.of[found[0]], c.written[a.Token] = op, true
				}
			}
		}
	}
	return c, problems
}

// isExplained reports whether an open request may have made an event, or whether the event is the
// second one of a merge.
func (f *feed) isExplained(i int, c *claims) bool {
	e := f.events[i]
	switch {
	case i > 0 && f.events[i-1].MergedInto == e.Contact.ID:
		return true
	case e.Type == "contact.deleted":
		return c.removals[c.groups[e.Contact.Name]]
	default:
		return slices.ContainsFunc(e.Set, func(token string) bool { return c.written[token] })
	}
}

// changes returns the changes that an acknowledged action must have made.
func (f *feed) changes(a Action, o Outcome) []change {
	switch o.Status {
	case Created, Updated:
		return []change{{"contact." + string(o.Status), o.Contact.Version}}
	case Deleted:
		return []change{{"contact.deleted", Version{ID: o.Contact.ID}}}
	case Merged:
		if i := f.merged(a); i >= 0 {
			return []change{{"contact.deleted", Version{ID: f.events[i].Contact.ID}}}
		}
		return []change{{"contact.deleted", Version{ID: a.From}}}
	default:
		return nil
	}
}

func (f *feed) checkReaders(h *History, c *claims) (problems []string) {
	for n, r := range h.Readers {
		for i, id := range r.Events {
			if i >= len(f.events) || f.events[i].ID != id {
				problems = append(problems,
					fmt.Sprintf("reader %d has the event %s at position %d, but the feed does not", n, id, i))
				break
			}
		}
		for i, op := range c.of {
			if op == nil {
				continue
			}
			for _, read := range r.Reads {
				if read.Events <= i && read.Call > op.Return {
					problems = append(problems, fmt.Sprintf(
						"reader %d missed the event %s, which was acknowledged before it read", n, f.events[i].ID,
					))
					break
				}
			}
		}
	}
	return problems
}
