package linear

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/anishathalye/porcupine"
)

// Op is a request of a client, and its response. Times are in nanoseconds since the history began.
type Op struct {
	Client       int
	Group        int
	Request      Request
	Response     Response
	Call, Return int64
}

// History is what the clients have seen. No request can still take effect.
type History struct {
	Ops     []Op
	Feed    []Event // all changes
	Readers []Reader

	// Dirty is whether a read may show a write that is not acknowledged and can be lost.
	Dirty bool
}

// checkTimeout is how long the search for an order of a group may take. It usually takes milliseconds.
const checkTimeout = 5 * time.Minute

// Check returns the errors in the history. It draws each group without an order into a file of the folder,
// and names the file.
func (h *History) Check(folder string) []string {
	f := newFeed(h.Feed)
	problems := f.check(h)
	groups := map[int][]Op{}
	for _, op := range h.Ops {
		groups[op.Group] = append(groups[op.Group], op)
	}
	for group, ops := range groups {
		operations := h.operations(f, ops)
		result, info := porcupine.CheckOperationsVerbose(model, operations, checkTimeout)
		if result == porcupine.Ok {
			continue
		}
		path := filepath.Join(folder, fmt.Sprintf("group-%d.html", group))
		problem := fmt.Sprintf("group %d is not linearizable (%s): see %s", group, result, path)
		if err := errors.Join(os.MkdirAll(folder, 0o755), porcupine.VisualizePath(model, info, path)); err != nil {
			problem += fmt.Sprintf(" (%v)", err)
		}
		problems = append(problems, problem)
	}
	return problems
}

// operations returns the requests of a group that may have had an effect, or have seen one.
func (h *History) operations(f *feed, ops []Op) (all []porcupine.Operation) {
	open := 0
	for _, op := range ops {
		op.Response = f.resolve(op)
		switch {
		case op.Response.Fate == Refused, op.Response.Fate == Open && !f.mayHave(op), h.Dirty && f.isDirty(op, ops):
			continue
		case op.Response.Fate == Open: // its client continues
			op.Return = math.MaxInt64
			open++
			op.Client = math.MaxInt16 + open
		}
		all = append(all, porcupine.Operation{
			ClientId: op.Client, Input: op.Request, Output: op.Response, Call: op.Call, Return: op.Return,
		})
	}
	numberClients(all)
	return all
}

// numberClients renumbers the clients from 0, because each number is a line of the drawing.
func numberClients(all []porcupine.Operation) {
	var known []int
	for i := range all {
		number := slices.Index(known, all[i].ClientId)
		if number < 0 {
			number = len(known)
			known = append(known, all[i].ClientId)
		}
		all[i].ClientId = number
	}
}

var model = porcupine.Model{
	Init: func() any { return State{} },
	Step: func(state, input, output any) (bool, any) {
		next, ok := state.(State).step(input.(Request), output.(Response))
		return ok, next
	},
	DescribeOperation: func(input, output any) string { return describe(input.(Request), output.(Response)) },
	DescribeState: func(state any) string {
		var shown []string
		for _, c := range state.(State).contacts {
			shown = append(shown, c.String())
		}
		return strings.Join(shown, "; ")
	},
}

// String describes the contact for a person.
func (c Contact) String() string {
	if c == (Contact{}) {
		return "none"
	}
	return fmt.Sprintf("%s name %q company %q at %s", c.ID, c.Name, c.Company, c.Updated)
}

func describe(q Request, r Response) string {
	var parts []string
	for i, a := range q.Actions {
		part := fmt.Sprintf("%s %d%s", a.Kind, a.Slot, a.ID)
		switch {
		case a.Name && a.Company:
			part += " both=" + a.Token
		case a.Name:
			part += " name=" + a.Token
		case a.Company:
			part += " company=" + a.Token
		}
		if a.From != "" {
			part += fmt.Sprintf(" from %s (take %t)", a.From, a.TakeSlot)
		}
		if a.OnlyNew {
			part += " only new"
		}
		if a.If != (Version{}) {
			part += " if " + a.If.Updated
		}
		if i < len(r.Outcomes) {
			part += fmt.Sprintf(" → %s %s", r.Outcomes[i].Status, r.Outcomes[i].Contact)
		}
		parts = append(parts, part)
	}
	text := strings.Join(parts, ", ")
	for name, set := range map[string]bool{
		"atomic": q.Atomic, "replayed": r.Replayed, "reused": r.Reused, "open": r.Fate == Open,
	} {
		if set {
			text += " " + name
		}
	}
	if q.Key > 0 {
		text += fmt.Sprintf(" key %d", q.Key)
	}
	return text
}
