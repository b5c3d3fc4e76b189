package sheet

import (
	"errors"
	"slices"
	"strings"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/contact"
	"contactbase/internal/contact/bulk"
	"contactbase/internal/fault"
	"contactbase/internal/inbound/payload"
)

// Parser turns rows into items.
type Parser struct {
	app     core.App
	mapping Mapping
	match   string
	custom  map[string]core.Field
}

// Parser returns a parser for rows whose contacts are found by match: id, externalId or email.
func (m Mapping) Parser(app core.App, match string) (*Parser, error) {
	p := &Parser{app: app, mapping: m, match: match, custom: map[string]core.Field{}}
	custom, err := contact.CustomFields(app)
	for _, field := range custom {
		p.custom[field.GetName()] = field
	}
	return p, err
}

// Item returns the item of a row, which changes the contact that the match finds, or creates one. By id the item is an update of an existing
// contact; if there is none, Otherwise returns the item instead. An empty cell changes nothing. If the row is invalid, the item says so.
func (p *Parser) Item(cells []string) (bulk.Item, error) {
	item := bulk.Item{Action: bulk.Upsert, ByEmail: p.match == payload.FieldEmail}
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

// aim sets how the item finds its contact.
func (p *Parser) aim(item *bulk.Item) {
	id := item.ID
	item.ID = ""
	if p.match == ID {
		*item = Otherwise(*item)
		if id != "" {
			item.Action, item.ID = bulk.Update, id
		}
		return
	}
	if item.Key(p.match) == "" && item.Wrong == nil {
		item.Wrong = fault.InvalidContact(fault.Fields{p.match: {Code: fault.CodeRequired, Message: "is required, because the import matches contacts by it"}})
	}
}

// Otherwise returns the item of a row for whose id the tenant has no contact. It changes the contact with its external id, or creates one.
func Otherwise(item bulk.Item) bulk.Item {
	item.ID, item.Action, item.ByEmail = "", bulk.Create, false
	if item.Key(payload.FieldExternalID) != "" {
		item.Action = bulk.Upsert
	}
	return item
}
