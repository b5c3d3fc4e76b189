package sheet

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/contact"
	"contactbase/internal/contact/names"
	"contactbase/internal/fault"
	"contactbase/internal/xlsx"
)

// Parser turns rows into items.
type Parser struct {
	Choices
	app    core.App
	order  []int // of the columns: see Mapping.order
	custom map[string]core.Field
}

// Parser returns a parser for the rows of a sheet with these columns.
func (c Choices) Parser(app core.App, columns []string) (*Parser, error) {
	p := &Parser{Choices: c, app: app, order: c.Mapping.order(columns), custom: map[string]core.Field{}}
	custom, err := contact.CustomFields(app)
	for _, field := range custom {
		p.custom[field.GetName()] = field
	}
	return p, err
}

// Item returns the item of a row, and warnings about values that are left out. An empty cell changes nothing. If the
// row is invalid, the item says so.
func (p *Parser) Item(cells []string) (item contact.Item, warnings []string, err error) {
	r := &reading{Parser: p, cells: cells, input: map[string]any{}}
	id := r.first(ID)
	for _, field := range contact.Fields {
		r.readField(field)
	}
	for _, i := range p.order {
		if field := p.custom[p.Mapping[i]]; field != nil {
			r.readCustom(field, cells[i])
		}
	}
	if id == "" && r.isTotal() {
		r.refuse(names.Name, "", fault.Field{Code: fault.CodeInvalidValue, Message: "is the label of a total: " +
			"a contact with this name needs an email address, a phone number or a company"})
	}
	item, err = r.item()
	p.aim(&item, id)
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
		r.readListed(field.Name, func(text string) (string, *fault.Field) { return contact.ReadPhone(text, r.Country) })
	default:
		r.set(field.Name, r.line(field.Name, r.first(field.Name)))
	}
}

// aim sets how the item finds its contact, and what it does.
func (p *Parser) aim(item *contact.Item, id string) {
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
	input    map[string]any
	faults   fault.Fields // for which the row is refused
	warnings []string
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
				r.leaveOut(name, fmt.Sprint(r.input[name]), field.Message)
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
func (r *reading) leaveOut(field, value, why string) {
	r.warnings = append(r.warnings,
		fmt.Sprintf("%s: %s is left out: it %s", field, strconv.Quote(Cut(value, maxShown)), why))
}

// refuse makes a value that does not fit a reason to refuse the row, or a warning if the row can do without it.
func (r *reading) refuse(field, value string, why fault.Field) {
	if !r.Strict && contact.IsOptional(field) {
		r.leaveOut(field, value, why.Message)
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
		case formulaErrors[value] == "":
			values = append(values, value)
		case names.IsHalf(target):
			r.refuse(names.Name, value, formulaError(value))
		default:
			r.refuse(target, value, formulaError(value))
		}
	}
	return values
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
	r.set(names.Name, r.line(names.Name, names.Whole(r.first(names.Name), parts)))
}

// lineBreaks are the characters that end a line or a column in a cell, including those of word processors. A contact
// cannot have them.
const lineBreaks = "\r\n\t\v\f\u0085"

// line returns a value in one line.
func (r *reading) line(field, value string) string {
	if !strings.ContainsAny(value, lineBreaks) {
		return value
	}
	r.warnings = append(r.warnings, field+": line breaks and tabs became spaces")
	return strings.Join(strings.Fields(value), " ")
}

// listSeparators separate the values of a list in a cell, the most specific first.
var listSeparators = []string{" ::: ", "\n", ";", ","}

// emailSeparators separate email addresses, which contain no spaces.
var emailSeparators = append(slices.Clone(listSeparators), "|", "/", " ")

// maxListed is the maximum number of values of a list that are read.
const maxListed = 100

