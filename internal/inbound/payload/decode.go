// Package payload reads the payloads of other systems: it decodes a body and maps it to items, each of which says
// what to do with one contact. It uses neither a database nor HTTP, so that a request is read before its transaction.
// Of contacts it knows only the table of fields.
package payload

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"strconv"
	"strings"
	"unicode/utf8"

	"contactbase/internal/charset"
	"contactbase/internal/contact"
	"contactbase/internal/contact/names"
	"contactbase/internal/contact/written"
	"contactbase/internal/fault"
	"contactbase/internal/wire"
)

// Limits of one request.
const (
	MaxBody   = 5 << 20 // bytes; checked by the code that reads the body
	MaxItems  = 1000    // items of an array
	MaxDepth  = 64      // levels of nested objects and arrays
	MaxValues = 100_000 // values, including objects and arrays; half a million would take most of the time

	// maxValue is the maximum size of a value, in bytes. No field is nearly as long; longer ones are attachments.
	maxValue = 64 << 10
)

// Item is one contact to apply.
type Item struct {
	Action contact.Action // an upsert without a key is a Create, and one by the id an Update
	Match  []contact.Key  // the first that finds a contact counts
	// the sent fields, by the names of contact.Fields: a trimmed string that is not empty, or nil to clear
	Fields map[string]any
	// other properties, by the names sent, which may be custom fields: a trimmed string that is not empty, or what a JSON
	// decoder returns
	Extra     map[string]any
	Countries []string       // where a national phone number is from, as contact.ReadPhone takes it
	lost      map[string]any // by the field: a text for no value
	Changed   []string       // an event of another Contactbase: the names to write to a contact that was found; nil = all
	Warnings  []string
	Ignored   bool         // a preset takes no contact from the payload; then only Warnings is also valid
	Missing   []string     // what a mapping finds nothing for: the fields, each with its paths
	Err       *fault.Error // why the item cannot be applied; then only Warnings is also valid
	source    *part        // where the contact is, if not at the top of the item
	several   bool         // nobody can tell which of several people is the contact
}

// IsEvent reports whether the item is an event of another Contactbase.
func (it *Item) IsEvent() bool { return it.Changed != nil }

// readTexts reads the texts of people and other programs: the names of the person and of the company in one line each,
// without the escapes of HTML, and the address. An event of another Contactbase has no such texts.
func (it *Item) readTexts() {
	if it.IsEvent() {
		return
	}
	for _, name := range []string{fieldName, fieldCompany} {
		text, ok := it.Fields[name].(string)
		if ok && name == fieldName {
			text = nameInLines(text)
		}
		if text = strings.TrimSpace(inLine(written.Unescape(text))); text != "" {
			it.Fields[name] = text
		} else if ok {
			delete(it.Fields, name)
		}
	}
	text, _ := it.Fields[FieldEmail].(string)
	if read := contact.ReadEmail(text); read.Wrong == nil && read.Value != "" {
		it.Fields[FieldEmail] = read.Value
		it.Warnings = append(it.Warnings, read.Warnings()...)
	}
}

// lose notes that a field has a text for no value, which counts as not sent. field may be a part of the name.
func (it *Item) lose(field string, text any) {
	if names.IsHalf(field) {
		field = fieldName
	}
	if it.lost == nil {
		it.lost = map[string]any{}
	}
	it.lost[field] = text
}

// warnLost warns about a name and a company that have only a text for no value.
func (it *Item) warnLost() {
	for _, name := range []string{fieldName, fieldCompany} {
		if text, ok := it.lost[name].(string); ok && it.Fields[name] == nil {
			it.Warnings = append(it.Warnings, written.Lost(name, text))
		}
	}
}

// finish checks the action, and sets how to find the contact: by its id alone if it was sent, otherwise by
// externalId, then by email.
func (it *Item) finish() {
	switch {
	case it.Err != nil || it.Ignored || it.IsEvent():
		return
	case it.Action != contact.Upsert && it.Action != contact.Delete:
		it.Err = fault.New(fault.InvalidAction, fmt.Sprintf("the action %q is neither upsert nor delete", it.Action))
		return
	case it.Match == nil:
		for _, name := range []string{FieldExternalID, FieldEmail} {
			if text, ok := it.Fields[name].(string); ok {
				it.Match = append(it.Match, contact.Key{Field: name, Value: text})
			}
		}
	case it.Action == contact.Upsert:
		it.Action = contact.Update
	}
	if it.Action == contact.Upsert && it.Match == nil {
		it.Action = contact.Create
	}
}

