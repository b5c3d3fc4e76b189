package sheet

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/contact"
	"contactbase/internal/contact/custom"
	"contactbase/internal/contact/names"
	"contactbase/internal/contact/written"
	"contactbase/internal/fault"
	"contactbase/internal/xlsx"
)

// Parser turns rows into items.
type Parser struct {
	Choices
	app       core.App
	order     []int // of the columns: see Mapping.order
	custom    map[string]core.Field
	styles    []custom.Style // of the columns
	countries []int          // the columns that say where a phone number is from, in the order in which they count
	isExport  bool           // whether an export has these columns
	id        int            // the column of the ids in our vCards, -1 for none
	columns   []string       // the headings
	repeated  []int          // the columns with the heading of another one: see tellApart
}

// Parser returns a parser for the rows of a sheet with these columns. seen are the styles of their values, which may be
// unknown.
func (c Choices) Parser(app core.App, columns []string, seen []custom.Style) (*Parser, error) {
	p := &Parser{
		Choices: c, app: app, order: c.Mapping.order(columns), custom: map[string]core.Field{},
		styles: make([]custom.Style, len(columns)), countries: countryColumns(columns),
		isExport: isExport(columns), id: slices.Index(columns, idProperty),
		columns: columns, repeated: repeatedColumns(columns),
	}
	copy(p.styles, seen)
	for i, style := range p.styles {
		p.styles[i] = style.Else(custom.StyleOf(c.Country))
	}
	fields, err := contact.CustomFields(app)
	for _, field := range fields {
		p.custom[field.GetName()] = field
	}
	return p, err
}

// isExport reports whether an export has these columns, perhaps among others.
func isExport(columns []string) bool {
	written := []string{ID, createdAt, updatedAt}
	for _, field := range contact.Fields {
		written = append(written, field.Name)
	}
	return !slices.ContainsFunc(written, func(name string) bool { return !slices.Contains(columns, name) })
}

// countryColumns returns the columns that say where a phone number is from, in the order in which they count.
func countryColumns(columns []string) (found []int) {
	ranks := make([]int, len(columns))
	for i, column := range columns {
		rank, ok := names.Country(column)
		if ranks[i] = rank; ok {
			found = append(found, i)
		}
	}
	slices.SortStableFunc(found, func(a, b int) int { return cmp.Compare(ranks[a], ranks[b]) })
	return found
}

// repeatedColumns returns the columns with the heading of another one, and a number.
func repeatedColumns(columns []string) (found []int) {
	for i, column := range columns {
		at := strings.LastIndexByte(column, '#')
		if at < 0 || !slices.Contains(columns, column[:at]) {
			continue
		}
		if _, err := strconv.Atoi(column[at+1:]); err == nil {
			found = append(found, i)
		}
	}
	return found
}

// Item returns the item of a row, and warnings about values that are left out. An empty cell changes nothing. If the
// row is invalid, the item says so.
func (p *Parser) Item(cells []string) (item contact.Item, warnings []Warning, err error) {
	r := &reading{Parser: p, cells: cells, input: map[string]any{}, lost: map[string]string{}}
	r.isOurs = p.isExport || p.id >= 0 && cells[p.id] != ""
	id := r.first(ID)
	for _, field := range contact.Fields {
		r.readField(field)
	}
	for _, i := range p.order {
		if field := p.custom[p.Mapping[i]]; field != nil {
			r.readCustom(field, i)
		}
	}
	r.warnRepeated()
	if id == "" && r.isTotal() {
		r.refuse(names.Name, "", fault.Field{Code: fault.CodeInvalidValue, Message: "is the label of a total: " +
			"a contact with this name needs an email address, a phone number or a company"})
	}
	item, err = r.item()
	if !r.isOurs {
		item.New = contact.NamedByCompany(item.Changes)
	}
	p.setMatch(&item, id)
	return item, r.warnings, err
}

// readField reads a field of every installation.
func (r *reading) readField(field *contact.Field) {
	switch field.Name {
	case names.Name:
		r.readName()
	case contact.Email:
		r.readListed(field.Name, contact.ReadEmail)
	case contact.Phone:
		r.readListed(field.Name, func(text string) contact.Reading { return contact.ReadPhone(text, r.whence()...) })
	case names.Company:
		r.set(field.Name, r.plain(field.Name, r.first(field.Name)))
		r.warnLost(field.Name)
	default:
		r.set(field.Name, r.line(field.Name, r.first(field.Name)))
	}
}

