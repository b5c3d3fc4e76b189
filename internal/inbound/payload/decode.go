// Package payload reads what other systems post: it decodes a body and maps it to items, each of which says what is to
// happen to one contact. It is pure, without a database and without HTTP, so that a request is read before the transaction
// in which it is applied. Of contacts it knows the table of fields alone.
package payload

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"strconv"
	"strings"
	"unicode/utf8"

	"contactbase/internal/fault"
	"contactbase/internal/wire"
)

// Limits of one request.
const (
	MaxBody   = 1 << 20 // bytes; checked by the code that reads the body
	MaxItems  = 1000    // items of an array
	MaxDepth  = 64      // levels of nested objects and arrays
	MaxValues = 100_000 // values, whether objects, arrays or in them; half a million would take most of the time

	// maxValue bounds one value, in bytes. No field is nearly as long; it keeps a mapping whose path selects
	// half of the payload from storing it.
	maxValue = 64 << 10
)

// Action says what is to happen to a contact. Anything but the two constants is the text that was sent, for the
// message that refuses it.
type Action string

// The actions.
const (
	Upsert Action = "upsert"
	Delete Action = "delete"
)

// Item is one contact to apply. Keys says how to find it, Against what to write to the one that was found.
type Item struct {
	ID         *string        // the contact's own id here; nil = not sent
	ExternalID *string        // the sender's id of it; nil = not sent or no value
	Fields     map[string]any // by the names of contact.Fields, as far as sent: a non-empty trimmed string, or nil, which clears
	Extra      map[string]any // other properties under the names that were sent: string or nil; custom fields, perhaps
	Action     Action
	Warnings   []string
	Err        *fault.Error // the item cannot be applied; only Warnings counts beside it
	Chain      *Chain       // set when the item is an event of another Contactbase
}

// fail refuses the item for what is wrong with one of its fields.
func (it *Item) fail(wrong *fault.Field, field string) {
	it.Err = &fault.Error{Code: fault.ValidationFailed, Message: wrong.Message, Fields: fault.Fields{field: *wrong}}
}

// Payload is what a request asks for.
type Payload struct {
	Items []Item // at most MaxItems; empty only for a ping and when the mapping's items path selects nothing
	Batch bool   // an array, or the mapping has an items path
	Ping  bool   // another Contactbase's test event: nothing to do
}

// Decode reads a body of at most MaxBody bytes. contentType is the header as sent; m may be nil, and then the
// common names count (see aliases.go) and an event of another Contactbase is understood. With a mapping only
// the mapping counts. The error is always a *fault.Error.
func Decode(contentType string, body []byte, m *Mapping) (Payload, error) {
	root, warnings, err := parse(contentType, body)
	if err != nil {
		return Payload{}, err
	}
	var p Payload
	if m != nil {
		p, err = m.apply(root)
	} else {
		p, err = decodePlain(root)
	}
	if err != nil {
		return Payload{}, err
	}
	for i := range p.Items {
		p.Items[i].Warnings = append(p.Items[i].Warnings, warnings...)
	}
	return p, nil
}

// decodePlain reads a payload without a mapping.
func decodePlain(root any) (Payload, error) {
	switch v := root.(type) {
	case map[string]any:
		if p, ok := decodeEvent(v); ok {
			return p, nil
		}
		return Payload{Items: []Item{plainItem(v)}}, nil
	case []any:
		if len(v) == 0 {
			return Payload{}, fault.New(fault.ValidationFailed, "The array is empty: send at least one contact.")
		}
		items, err := plainItems(v)
		return Payload{Items: items, Batch: true}, err
	}
	return Payload{}, fault.New(fault.ValidationFailed, "Send a JSON object with a contact's fields, or an array of such objects.")
}

// plainItems reads the elements of an array by the common names.
func plainItems(list []any) ([]Item, error) {
	if err := checkCount(len(list)); err != nil {
		return nil, err
	}
	items := make([]Item, len(list))
	for i, el := range list {
		if obj, ok := el.(map[string]any); ok {
			items[i] = plainItem(obj)
		} else {
			items[i] = notAnObject()
		}
	}
	return items, nil
}

func notAnObject() Item {
	return Item{Action: Upsert, Err: fault.New(fault.CodeInvalidType, "an item must be an object with a contact's fields")}
}

func checkCount(n int) error {
	if n > MaxItems {
		return fault.New(fault.PayloadTooLarge, "At most "+strconv.Itoa(MaxItems)+" items can be sent in one request.")
	}
	return nil
}

// parse turns a body into the tree that encoding/json would give with UseNumber: numbers keep their digits.
// The warnings are about the body as a whole.
func parse(contentType string, body []byte) (root any, warnings []string, err error) {
	media, params, err := mime.ParseMediaType(contentType)
	if err != nil && !errors.Is(err, mime.ErrInvalidMediaParameter) {
		return nil, nil, unsupported()
	}
	if cs := params["charset"]; cs != "" && !strings.EqualFold(cs, "utf-8") && !strings.EqualFold(cs, "utf8") {
		return nil, nil, fault.New(fault.UnsupportedMediaType, "Only UTF-8 is understood.")
	}
	switch {
	case media == "application/json", strings.HasSuffix(media, "+json"):
		root, err = parseJSON(body)
	case media == "application/x-www-form-urlencoded":
		root, err = parseURLEncoded(body)
	case media == "multipart/form-data":
		root, warnings, err = parseMultipart(body, params["boundary"])
	default:
		err = unsupported()
	}
	return root, warnings, err
}

func unsupported() error {
	return fault.New(fault.UnsupportedMediaType,
		"Send application/json, application/x-www-form-urlencoded or multipart/form-data.")
}

func emptyBody() error {
	return fault.New(fault.ValidationFailed, "The body is empty: send a contact's fields.")
}

func notUTF8() error {
	return fault.New(fault.InvalidJSON, "The body is not valid UTF-8.")
}

// parseJSON is strict RFC 8259, except for a leading byte order mark. Of a name that is there twice the last one
// counts. encoding/json would replace invalid UTF-8 and allow 10,000 levels, so both are checked first.
func parseJSON(body []byte) (any, error) {
	body = bytes.TrimPrefix(body, []byte("\xef\xbb\xbf"))
	if len(bytes.TrimSpace(body)) == 0 {
		return nil, emptyBody()
	}
	if !utf8.Valid(body) {
		return nil, notUTF8()
	}
	depth, values := wire.Measure(body)
	if depth > MaxDepth {
		return nil, fault.New(fault.InvalidJSON, "The JSON is nested more than "+strconv.Itoa(MaxDepth)+" levels deep.")
	}
	if values > MaxValues {
		return nil, fault.New(fault.PayloadTooLarge, "At most "+strconv.Itoa(MaxValues)+" values can be sent in one request.")
	}
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.UseNumber()
	var root any
	if err := dec.Decode(&root); err != nil {
		return nil, fault.New(fault.InvalidJSON, "The body is not valid JSON"+jsonReason(err)+".")
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, fault.New(fault.InvalidJSON, "There is something after the end of the JSON.")
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
