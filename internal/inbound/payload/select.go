package payload

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// maxWork is how much work the paths of a mapping may do for one request. One unit is a value that a path visits, 4
// bytes of a text that it finds, or half a byte of JSON that it decodes. 8 comparisons of a character with a
// pattern's are also one unit. A thousand items with ten paths each, some of them through lists, need a third of it.
const maxWork = 500_000

// work counts the paths' work for a request. Nothing else limits it: a short path can visit each part of a payload
// arbitrarily often.
type work struct {
	left  int
	texts map[string]any // decoded JSON by its text, see unpack
	asked []string       // a few labels of the questions that were looked at, for the admin who maps them
}

func newWork() *work { return &work{left: maxWork, texts: map[string]any{}} }

// spend subtracts units from what is left. It returns false if too little is left, and always from then on.
func (w *work) spend(units int) bool {
	w.left -= min(units, w.left+1)
	return w.left >= 0
}

// note remembers the labels of a form, if there is still room.
func (w *work) note(labels []string) {
	for _, label := range labels {
		if len(w.asked) > mostNames {
			return
		}
		if label != "" && !slices.Contains(w.asked, label) {
			w.asked = append(w.asked, label)
		}
	}
}

func (w *work) isOver() bool { return w.left < 0 }

// get follows the path from v, a value decoded by encoding/json with UseNumber. It returns false if the path finds
// nothing or no work is left.
func (w *work) get(v any, p path) (any, bool) {
	for _, steps := range p {
		var ok bool
		if v, ok = w.walk(v, steps); !ok {
			return nil, false
		}
	}
	return v, true
}

func (w *work) walk(v any, steps chain) (any, bool) {
	if !w.spend(1) {
		return nil, false
	}
	if len(steps) == 0 {
		return v, true
	}
	return steps[0].find(w, v, steps[1:])
}

// property is a name in an object or, if it is a number, an element of a list.
type property struct {
	name  string
	index int // -1 if the name is not a number
}

func (p property) find(w *work, v any, rest chain) (any, bool) {
	switch v := v.(type) {
	case map[string]any:
		if child, ok := v[p.name]; ok {
			return w.walk(child, rest)
		}
	case []any:
		if p.index >= 0 && p.index < len(v) {
			return w.walk(v[p.index], rest)
		}
	}
	return nil, false
}

// elements is "#": the length of a list or, if the path continues, what it finds in each element.
type elements struct{}

func (elements) find(w *work, v any, rest chain) (any, bool) {
	list, ok := v.([]any)
	if !ok {
		return nil, false
	}
	if len(rest) == 0 {
		return json.Number(strconv.Itoa(len(list))), true
	}
	return w.each(list, rest)
}

// each lists what the chain finds in each value.
func (w *work) each(list []any, steps chain) (any, bool) {
	found := []any{}
	for _, el := range list {
		if v, ok := w.walk(el, steps); ok {
			found = append(found, v)
		}
	}
	return found, !w.isOver()
}

// query is "#(path op value)", the first matching element, or with all "#( )#", every matching element.
type query struct {
	path   path
	op     string // "" if the path only has to find something
	value  string
	number float64 // value as a number
	all    bool
}

func (q query) find(w *work, v any, rest chain) (any, bool) {
	list, ok := v.([]any)
	if !ok {
		return nil, false
	}
	var matching []any
	for _, el := range list {
		if !w.spend(1) {
			return nil, false
		}
		if len(q.path) > 0 && !hasParts(el) {
			continue
		}
		candidate, exists := w.get(el, q.path)
		if !q.holds(w, candidate, exists) {
			continue
		}
		if !q.all {
			return w.walk(el, rest)
		}
		matching = append(matching, el)
	}
	if !q.all {
		return nil, false
	}
	return w.each(matching, rest)
}

func hasParts(v any) bool {
	switch v.(type) {
	case map[string]any, []any:
		return true
	}
	return false
}

// selection is "[path,path]": a list of what the paths find.
type selection []path

func (s selection) find(w *work, v any, rest chain) (any, bool) {
	found := []any{}
	for _, p := range s {
		if v, ok := w.get(v, p); ok {
			found = append(found, v)
		}
	}
	return w.walk(found, rest)
}

// modifier is "@name": it turns one value into another.
type modifier func(w *work, v any) (any, bool)

func (m modifier) find(w *work, v any, rest chain) (any, bool) {
	made, ok := m(w, v)
	if !ok {
		return nil, false
	}
	return w.walk(made, rest)
}

var modifiers = map[string]modifier{
	"this":    func(_ *work, v any) (any, bool) { return v, true },
	"keys":    keys,
	"values":  values,
	"reverse": reverse,
	"flatten": flatten,
	"fromstr": unpack,
}