// whence returns where a phone number of the row may be from.
func (r *reading) whence() (countries []string) {
	for _, i := range r.countries {
		countries = append(countries, contact.CountryIn(r.cells[i]))
	}
	return append(countries, r.Country)
}

// plain returns a name in one line, without the escapes of HTML.
func (r *reading) plain(field, value string) string {
	if !r.isOurs {
		value = strings.TrimSpace(written.Unescape(value))
	}
	return r.line(field, value)
}

// warnLost warns about a name or a company that has only a text for no value.
func (r *reading) warnLost(field string) {
	if text := r.lost[field]; text != "" && r.input[field] == nil {
		r.warn(LeftOut, field, written.Lost(field, text))
	}
}

// setMatch sets how the item finds its contact, and what it does.
func (p *Parser) setMatch(item *contact.Item, id string) {
	text := func(field string) string { value, _ := item.Changes[field].(string); return value }
	byID := []contact.Key{{Field: contact.ID, Value: id}, {Field: contact.ExternalID, Value: text(contact.ExternalID)}}
	switch p.Match {
	case "":
		item.Keys = byID
		if id == "" && byID[1].Value == "" {
			item.Keys = []contact.Key{{Field: contact.Email, Value: text(contact.Email)}}
		}
	case contact.ID:
		item.Keys = byID
	case None:
	default:
		item.Keys = []contact.Key{{Field: p.Match, Value: text(p.Match)}}
	}
	item.Action = contact.Upsert
	if p.New == Skip {
		item.Action = contact.Update
	}
	if p.Existing == Skip {
		item.Matches = func(found *contact.Contact) bool { return found == nil }
	}
	item.Fill = p.Existing == fill
}

// Skips reports whether the choices leave out the row with this result.
func (c *Choices) Skips(result contact.Result) bool {
	return result.Wrong != nil && (c.New == Skip && result.Wrong == contact.ErrNotFound ||
		c.Existing == Skip && result.Wrong == contact.ErrPreconditionFailed)
}

// reading is a row that is being read.
type reading struct {
	*Parser
	cells    []string
	isOurs   bool // whether an export has written the row: its texts are what they say
	input    map[string]any
	lost     map[string]string // by the field: a text for no value
	faults   fault.Fields      // for which the row is refused
	warnings []Warning
}

func (r *reading) warn(kind Kind, field, text string) {
	r.warnings = append(r.warnings, Warning{kind, field, text})
}

// isTotal reports whether the row has a total: no field of a contact but a name, which is the label of one.
func (r *reading) isTotal() bool {
	for _, field := range contact.Fields {
		if _, found := r.input[field.Name]; found != (field.Name == names.Name) {
			return false
		}
	}
	name, _ := r.input[names.Name].(string)
	return len(r.cells) > 1 && names.IsTotal(name)
}

// item returns the item for what was read. Optional values that do not fit are left out with a warning, unless the
// choices are strict.
func (r *reading) item() (item contact.Item, err error) {
	var wrong fault.Fields
	item.Changes, err = contact.ParseChanges(r.app, r.input)
	if errors.As(err, &wrong) && !r.Strict {
		for name, field := range wrong {
			if contact.IsOptional(name) {
				r.leaveOut(name, fmt.Sprint(r.input[name]), field)
				delete(r.input, name)
			}
		}
		wrong = nil
		item.Changes, err = contact.ParseChanges(r.app, r.input)
	}
	if !errors.As(err, &wrong) && err != nil {
		return item, err
	}
	for name, field := range r.faults {
		if wrong == nil {
			wrong = fault.Fields{}
		}
		wrong[name] = field
	}
	if wrong != nil {
		item.Wrong = fault.InvalidContact(wrong)
	}
	return item, nil
}

// leaveOut warns that a value is left out.
func (r *reading) leaveOut(field, value string, why fault.Field) {
	kind, of := KindOf(field, why.Code)
	r.warn(kind, of, fmt.Sprintf("%s: %s is left out: it %s", field, strconv.Quote(Cut(value, maxShown)), why.Message))
}