// readListed reads the first valid value of a field whose cells may be lists, and warns about the others of a list.
func (r *reading) readListed(field string, read func(string) (string, *fault.Field)) {
	separators := listSeparators
	if field == contact.Email {
		separators = emailSeparators
	}
	var wrong *fault.Field
	var invalid []string
	for _, cell := range r.values(field) {
		text := withoutJSON(bare(cell))
		if field == contact.Phone {
			text = apart(text)
		}
		value, others, fault := readList(text, separators, read)
		if fault == nil {
			r.take(field, value, invalid, wrong)
			if len(others) > 0 {
				r.warnings = append(r.warnings, fmt.Sprintf("%s: the first valid value of a list counts; %s left out",
					field, strconv.Quote(Cut(strings.Join(others, ", "), maxShown))))
			}
			return
		}
		if wrong == nil {
			wrong = fault
		}
		invalid = append(invalid, bare(cell))
	}
	if wrong != nil {
		r.refuse(field, invalid[0], *wrong)
	}
}

// readList returns the first valid value of a text that may be a list, and the others of the list, or the
// errors in the text.
func readList(
	text string, separators []string, read func(string) (string, *fault.Field),
) (value string, others []string, wrong *fault.Field) {
	value, wrong = read(text)
	if wrong == nil {
		return value, nil, nil
	}
	for i, separator := range separators {
		if !strings.Contains(text, separator) {
			continue
		}
		parts := split(text, separator)
		for at, part := range parts[:min(len(parts), maxListed)] {
			value, others, fault := readList(bare(part), separators[i+1:], read)
			if fault == nil && value != "" {
				return value, slices.Concat(parts[:at], others, parts[at+1:]), nil
			}
		}
		break
	}
	return "", nil, wrong
}

// take sets a field to a value, and warns about the invalid ones of columns that count more.
func (r *reading) take(field, value string, invalid []string, wrong *fault.Field) {
	r.set(field, value)
	for _, cell := range invalid {
		r.leaveOut(field, cell, wrong.Message)
	}
}

// bare returns a value without the marks of other programs for a text: an apostrophe, two of them, or a formula.
func bare(cell string) string {
	cell = strings.TrimSpace(cell)
	if text, isQuoted := strings.CutPrefix(cell, "'"); isQuoted {
		return strings.TrimSuffix(text, "'")
	}
	if text, isFormula := strings.CutPrefix(cell, `="`); isFormula {
		return strings.TrimSuffix(text, `"`)
	}
	return cell
}

// withoutJSON returns the texts of a JSON array as a list, and any other cell unchanged.
func withoutJSON(cell string) string {
	if !strings.HasPrefix(cell, `["`) {
		return cell
	}
	var texts []string
	if json.Unmarshal([]byte(cell), &texts) != nil {
		return cell
	}
	return strings.Join(texts, listSeparators[0])
}

// apart returns international numbers that only their plus signs tell apart, as in "+49301 / +49302", as a list.
func apart(text string) string {
	first, others, _ := strings.Cut(text, "+")
	if !strings.Contains(others, "+") {
		return text
	}
	return first + "+" + numberBegin.ReplaceAllString(others, "${1}"+listSeparators[0]+"+")
}

// numberBegin finds the end of a number and the beginning of another one, without a separator of lists between them.
var numberBegin = regexp.MustCompile(`([^\s/|:;,])[\s/|]+\+`)

// split returns the values of a list.
func split(text, separator string) []string {
	parts := strings.SplitN(text, separator, maxListed+1)
	for i := range parts {
		parts[i] = strings.TrimSpace(parts[i])
	}
	return slices.DeleteFunc(parts, func(part string) bool { return part == "" })
}

func (r *reading) readCustom(field core.Field, cell string) {
	if !isText(field) && strings.TrimSpace(cell) == "" {
		cell = ""
	}
	switch {
	case cell == "":
	case formulaErrors[cell] != "":
		r.refuse(field.GetName(), cell, formulaError(cell))
	default:
		r.input[field.GetName()] = valueOf(field, cell)
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
