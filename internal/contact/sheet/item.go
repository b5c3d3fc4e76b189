package sheet

import (
	"errors"
	"slices"
	"strings"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/contact"
	"contactbase/internal/fault"
	"contactbase/internal/inbound/payload"
)

// Parser turns rows into what they ask for.
type Parser struct {
	app     core.App
	mapping Mapping
	match   string
	custom  map[string]core.Field
}

// Parser returns a parser of rows whose contacts are found by the match: id, externalId or email.
func (m Mapping) Parser(app core.App, match string) (*Parser, error) {
	p := &Parser{app: app, mapping: m, match: match, custom: map[string]core.Field{}}
	custom, err := contact.CustomFields(app)
	for _, field := range custom {
		p.custom[field.GetName()] = field
	}
	return p, err
}

// Item returns what a row asks for: to create a contact, or to change the one that the match finds. By id the item is an update, which
// is for a contact that exists; Otherwise returns what the row asks for where it does not. An empty cell changes nothing. What is wrong
// with the row is in the item.
func (p *Parser) Item(cells []string) (contact.Item, error) {
	item := contact.Item{Action: contact.ActionUpsert, ByEmail: p.match == payload.FieldEmail}
	input := map[string]any{}
	var halves []string
	for i, target := range p.mapping {
		field, isCustom := p.custom[target]
		cell := cells[i]
		if !isCustom || !isText(field) && strings.TrimSpace(cell) == "" {
			cell = strings.TrimSpace(cell)
		}
		switch {
		case target == "" || cell == "":
		case isCustom:
			input[target] = valueOf(field, cell)
		case target == FirstName || target == LastName:
			halves = append(halves, cell)
		case target == ID:
			item.ID = cell
		default:
			input[target] = cell
		}
	}
	if len(halves) > 0 && input["name"] == nil {
		if first, last := slices.Index(p.mapping, FirstName), slices.Index(p.mapping, LastName); last >= 0 && last < first {
			slices.Reverse(halves)
		}
		input["name"] = strings.Join(halves, " ")
	}
	var wrong fault.Fields
	var err error
	item.Changes, err = contact.ParseChanges(p.app, input)
	switch {
	case errors.As(err, &wrong):
		item.Wrong = fault.InvalidContact(wrong)
	case err != nil:
		return item, err
	}
	p.aim(&item)
	return item, nil
}

// aim decides which contact the item means.
func (p *Parser) aim(item *contact.Item) {
	id := item.ID
	item.ID = ""
	if p.match == ID {
		*item = Otherwise(*item)
		if id != "" {
			item.Action, item.ID = contact.ActionUpdate, id
		}
		return
	}
	if key, _ := item.Changes[p.match].(string); key == "" && item.Wrong == nil {
		item.Wrong = fault.InvalidContact(fault.Fields{p.match: {Code: fault.CodeRequired, Message: "is required, because the import matches contacts by it"}})
	}
}

// Otherwise returns what an item of a row asks for if the tenant has no contact with its id: the contact with its external id, if it has
// one, or a new contact.
func Otherwise(item contact.Item) contact.Item {
	item.ID, item.Action, item.ByEmail = "", contact.ActionCreate, false
	if externalID, _ := item.Changes[payload.FieldExternalID].(string); externalID != "" {
		item.Action = contact.ActionUpsert
	}
	return item
}