// refuse makes a value that does not fit a reason to refuse the row, or a warning if the row can do without it.
func (r *reading) refuse(field, value string, why fault.Field) {
	if !r.Strict && contact.IsOptional(field) {
		r.leaveOut(field, value, why)
		return
	}
	if r.faults == nil {
		r.faults = fault.Fields{}
	}
	r.faults[field] = why
}

// values returns the values of a target, in the order in which they count.
func (r *reading) values(target string) (values []string) {
	for _, i := range r.order {
		value := strings.TrimSpace(r.cells[i])
		switch {
		case r.Mapping[i] != target || value == "":
		case !r.isOurs && (written.IsNoValue(value) || target == names.Name && written.IsOrder(value)):
			r.lost[whole(target)] = value
		case formulaErrors[value] == "":
			values = append(values, value)
		default:
			r.refuse(whole(target), value, formulaError(value))
		}
	}
	return values
}

// whole returns the field that a target belongs to: the name for its parts.
func whole(target string) string {
	if names.IsHalf(target) {
		return names.Name
	}
	return target
}

func (r *reading) first(target string) string {
	if values := r.values(target); len(values) > 0 {
		return values[0]
	}
	return ""
}

func (r *reading) set(field, value string) {
	if value != "" {
		r.input[field] = value
	}
}

// readName reads the name, and its parts.
func (r *reading) readName() {
	var parts [3]string
	for i, half := range names.Halves {
		parts[i] = r.first(half)
	}
	r.set(names.Name, r.plain(names.Name, names.Whole(r.first(names.Name), parts)))
	r.warnLost(names.Name)
}

// lineBreaks are the characters that end a line or a column in a cell, including those of word processors. A contact
// cannot have them.
const lineBreaks = "\r\n\t\v\f\u0085"

// line returns a value in one line.
func (r *reading) line(field, value string) string {
	if !strings.ContainsAny(value, lineBreaks) {
		return value
	}
	r.warn("", field, field+": line breaks and tabs became spaces")
	return strings.Join(strings.Fields(value), " ")
}

// readListed reads the first valid value of a field whose cells may be lists, and warns about the others of a list.
func (r *reading) readListed(field string, read func(text string) contact.Reading) {
	var wrong *fault.Field
	var invalid []string
	for _, cell := range r.values(field) {
		found := read(cell)
		if found.Wrong == nil {
			r.set(field, found.Value)
			if found.Assumed != "" {
				r.warn("", field, found.Assumed)
			}
			if found.LeftOut != "" {
				r.warn(LeftOut, field, found.LeftOut)
			}
			for _, cell := range invalid { // of columns that count more
				r.leaveOut(field, cell, *wrong)
			}
			return
		}
		if wrong == nil {
			wrong = found.Wrong
		}
		invalid = append(invalid, cell)
	}
	if wrong != nil {
		r.refuse(field, invalid[0], *wrong)
	}
}

func (r *reading) readCustom(field core.Field, at int) {
	cell, style := r.cells[at], r.styles[at]
	if r.isOurs {
		style = custom.Exact
	}
	read := custom.Read(field, cell, style)
	switch {
	case cell == "" || read.Value == nil && read.Wrong == nil:
	case formulaErrors[cell] != "":
		r.refuse(field.GetName(), cell, formulaError(cell))
	default:
		if read.Wrong != nil {
			r.refuse(field.GetName(), read.Left, *read.Wrong)
		}
		if read.Value != nil {
			r.input[field.GetName()] = read.Value
		}
	}
}

// formulaErrors has what spreadsheet programs show for a formula without a value, and what is wrong.
var formulaErrors = func() map[string]string {
	all := map[string]string{xlsx.NoResult: "has a formula without a result: " +
		"open the workbook in your spreadsheet program and save it, then import it again"}
	for _, shown := range []string{"#N/A", "#REF!", "#VALUE!", "#DIV/0!", "#NAME?", "#NULL!", "#NUM!"} {
		all[shown] = "is the error of a formula: correct or clear the cell"
	}
	return all
}()

func formulaError(value string) fault.Field {
	return fault.Field{Code: fault.CodeInvalidValue, Message: formulaErrors[value]}
}