// fail rejects the item because of one of its fields.
func (it *Item) fail(wrong *fault.Field, field string) {
	fields := fault.Fields{field: *wrong}
	it.Err = &fault.Error{Code: fault.ValidationFailed, Message: fields.Error(), Fields: fields}
}

// Payload is the content of a request.
type Payload struct {
	// at most MaxItems; empty only for an event that needs nothing done, or if the mapping's items path
	// selects an empty list
	Items []Item
	Note  string // a sentence about what arrived instead of a contact, "" if nothing did
	Batch bool   // an array, or the mapping has an items path
	Kept  Kept
}

// Own is a field that an admin has added.
type Own struct {
	Name      string
	IsNoValue func(text string) bool // nil if each text is a value
}

// isOwn reports whether a name is that of a field that an admin has added.
func isOwn(own map[string]Own, name string) bool {
	_, is := own[name]
	return is
}

// Decode reads a body of at most MaxBody bytes. contentType is the header as sent. Without a mapping (m is nil), it
// reads common names (see plainItem) and events of another Contactbase; with one, only the mapping counts. fields are
// those that an admin has added; their names mean nothing else. The error is always a *fault.Error.
func Decode(contentType string, body []byte, m *Mapping, fields ...Own) (Payload, error) {
	own := map[string]Own{}
	for _, field := range fields {
		own[field.Name] = field
	}
	d, err := open(contentType, body)
	if err != nil {
		return Payload{}, err
	}
	if isCheck(d.root) {
		p := Nothing()
		p.Kept = d.kept
		return p, nil
	}
	var p Payload
	root := d.root
	if m = m.byTopic(contentType); m != nil {
		p, err = m.apply(root, own)
	} else {
		p, err = decodePlain(root, own)
	}
	if err != nil {
		return Payload{}, err
	}
	unfilled := isUnfilled(root)
	if p.Note == "" && !unfilled {
		p.Note = receivedNote(d.kept.Names)
	} else if unfilled {
		p.Note = " The values are empty: " + some(d.kept.Names) + "."
	}
	p.Kept = d.kept
	for _, warning := range d.warnings {
		p.Note += " " + strings.ToUpper(warning[:1]) + warning[1:] + "."
	}
	for i := range p.Items {
		p.Items[i].readTexts()
		p.Items[i].finish()
		p.Items[i].Warnings = append(p.Items[i].Warnings, d.warnings...)
	}
	if m == nil && !unfilled {
		p.advise(root)
	}
	return p, nil
}

// advise adds what to do for a payload of another form. The first item stands for all.
func (p *Payload) advise(root any) {
	if len(p.Items) == 0 || p.Items[0].IsEvent() {
		return
	}
	if list, ok := root.([]any); ok && p.Batch {
		root = list[0]
	}
	first := &p.Items[0]
	if first.lost[FieldEmail] != nil {
		return
	}
	if first.Match != nil || first.source != nil {
		first.adviseUnread(root)
		return
	}
	if first.several {
		p.Note += " It has several people."
	}
	text := suggestion(root)
	if text == "" {
		p.Note += " Choose the sender's preset, or set a mapping with the paths of the contact's fields."
		first.adviseUnread(root)
		return
	}
	p.Note += " Choose the sender's preset, or set a mapping such as " + text + "."
	first.Warnings = append(first.Warnings,
		"the body has an email address that was not read; choose the sender's preset, or set a mapping such as "+text)
}

// decodePlain reads a payload without a mapping.
func decodePlain(root any, own map[string]Own) (Payload, error) {
	switch v := root.(type) {
	case map[string]any:
		if p, ok := decodeEvent(v); ok {
			return p, nil
		}
		return Payload{Items: []Item{readItem(v, own)}}, nil
	case []any:
		if len(v) == 0 {
			return Payload{}, errEmptyArray
		}
		if isForm(v) {
			if item := formItem(newWork(), v); item.Fields[FieldEmail] != nil {
				return Payload{Items: []Item{item}}, nil
			}
		}
		items, err := plainItems(v, own)
		return Payload{Items: items, Batch: true}, err
	}
	return Payload{}, fault.New(fault.ValidationFailed,
		"Send a JSON object with a contact's fields, or an array of such objects.")
}

// plainItems reads the elements of an array by common names.
func plainItems(list []any, own map[string]Own) ([]Item, error) {
	if err := checkCount(len(list)); err != nil {
		return nil, err
	}
	items := make([]Item, len(list))
	for i, el := range list {
		if obj, ok := el.(map[string]any); ok {
			items[i] = readItem(obj, own)
		} else {
			items[i] = notAnObject()
		}
	}
	return items, nil
}

func notAnObject() Item {
	return Item{Action: contact.Upsert, Err: fault.New(fault.CodeInvalidType,
		"an item must be an object with a contact's fields")}
}

