package routes

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/contact"
	"contactbase/internal/credential"
	"contactbase/internal/fault"
	"contactbase/internal/idempotency"
	"contactbase/internal/sqlite"
	"contactbase/internal/wire"
	"contactbase/routes/envelope"
)

const (
	maxBatchBody  = 4 << 20 // bytes
	maxBatchItems = 1_000
)

var itemsRule = fmt.Sprintf("must be a list of 1 to %d items", maxBatchItems)

// writeContacts creates, updates and deletes many contacts.
func (s *server) writeContacts(e *core.RequestEvent) error {
	body, caller := e.Get(batchBodyKey).(batchBody), identity(e)
	request, err := newIdempotentRequest(e, caller, "POST "+apiPrefix+"/contacts/batch", body.raw)
	if err != nil {
		return err
	}
	b, invalid := parseBatch(e.App, body.object) // before the transaction, for which other writers wait
	err = s.once(e.App, request, invalid, func() error {
		b.restrict(caller)
		write := contact.Request{
			Tenant: caller.TenantID,
			Items:  b.items,
			Check:  request.check(caller, b.needs...),
			Finish: func(tx sqlite.Reader, results []contact.Result) ([]sqlite.Statement, error) {
				if b.results = results; b.atomic && contact.AnyFailed(results) {
					return nil, b.failure()
				}
				return request.rememberBatch(tx, b)
			},
		}
		return write.Commit(e.Request.Context(), e.App)
	})
	if errors.Is(err, errReplayed) {
		return request.replayBatch(e)
	}
	if err != nil {
		return err
	}
	answer, err := b.body()
	if err != nil {
		return err
	}
	return e.Blob(http.StatusOK, "application/json", answer)
}

type batch struct {
	items   []contact.Item
	atomic  bool                    // if one item fails, all fail
	needs   []credential.Permission // of the items that the caller may apply
	results []contact.Result
}

// restrict makes the items fail that the caller's key does not permit. It has one of the permissions at least.
func (b *batch) restrict(caller *credential.Identity) {
	for i := range b.items {
		item, needed, other := &b.items[i], credential.ContactsWrite, credential.ContactsDelete
		if item.Action == contact.Delete {
			needed, other = other, needed
		}
		if !caller.Allows(needed) {
			item.Wrong, needed = cmp.Or(item.Wrong, lacks(needed)), other
		}
		if !slices.Contains(b.needs, needed) {
			b.needs = append(b.needs, needed)
		}
	}
}

// parseBatch reads the body of a batch. An invalid item gets its own error.
func parseBatch(app core.App, object map[string]any) (*batch, error) {
	b := &batch{}
	var sent []any
	faults := envelope.ReadProperties(object,
		envelope.Property{Name: "items", Required: true, Rule: itemsRule, Read: func(value any) bool {
			sent, _ = value.([]any)
			return len(sent) >= 1 && len(sent) <= maxBatchItems
		}},
		envelope.Property{Name: "atomic", Rule: "must be true or false", Read: envelope.As(&b.atomic)},
	)
	if len(faults) > 0 {
		return nil, fault.InvalidRequest(faults)
	}
	b.items = make([]contact.Item, len(sent))
	for i, value := range sent {
		if err := parseItem(app, value, &b.items[i]); err != nil && !errors.As(err, &b.items[i].Wrong) {
			return nil, fmt.Errorf("reading item %d: %w", i, err)
		}
	}
	return b, nil
}

// parseItem reads an item. The error is a *fault.Error if the item is invalid.
func parseItem(app core.App, value any, item *contact.Item) error {
	object, _ := value.(map[string]any)
	if object == nil {
		return fault.New(fault.ValidationFailed, "The item must be an object.")
	}
	for name := range object {
		switch name {
		case "action", "id", "match", "contact":
		default:
			return fault.InvalidField(name, fault.CodeUnknownField, "is not a property of an item")
		}
	}
	fields, isObject := object["contact"].(map[string]any)
	_, hasID := object["id"]
	if !isObject && (object["contact"] != nil || !hasID || object["action"] != string(contact.Delete)) {
		return fault.InvalidField("contact", fault.CodeRequired, "must be an object with the fields of the contact")
	}
	var err error
	var wrong fault.Fields
	if item.Changes, err = contact.ParseChanges(app, fields); errors.As(err, &wrong) {
		return fault.InvalidContact(wrong)
	}
	if err != nil {
		return err
	}
	return parseAction(object, item)
}

// parseAction reads an item's action and how it finds its contact.
func parseAction(object map[string]any, item *contact.Item) error {
	action, _ := object["action"].(string)
	item.Action = contact.Action(action)
	id, hasID := object["id"]
	_, hasMatch := object["match"]
	byID, byMatch := false, false
	switch item.Action {
	case contact.Create:
	case contact.Update:
		byID = true
	case contact.Upsert:
		byMatch = true
	case contact.Delete:
		byID, byMatch = hasID, !hasID
	default:
		return fault.New(fault.InvalidAction, "The action must be create, update, upsert or delete.")
	}
	switch {
	case hasID && !byID:
		return fault.InvalidField("id", fault.CodeInvalidValue, "is allowed for an update or a delete only")
	case hasMatch && !byMatch:
		return fault.InvalidField("match", fault.CodeInvalidValue,
			"is allowed for an upsert, or a delete without an id, only")
	case hasID && item.Action == contact.Delete && len(item.Changes) > 0:
		return fault.InvalidField("contact", fault.CodeInvalidValue, "is allowed for a delete without an id only")
	case byID:
		return findByID(id, item)
	case byMatch:
		return findByMatch(object, item)
	default:
		return nil
	}
}

