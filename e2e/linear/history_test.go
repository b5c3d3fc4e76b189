package linear

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// at returns the time of a version, which is later for a larger number.
func at(n int) string { return fmt.Sprintf("2026-01-01T00:00:00.%03dZ", n) }

func version(id string, n int) Version { return Version{id, at(n)} }

func contact(id string, n int, name, company string) Contact {
	return Contact{version(id, n), name, company}
}

// answered returns a request with one action that was answered, between two times.
func answered(call, end int64, a Action, status Status, c Contact) Op {
	return Op{Call: call, Return: end, Request: Request{Actions: []Action{a}, Body: a.Token}, Response: Response{Outcomes: []Outcome{{status, c}}}}
}

// unanswered returns a request without a response.
func unanswered(call, end int64, fate Fate, a Action) Op {
	return Op{Call: call, Return: end, Request: Request{Actions: []Action{a}, Body: a.Token}, Response: Response{Fate: fate}}
}

func created(id string, n int, token string) Event {
	return Event{ID: fmt.Sprintf("evt-%s-%d", id, n), Type: "contact.created", Contact: contact(id, n, token, ""), Set: []string{token}}
}

func updated(id string, n int, name, company, token string) Event {
	return Event{ID: fmt.Sprintf("evt-%s-%d", id, n), Type: "contact.updated", Contact: contact(id, n, name, company), Set: []string{token}}
}

func deleted(id string, n int, into string) Event {
	return Event{ID: fmt.Sprintf("evt-%s-%d", id, n), Type: "contact.deleted", Contact: contact(id, n, "", ""), MergedInto: into}
}

var (
	createA  = Action{Kind: Create, Token: "n1", Name: true}
	createB  = Action{Kind: Create, Slot: 1, Token: "n2", Name: true}
	companyA = Action{Kind: Upsert, Token: "n3", Company: true}
	nameA    = Action{Kind: Upsert, Token: "n4", Name: true}
	readA    = Action{Kind: Read}
	onlyNewA = Action{Kind: Upsert, Token: "n5", Name: true, OnlyNew: true}
	mergeAB  = Action{Kind: Merge, ID: "a", From: "b"}
	deleteA  = Action{Kind: Delete}
)

