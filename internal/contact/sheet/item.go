package sheet

import (
	"errors"
	"slices"
	"strings"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/contact"
	"contactbase/internal/fault"
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

// Item returns the item of a row, which changes the contact that the match finds, or creates one. By id, a contact that is not found is looked up by
// the external id. An empty cell changes nothing. If the row is invalid, the item says so.
func (p *Parser) Item(cells []string) (contact.Item, error) {
	input := map[string]any{}
	id := ""
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
			id = cell
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
	item := contact.Item{Action: contact.Upsert}
	var wrong fault.Fields
	var err error
	item.Changes, err = contact.ParseChanges(p.app, input)
	switch {
	case errors.As(err, &wrong):
		item.Wrong = fault.InvalidContact(wrong)
	case err != nil:
		return item, err
	}
	p.aim(&item, id)
	return item, nil
}

// aim sets how the item finds its contact.
func (p *Parser) aim(item *contact.Item, id string) {
	text := func(field string) string { value, _ := item.Changes[field].(string); return value }
	if p.match == ID {
		item.Keys = []contact.Key{{Field: contact.ID, Value: id}, {Field: contact.ExternalID, Value: text(contact.ExternalID)}}
		return
	}
	item.Keys = []contact.Key{{Field: p.match, Value: text(p.match)}}
	if item.Keys[0].Value == "" && item.Wrong == nil {
		item.Wrong = fault.InvalidContact(fault.Fields{p.match: {Code: fault.CodeRequired, Message: "is required, because the import matches contacts by it"}})
	}
}
