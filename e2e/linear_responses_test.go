package e2e

import (
	"encoding/json"
	"net/http"

	"contactbase/e2e/linear"
)

// linearContact is a contact as responses and events have it.
type linearContact struct {
	ID, Name, ExternalID, UpdatedAt string
	Company                         *string
}

func (c linearContact) seen() linear.Contact {
	seen := linear.Contact{Version: linear.Version{ID: c.ID, Updated: c.UpdatedAt}, Name: c.Name}
	if c.Company != nil {
		seen.Company = *c.Company
	}
	return seen
}

// linearFault is an error as responses have it.
type linearFault struct {
	Code   string
	Fields map[string]struct{ Code string }
}

// status returns what an error says about an action, "" for nothing that is expected.
func (f *linearFault) status(kind linear.Kind) linear.Status {
	switch {
	case f.Code == "not_found":
		return linear.Missing
	case f.Code == "precondition_failed":
		return linear.Stale
	case f.Fields["externalId"].Code == "duplicate_external_id":
		return linear.Taken
	case f.Fields["name"].Code == "required", kind == linear.Merge && f.Fields["from"].Code != "":
		return linear.Invalid
	default:
		return ""
	}
}

// read returns what a response says.
func (q *linearRequest) read(l *lab, g *group, a *answer) (r linear.Response) {
	r.Replayed = a.header.Get("Idempotency-Replayed") == "true"
	switch a.code() {
	case "unavailable", "standby", "idempotency_key_in_use", "rate_limited":
		r.Fate = linear.Refused
	case "unreplicated":
		r.Fate = linear.Open
	case "idempotency_key_reused":
		r.Reused = true
		r.Outcomes = make([]linear.Outcome, len(q.Actions))
	default:
		if r.Outcomes = q.kind(l, g, q, a); len(r.Outcomes) != len(q.Actions) {
			l.fault("%s %s %s returns %s", q.method, q.path, q.Body, a)
			r.Fate = linear.Open
		}
	}
	return r
}

// readOne reads the response to a request with one action.
func readOne(_ *lab, g *group, q *linearRequest, a *answer) []linear.Outcome {
	action := q.Actions[0]
	var body struct {
		Data  linearContact
		Error linearFault
	}
	if a.status == http.StatusNotModified {
		return []linear.Outcome{{Status: linear.Found, Contact: q.expected.Contact}}
	}
	if json.Unmarshal(a.body, &body) != nil {
		return nil
	}
	if a.status >= http.StatusBadRequest {
		if status := body.Error.status(action.Kind); status != "" {
			return []linear.Outcome{{Status: status}}
		}
		return nil
	}
	o := linear.Outcome{Status: linear.Unchanged, Contact: body.Data.seen()}
	switch {
	case a.status == http.StatusCreated:
		o.Status = linear.Created
	case action.Kind == linear.Merge:
		o.Status = linear.Merged
	case action.Kind == linear.Read:
		o.Status = linear.Found
	case action.Name || action.Company:
		o.Status = linear.Updated
	}
	g.learn(o.Contact, a.header.Get("Etag"))
	return []linear.Outcome{o}
}

// readList reads a list as what it says about each external id.
func readList(_ *lab, g *group, q *linearRequest, a *answer) []linear.Outcome {
	var body struct{ Data []linearContact }
	if json.Unmarshal(a.body, &body) != nil || a.status != http.StatusOK {
		return nil
	}
	outcomes := make([]linear.Outcome, len(q.Actions))
	for i, action := range q.Actions {
		outcomes[i].Status = linear.Missing
		for _, c := range body.Data {
			if g.slotOf(c.ExternalID) == action.Slot {
				outcomes[i] = linear.Outcome{Status: linear.Found, Contact: c.seen()}
				g.learn(outcomes[i].Contact, "")
			}
		}
	}
	if len(body.Data) > len(outcomes) {
		return nil
	}
	return outcomes
}

// linearItem is the result of an item.
type linearItem struct {
	Status  linear.Status
	ID      string
	Contact linearContact
	Error   linearFault
}

// outcome returns what the result of an item says.
func (i *linearItem) outcome(kind linear.Kind) linear.Outcome {
	o := linear.Outcome{Status: i.Status, Contact: i.Contact.seen()}
	switch i.Status {
	case "ignored": // also where the contact was merged into another one, which the item names
		return linear.Outcome{Status: linear.Missing}
	case "failed":
		o.Status, o.Contact = i.Error.status(kind), linear.Contact{}
	}
	if i.ID != "" {
		o.Contact = linear.Contact{Version: linear.Version{ID: i.ID}}
	}
	return o
}

func readBatch(_ *lab, g *group, q *linearRequest, a *answer) (outcomes []linear.Outcome) {
	var body struct {
		Data  struct{ Results []linearItem }
		Error struct{ Results []linearItem }
	}
	if json.Unmarshal(a.body, &body) != nil || a.status != http.StatusOK && a.code() != "batch_failed" {
		return nil
	}
	for i, item := range append(body.Data.Results, body.Error.Results...) {
		o := item.outcome(q.Actions[i].Kind)
		if o.Contact.Name != "" {
			g.learn(o.Contact, "")
		}
		outcomes = append(outcomes, o)
	}
	return outcomes
}

func readInbound(_ *lab, _ *group, q *linearRequest, a *answer) (outcomes []linear.Outcome) {
	var body struct {
		Data  struct{ Results []linearItem }
		Error linearFault
	}
	if json.Unmarshal(a.body, &body) != nil {
		return nil
	}
	if a.status == http.StatusBadRequest { // every item fails, and only an upsert without a name can
		for range q.Actions {
			outcomes = append(outcomes, linear.Outcome{Status: linear.Invalid})
		}
		return outcomes
	}
	for i, item := range body.Data.Results {
		outcomes = append(outcomes, item.outcome(q.Actions[i].Kind))
	}
	return outcomes
}
