package payload

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"mime/multipart"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"contactbase/internal/charset"
	"contactbase/internal/fault"
)

// Limits of a form: enough for 1,000 contacts of five fields, and for far more nesting than any sender uses.
const (
	maxFormPairs = 5000
	maxFormDepth = 16
)

// parseURLEncoded reads application/x-www-form-urlencoded. It reads pair by pair because url.ParseQuery loses the
// order, and the last of two pairs counts.
func parseURLEncoded(body []byte) (any, error) {
	if len(bytes.TrimSpace(body)) == 0 {
		return nil, errEmptyBody
	}
	var pairs []pair
	for part := range strings.SplitSeq(strings.TrimSpace(string(body)), "&") {
		if part == "" {
			continue
		}
		if len(pairs) == maxFormPairs {
			return nil, tooManyPairs()
		}
		rawName, rawValue, _ := strings.Cut(part, "=")
		name, err1 := url.QueryUnescape(rawName)
		value, err2 := url.QueryUnescape(rawValue)
		if err := errors.Join(err1, err2); err != nil {
			return nil, fault.New(fault.InvalidJSON, "The form is malformed: a % must be followed by two hexadecimal digits.")
		}
		pairs = append(pairs, pair{name, value})
	}
	return formOf(pairs)
}

// parseMultipart reads multipart/form-data (RFC 7578). It skips files, and returns their names.
func parseMultipart(body []byte, boundary string) (any, []string, error) {
	if len(body) == 0 {
		return nil, nil, errEmptyBody
	}
	if boundary == "" {
		return nil, nil, fault.New(fault.InvalidJSON, "The multipart form has no boundary. Add it to Content-Type.")
	}
	var pairs []pair
	var files []string
	r := multipart.NewReader(bytes.NewReader(body), boundary)
	for parts := 0; ; parts++ {
		part, err := r.NextPart()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil || parts >= maxFormPairs {
			return nil, nil, malformedMultipart()
		}
		if part.FileName() != "" {
			if !utf8.ValidString(part.FormName()) {
				return nil, nil, notUTF8()
			}
			files = append(files, part.FormName())
			continue
		}
		value, err := io.ReadAll(part)
		if err != nil {
			return nil, nil, malformedMultipart()
		}
		pairs = append(pairs, pair{part.FormName(), string(value)})
	}
	root, err := formOf(pairs)
	return root, files, err
}

// pair is a value of a form.
type pair struct{ name, value string }

// formOf returns the values of a form by their names' brackets.
func formOf(pairs []pair) (any, error) {
	if !decodeTexts(pairs) {
		return nil, notUTF8()
	}
	f := newForm()
	for _, p := range pairs {
		if err := f.add(p.name, p.value); err != nil {
			return nil, err
		}
	}
	return f.tree(), nil
}

// decodeTexts makes the texts of a form that is not UTF-8 so, by the encodings that its own values name: for all texts
// in HTML's _charset_ or PayPal's charset, and for each in SendGrid's charsets, as JSON. It reports whether it can.
func decodeTexts(pairs []pair) bool {
	valid := func(p pair) bool { return utf8.ValidString(p.name) && utf8.ValidString(p.value) }
	if !slices.ContainsFunc(pairs, func(p pair) bool { return !valid(p) }) {
		return true
	}
	common, each := "", map[string]string{}
	for _, p := range pairs {
		switch p.name {
		case "_charset_", "charset":
			common = p.value
		case "charsets":
			_ = json.Unmarshal([]byte(p.value), &each) // otherwise, it is a value like any other
		}
	}
	for i := range pairs {
		p := &pairs[i]
		label := cmp.Or(each[p.name], common)
		if encoding, _, ok := charset.Named(label); ok && !charset.IsUTF8(label) {
			p.name, _ = encoding.NewDecoder().String(p.name) // what it cannot decode is U+FFFD
			p.value, _ = encoding.NewDecoder().String(p.value)
		}
		if !valid(*p) || strings.ContainsRune(p.name+p.value, utf8.RuneError) {
			return false
		}
	}
	return true
}

func tooManyPairs() error {
	return fault.New(fault.PayloadTooLarge, "A form can have at most "+strconv.Itoa(maxFormPairs)+" values.")
}

func malformedMultipart() error {
	return fault.New(fault.InvalidJSON, "The multipart form is malformed or truncated.")
}

// node is a value or a set of named children while a form is read. Numbered children are ordered only at the end, so
// that "a[999999999]=x" costs one entry.
type node struct {
	value    string
	children map[string]*node
	appended int // the number for the next "[]"
}

type form struct{ root *node }

func newForm() *form { return &form{root: &node{children: map[string]*node{}}} }

// add stores a pair under its name's brackets. It omits a pair without a value: browsers send every input, and a
// blank one must not clear a contact's field.
func (f *form) add(name, value string) error {
	if name == "" || strings.TrimSpace(value) == "" {
		return nil
	}
	keys := splitName(name)
	if len(keys) > maxFormDepth {
		return fault.New(fault.InvalidJSON, "A form can be nested at most "+strconv.Itoa(maxFormDepth)+" levels deep.")
	}
	at := f.root
	for _, key := range keys {
		if at.children == nil { // "a=1&a[b]=2": the later form of the name counts
			at.children = map[string]*node{}
		}
		if key == "" {
			key = strconv.Itoa(at.appended)
		}
		if i, ok := listIndex(key); ok {
			at.appended = max(at.appended, i+1)
		}
		next := at.children[key]
		if next == nil {
			next = &node{}
			at.children[key] = next
		}
		at = next
	}
	at.value, at.children = value, nil
	return nil
}

// splitName splits "a[b][]" into "a", "b", "". A name with unbalanced brackets is one part.
func splitName(name string) []string {
	open := strings.IndexByte(name, '[')
	if open <= 0 || !strings.HasSuffix(name, "]") {
		return []string{name}
	}
	inner := strings.Split(name[open+1:len(name)-1], "][")
	for _, key := range inner {
		if strings.ContainsAny(key, "[]") {
			return []string{name}
		}
	}
	return append([]string{name[:open]}, inner...)
}

func (f *form) tree() any { return f.root.object() }

func (n *node) object() map[string]any {
	out := make(map[string]any, len(n.children))
	for key, child := range n.children {
		out[key] = child.tree()
	}
	return out
}

// listIndex reads a child's number. Nine digits are more than any list needs, and cannot overflow.
func listIndex(key string) (int, bool) {
	i, err := strconv.Atoi(key)
	return i, err == nil && i >= 0 && len(key) <= 9 && strconv.Itoa(i) == key
}

// tree turns children that all have numbers into a list, in order and without gaps.
func (n *node) tree() any {
	if n.children == nil {
		return n.value
	}
	numbers := make(map[int]*node, len(n.children))
	for key, child := range n.children {
		i, ok := listIndex(key)
		if !ok {
			return n.object()
		}
		numbers[i] = child
	}
	list := make([]any, 0, len(numbers))
	for _, i := range slices.Sorted(maps.Keys(numbers)) {
		list = append(list, numbers[i].tree())
	}
	return list
}