func checkCount(n int) error {
	if n > MaxItems {
		return fault.New(fault.PayloadTooLarge,
			"At most "+strconv.Itoa(MaxItems)+" items can be sent in one request. Split the request.")
	}
	return nil
}

// parse decodes a body like encoding/json with UseNumber: numbers keep their digits. The names of the files of a form
// are in files.
func parse(contentType string, body []byte) (root any, files []string, err error) {
	media, params, err := mime.ParseMediaType(contentType)
	if err != nil && !errors.Is(err, mime.ErrInvalidMediaParameter) && strings.TrimSpace(contentType) != "" {
		return nil, nil, unsupported()
	}
	if cs := params["charset"]; !charset.IsUTF8(cs) {
		return nil, nil, fault.New(fault.UnsupportedMediaType,
			fmt.Sprintf("The body must be in UTF-8; Content-Type names the charset %.40q.", cs))
	}
	switch {
	case media == "application/json", strings.HasSuffix(media, "+json"), isText(media) && looksLikeJSON(body):
		root, err = parseJSON(body)
	case media == "application/x-www-form-urlencoded":
		if looksLikeJSON(body) { // many programs send JSON with the type of a form
			root, err = parseJSON(body)
		}
		if root == nil {
			root, err = parseURLEncoded(body)
		}
	case media == "multipart/form-data":
		root, files, err = parseMultipart(body, params["boundary"])
	default:
		err = unsupported()
	}
	return root, files, err
}

// isText reports whether a body of this type may be JSON: many senders send it as text, or without a type.
func isText(media string) bool { return media == "" || strings.HasPrefix(media, "text/") }

func looksLikeJSON(body []byte) bool {
	body = bytes.TrimSpace(wire.WithoutMark(body))
	return len(body) > 0 && (body[0] == '{' || body[0] == '[')
}

func unsupported() error {
	return fault.New(fault.UnsupportedMediaType,
		"Send JSON, a form or a multipart form, with Content-Type application/json, "+
			"application/x-www-form-urlencoded or multipart/form-data.")
}

// Why a request has nothing to read.
var (
	errEmptyBody  = fault.New(fault.ValidationFailed, "The body is empty. Send a contact's fields.")
	errEmptyArray = fault.New(fault.ValidationFailed, "The array is empty. Send at least one contact.")
)

// IsEmpty reports whether Decode failed because the request has nothing to read.
func IsEmpty(err error) bool { return errors.Is(err, errEmptyBody) || errors.Is(err, errEmptyArray) }

// Nothing returns the payload of a request with nothing to read, which is ignored.
func Nothing() Payload {
	return Payload{Items: []Item{{Action: contact.Upsert, Ignored: true, Warnings: []string{"the request is empty"}}}}
}

// isCheck reports whether the body has only an empty list as a text, by which Mandrill tries an address.
func isCheck(root any) bool {
	form, _ := root.(map[string]any)
	for _, value := range form {
		text, _ := value.(string)
		inner, found := strings.CutPrefix(strings.TrimSpace(text), "[")
		return len(form) == 1 && found && strings.TrimSpace(inner) == "]"
	}
	return false
}

func notUTF8() error {
	return fault.New(fault.InvalidJSON, "The body must be valid UTF-8.")
}

// parseJSON follows RFC 8259 strictly, except that it allows a leading byte order mark. If a name occurs twice, the
// last one counts. encoding/json would replace invalid UTF-8 and allow 10,000 levels, so both are checked first.
func parseJSON(body []byte) (any, error) {
	body = wire.WithoutMark(body)
	if len(bytes.TrimSpace(body)) == 0 {
		return nil, errEmptyBody
	}
	if !utf8.Valid(body) {
		return nil, notUTF8()
	}
	depth, values := wire.Measure(body)
	if depth > MaxDepth {
		return nil, fault.New(fault.InvalidJSON, "The JSON is nested more than "+strconv.Itoa(MaxDepth)+" levels deep.")
	}
	if values > MaxValues {
		return nil, fault.New(fault.PayloadTooLarge,
			"At most "+strconv.Itoa(MaxValues)+" values can be sent in one request. Split the request.")
	}
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.UseNumber()
	var root any
	if err := dec.Decode(&root); err != nil {
		return nil, fault.New(fault.InvalidJSON, "The body is not valid JSON"+jsonReason(err)+".")
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, fault.New(fault.InvalidJSON, "The body must be a single JSON value.")
	}
	return root, nil
}

func jsonReason(err error) string {
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) {
		return " at byte " + strconv.FormatInt(syntax.Offset, 10)
	}
	return ""
}