// sorted returns the names of an object in the order for "first". Sorting costs that many comparisons per name.
func (w *work) sorted(obj map[string]any) ([]string, bool) {
	if !w.spend(16 * len(obj)) {
		return nil, false
	}
	return slices.Sorted(maps.Keys(obj)), true
}

func keys(w *work, v any) (any, bool) {
	obj, ok := v.(map[string]any)
	if !ok {
		return nil, false
	}
	names, ok := w.sorted(obj)
	list := make([]any, len(names))
	for i, name := range names {
		list[i] = name
	}
	return list, ok
}

func values(w *work, v any) (any, bool) {
	obj, ok := v.(map[string]any)
	if !ok {
		_, isList := v.([]any)
		return v, isList
	}
	names, ok := w.sorted(obj)
	list := make([]any, len(names))
	for i, name := range names {
		list[i] = obj[name]
	}
	return list, ok
}

func reverse(w *work, v any) (any, bool) {
	list, ok := v.([]any)
	if !ok {
		return v, true
	}
	if !w.spend(len(list)) {
		return nil, false
	}
	list = slices.Clone(list)
	slices.Reverse(list)
	return list, true
}

// flatten replaces lists in a list by their elements, one level deep.
func flatten(w *work, v any) (any, bool) {
	list, ok := v.([]any)
	if !ok {
		return v, true
	}
	flat := []any{}
	for _, el := range list {
		inner, isList := el.([]any)
		if !isList {
			inner = []any{el}
		}
		if !w.spend(1 + len(inner)) {
			return nil, false
		}
		flat = append(flat, inner...)
	}
	return flat, true
}

// unpack decodes the JSON in a text. The paths of a mapping often begin with the same text.
func unpack(w *work, v any) (any, bool) {
	text, ok := v.(string)
	if !ok {
		return v, true
	}
	if !w.spend(1 + len(text)/64) {
		return nil, false
	}
	if inner, ok := w.texts[text]; ok {
		return inner, inner != nil
	}
	if !w.spend(2 * len(text)) {
		return nil, false
	}
	inner, err := parseJSON([]byte(text))
	if err != nil {
		inner = nil
	}
	w.texts[text] = inner
	return inner, inner != nil
}

// holds compares a value as GJSON does: by its own type, and never a list or an object.
func (q query) holds(w *work, v any, exists bool) bool {
	if like, ok := strings.CutPrefix(q.value, "~"); ok {
		return q.holdsLike(v, exists, like)
	}
	if !exists || q.op == "" {
		return exists
	}
	switch v := v.(type) {
	case string:
		switch q.op {
		case "%":
			return wildcard(q.value).match(w, v)
		case "!%":
			return !wildcard(q.value).match(w, v)
		}
		return compares(strings.Compare(v, q.value), q.op)
	case json.Number:
		n, _ := v.Float64()
		switch { // NaN equals nothing
		case n < q.number:
			return compares(-1, q.op)
		case n > q.number:
			return compares(1, q.op)
		}
		return compares(0, q.op)
	case bool:
		return q.holdsBool(v)
	}
	return false
}

func compares(order int, op string) bool {
	switch op {
	case "=":
		return order == 0
	case "!=":
		return order != 0
	case "<":
		return order < 0
	case "<=":
		return order <= 0
	case ">":
		return order > 0
	case ">=":
		return order >= 0
	}
	return false
}

// holdsBool orders false before true.
func (q query) holdsBool(v bool) bool {
	switch q.op {
	case "=":
		return q.value == strconv.FormatBool(v)
	case "!=":
		return q.value != strconv.FormatBool(v)
	case "<":
		return !v && q.value == "true"
	case ">":
		return v && q.value == "false"
	case "<=":
		return !v
	case ">=":
		return v
	}
	return false
}

// holdsLike compares with ~true, ~false, ~null or ~*: whether a value counts as that.
func (q query) holdsLike(v any, exists bool, like string) bool {
	var is bool
	switch like {
	case "*":
		is = exists
	case "null":
		is = v == nil
	case "true":
		is = truth(v) == "true"
	case "false":
		is = v == nil || truth(v) == "false"
	default:
		return false
	}
	return query{op: q.op, value: "true"}.holdsBool(is)
}

// truth returns "true" or "false" for common spellings of them, "" for anything else.
func truth(v any) string {
	switch v := v.(type) {
	case bool:
		return strconv.FormatBool(v)
	case json.Number:
		n, _ := v.Float64()
		return strconv.FormatBool(n != 0)
	case string:
		if len(v) <= len("false") {
			if b, err := strconv.ParseBool(strings.ToLower(v)); err == nil {
				return strconv.FormatBool(b)
			}
		}
	}
	return ""
}