// The model accepts what contacts may do, and refuses each kind of fault.
func TestCheck(t *testing.T) {
	t.Parallel()
	none := Contact{}
	first := answered(1, 2, createA, Created, contact("a", 1, "n1", ""))
	ifFirst := nameA
	ifFirst.If = version("a", 1)
	keyed, repeated := first, answered(9, 10, createA, Created, contact("a", 1, "n1", ""))
	keyed.Request.Key, repeated.Request.Key, repeated.Response.Replayed = 1, 1, true
	other := repeated
	other.Request.Body = "other"
	batch := Op{Call: 3, Return: 4, Request: Request{Actions: []Action{companyA, createB}, Batch: true, Atomic: true}, Response: Response{Outcomes: []Outcome{
		{Updated, contact("a", 3, "n1", "n3")}, {Created, contact("b", 3, "n2", "")},
	}}}
	both := Op{Call: 5, Return: 6, Request: Request{Actions: []Action{readA, {Kind: Read, Slot: 1}}}, Response: Response{Outcomes: []Outcome{
		{Found, contact("a", 1, "n1", "")}, {Found, contact("b", 3, "n2", "")},
	}}}
	read := func(call int64, c Contact) Op { return answered(call, call+1, readA, Found, c) }
	second := answered(3, 4, createB, Created, contact("b", 3, "n2", ""))
	companyLater := answered(3, 4, companyA, Updated, contact("a", 3, "n1", "n3"))
	merged := answered(5, 6, mergeAB, Merged, contact("a", 1, "n1", ""))
	removed := answered(3, 4, deleteA, Deleted, Contact{Version: Version{ID: "a"}})
	again := repeated
	again.Response.Replayed = false
	openBatch := Op{Call: 3, Return: 4, Request: Request{Batch: true, Actions: []Action{createB, deleteA}}, Response: Response{Fate: Open}}
	isA, isChanged := created("a", 1, "n1"), updated("a", 3, "n1", "n3", "n3")
	isB, isMerged := created("b", 3, "n2"), deleted("b", 5, "a")
	for name, tc := range map[string]struct {
		ops    []Op
		feed   []Event
		reader Reader
		dirty  bool
		wrong  string // what the check says, "" for nothing
	}{
		"in order":            {ops: []Op{first, read(3, contact("a", 1, "n1", ""))}, feed: []Event{isA}},
		"at once, either way": {ops: []Op{first, answered(1, 4, readA, Missing, none)}, feed: []Event{isA}},
		"a stale read":        {ops: []Op{first, answered(3, 4, readA, Missing, none)}, feed: []Event{isA}, wrong: "not linearizable"},
		"a lost update": {
			ops:  []Op{first, companyLater, answered(5, 6, nameA, Updated, contact("a", 4, "n4", ""))},
			feed: []Event{isA, isChanged, updated("a", 4, "n4", "", "n4")}, wrong: "not linearizable",
		},
		"a change of a version that has changed": {
			ops:  []Op{first, companyLater, answered(5, 6, ifFirst, Updated, contact("a", 4, "n4", "n3"))},
			feed: []Event{isA, isChanged, updated("a", 4, "n4", "n3", "n4")}, wrong: "not linearizable",
		},
		"an acknowledged write that is dropped": {ops: []Op{first}, wrong: "0 events have the acknowledged change"},
		"a conflict with a write that is lost": {
			ops: []Op{unanswered(1, 2, Open, createA), answered(1, 2, onlyNewA, Stale, none)}, wrong: "not linearizable",
		},
		"a conflict with a write that is not answered": {
			ops: []Op{unanswered(1, 2, Open, createA), answered(1, 2, onlyNewA, Stale, none)}, feed: []Event{isA},
		},
		"a write that takes effect late": {
			ops:  []Op{unanswered(1, 2, Open, createA), answered(3, 4, readA, Missing, none), read(5, contact("a", 1, "n1", ""))},
			feed: []Event{isA},
		},
		"a refused write that took effect": {ops: []Op{unanswered(1, 2, Refused, createA)}, feed: []Event{isA}, wrong: "of a request that was refused"},
		"an open batch of which nothing happened": {
			ops: []Op{first, openBatch, read(5, contact("a", 1, "n1", ""))}, feed: []Event{isA},
		},
		"a batch":                             {ops: []Op{first, batch}, feed: []Event{isA, isChanged, isB}},
		"a search that shows half of a batch": {ops: []Op{first, batch, both}, feed: []Event{isA, isChanged, isB}, wrong: "not linearizable"},
		"a merge": {
			ops:  []Op{first, second, merged, answered(7, 8, createB, Created, contact("c", 7, "n2", ""))},
			feed: []Event{isA, isB, isMerged, created("c", 7, "n2")},
		},
		"a merge that leaves both": {
			ops:  []Op{first, second, merged, answered(7, 8, Action{Kind: Read, Slot: 1}, Found, contact("b", 3, "n2", ""))},
			feed: []Event{isA, isB, isMerged}, wrong: "not linearizable",
		},
		"a repeat":                    {ops: []Op{keyed, repeated}, feed: []Event{isA}},
		"a repeat that creates again": {ops: []Op{keyed, again}, feed: []Event{isA}, wrong: "two requests were acknowledged"},
		"a repeat of another request": {ops: []Op{keyed, other}, feed: []Event{isA}, wrong: "not linearizable"},
		"a deletion":                  {ops: []Op{first, removed, answered(5, 6, readA, Missing, none)}, feed: []Event{isA, deleted("a", 3, "")}},
		"a deletion without its event": {
			ops: []Op{first, removed}, feed: []Event{isA}, wrong: "0 events have",
		},
		"events in another order":   {ops: []Op{first, second}, feed: []Event{isB, isA}, wrong: "after that of a request that began after"},
		"an event that comes twice": {ops: []Op{first}, feed: []Event{isA, isA}, wrong: "2 events have"},
		"an event of nobody":        {feed: []Event{deleted("a", 1, "")}, wrong: "or of none"},
		"a reader": {
			ops: []Op{first}, feed: []Event{isA}, reader: Reader{[]string{isA.ID}, []ReadTo{{Call: 1, Events: 0}, {Call: 3, Events: 1}}},
		},
		"a reader that sees another feed": {ops: []Op{first}, feed: []Event{isA}, reader: Reader{Events: []string{"evt-x-1"}}, wrong: "but the feed does not"},
		"a reader that misses an event": {
			ops: []Op{first}, feed: []Event{isA}, reader: Reader{Reads: []ReadTo{{Call: 3, Events: 0}}}, wrong: "missed the event",
		},
		"a read of a write that is lost": {ops: []Op{unanswered(1, 2, Open, createA), read(3, contact("a", 1, "n1", ""))}, dirty: true},
		"such a read where nothing may be lost": {
			ops: []Op{unanswered(1, 2, Open, createA), read(3, contact("a", 1, "n1", ""))}, wrong: "not linearizable",
		},
		"a read after a deletion that is lost": {
			ops:  []Op{first, unanswered(3, 4, Open, deleteA), answered(5, 6, readA, Missing, none), read(7, contact("a", 1, "n1", ""))},
			feed: []Event{isA}, dirty: true,
		},
		"an old read where writes may be lost": {
			ops: []Op{first, companyLater, read(5, contact("a", 1, "n1", ""))}, feed: []Event{isA, isChanged}, dirty: true, wrong: "not linearizable",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			folder := t.TempDir()
			h := &History{Ops: tc.ops, Feed: tc.feed, Dirty: tc.dirty, Readers: []Reader{tc.reader}}
			said := strings.Join(h.Check(folder), "\n")
			if (said == "") != (tc.wrong == "") || !strings.Contains(said, tc.wrong) {
				t.Errorf("the check says %q, not %q", said, tc.wrong)
			}
			drawn, err := os.ReadDir(folder)
			if err != nil || (len(drawn) > 0) != strings.Contains(said, "not linearizable") {
				t.Errorf("%d groups are drawn (%v)", len(drawn), err)
			}
		})
	}
}