func findByID(id any, item *contact.Item) error {
	key := contact.Key{Field: contact.ID}
	if key.Value, _ = id.(string); key.Value == "" {
		return fault.InvalidField("id", fault.CodeRequired, "must be the ID of the contact")
	}
	item.Keys = []contact.Key{key}
	return nil
}

// findByMatch reads by which of its fields an item finds its contact. A deletion needs no other field.
func findByMatch(object map[string]any, item *contact.Item) error {
	key := contact.Key{Field: contact.ExternalID}
	if match, sent := object["match"]; sent {
		key.Field, _ = match.(string)
	}
	if key.Field != contact.ExternalID && key.Field != contact.Email {
		return fault.InvalidField("match", fault.CodeInvalidValue, "must be externalId or email")
	}
	if key.Value, _ = item.Changes[key.Field].(string); key.Value == "" {
		return fault.InvalidContact(fault.Fields{key.Field: {
			Code: fault.CodeRequired, Message: "is required, because the " + string(item.Action) + " finds contacts by it",
		}})
	}
	item.Keys = []contact.Key{key}
	if item.Action == contact.Delete {
		item.Changes, item.Sole = nil, true
	}
	return nil
}

// rememberBatch stores the results of the items as the response, as remember does.
func (r *idempotentRequest) rememberBatch(tx sqlite.Reader, b *batch) ([]sqlite.Statement, error) {
	kept, err := wire.AppendJSON(nil, b.outline())
	if err != nil {
		return nil, err
	}
	return r.remember(tx, &idempotency.Answer{Status: http.StatusOK, Body: string(kept)})
}

// failure returns the error of an atomic batch, with the failed items.
func (b *batch) failure() error {
	failed := 0
	for i := range b.results {
		if r := &b.results[i]; r.Wrong != nil {
			failed++
		} else {
			*r = contact.Result{Status: contact.Unchanged}
		}
	}
	return &fault.Error{
		Code: fault.BatchFailed, Results: b.outline(),
		Message: fmt.Sprintf("Nothing was written, because %d of %d items failed. "+
			"Correct them and send the whole batch again.", failed, len(b.results)),
	}
}

// itemOutline is an item's result with the contact's id instead of the contact: personal data stays with the
// contacts, where an erasure reaches it.
type itemOutline struct {
	Index  int            `json:"index"`
	Status contact.Status `json:"status"`
	ID     string         `json:"id,omitempty"`
	Error  *fault.Error   `json:"error,omitempty"`
}

func (b *batch) outline() []itemOutline {
	outlines := make([]itemOutline, len(b.results))
	for i, r := range b.results {
		outlines[i] = itemOutline{Index: i, Status: r.Status, Error: r.Wrong}
		if hasContact(r) {
			outlines[i].ID = r.Contact.ID
		}
	}
	return outlines
}

// replayBatch answers a repeat with the results of the first request and the contacts' current values.
func (r *idempotentRequest) replayBatch(e *core.RequestEvent) error {
	var outlines []itemOutline
	if err := json.Unmarshal([]byte(r.answer.Body), &outlines); err != nil {
		return fmt.Errorf("reading a remembered response: %w", err)
	}
	ids := make([]string, len(outlines))
	for i, outline := range outlines {
		ids[i] = outline.ID
	}
	contacts, err := contact.FindAll(e.App, r.tenant, ids)
	if err != nil {
		return err
	}
	b := &batch{results: make([]contact.Result, len(outlines))}
	for i, outline := range outlines {
		b.results[i] = contact.Result{Status: outline.Status, Contact: contacts[outline.ID], Wrong: outline.Error}
	}
	body, err := b.body()
	if err != nil {
		return err
	}
	e.Response.Header().Set("Idempotency-Replayed", "true")
	return e.Blob(r.answer.Status, "application/json", body)
}

var batchStatuses = []contact.Status{
	contact.Created, contact.Updated, contact.Deleted, contact.Unchanged, contact.Failed,
}

// hasContact reports whether the response has the contact of an item: one that is still there, and that it was about.
func hasContact(r contact.Result) bool {
	return r.Contact != nil && r.Wrong == nil && r.Status != contact.Deleted
}

func (b *batch) body() (_ []byte, err error) {
	counts := map[contact.Status]int{}
	for _, r := range b.results {
		counts[r.Status]++
	}
	body := append(make([]byte, 0, 128+384*len(b.results)), `{"data":{`...)
	for _, status := range batchStatuses {
		body = strconv.AppendInt(append(body, `"`+string(status)+`":`...), int64(counts[status]), 10)
		body = append(body, ',')
	}
	body = append(body, `"results":[`...)
	for i, r := range b.results {
		if i > 0 {
			body = append(body, ',')
		}
		body = strconv.AppendInt(append(body, `{"index":`...), int64(i), 10)
		body = append(body, `,"status":"`+string(r.Status)+`"`...)
		if hasContact(r) {
			if body, err = r.Contact.AppendJSON(append(body, `,"contact":`...)); err != nil {
				return nil, err
			}
		}
		if r.Wrong != nil {
			if body, err = wire.AppendJSON(append(body, `,"error":`...), r.Wrong); err != nil {
				return nil, err
			}
		}
		body = append(body, '}')
	}
	return append(body, `]}}`...), nil
}
