package payload

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"contactbase/internal/fault"
)

// Limits of a mapping.
const (
	maxMappingFields = 50
	maxMappingPaths  = 100
	maxDeleteWhen    = 50
	maxTargetName    = 100
)

// Mapping says where a sender's payload has its values. Paths are GJSON paths
// (https://github.com/tidwall/gjson/blob/master/SYNTAX.md). ParseMapping checks a mapping.
type Mapping struct {
	preset     string
	ownItems   bool   // the items are not the preset's
	itemsText  string // as written, for a message
	items      path
	actionText string // as written, for a message
	action     path
	deleteWhen []string
	listed     bool // deleteWhen was given, perhaps as an empty list
	fields     []target
}

// target is a contact's property and its sources: the first with a value counts.
type target struct {
	name    string
	sources []source
	paths   string // as written, for a message
}

// source is one path, or several whose values are joined with a space.
type source []path

// wrongAt returns the error of a part of a mapping, such as `fields.email[1]`, for the admin who writes the mapping.
func wrongAt(part, message string) error {
	return fault.New(fault.ValidationFailed, "mapping: "+part+": "+message)
}

var targetName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// ParseMapping reads the mapping of an inbound webhook:
//
//	{
//	  "preset": "typeform",             a mapping to start from, see Presets; other parts override it,
//	                                    "fields" name by name, and null removes a part
//	  "items": "contacts",              the list of items; without it, the payload is one item, or each
//	                                    element of a payload that is an array
//	  "action": "event",                the action; searched in the item, then in the payload
//	  "deleteWhen": ["contact.gone"],   its values that mean a deletion, all others an upsert; without it,
//	                                    the value itself must be "upsert" or "delete"
//	  "fields": {                       without it, an item is read by common names
//	    "email": "person.mail",
//	    "phone": ["mobile", "landline"],                    the first that has a value
//	    "name": {"join": ["person.first", "person.last"]}   joined with a space
//	  }
//	}
//
// For nothing, null and {} it returns nil without an error. The error is a *fault.Error that names the invalid part.
func ParseMapping(raw []byte) (*Mapping, error) {
	switch strings.TrimSpace(string(raw)) {
	case "", "null", `""`, "{}":
		return nil, nil
	}
	root, err := parseJSON(raw)
	if err != nil {
		return nil, fault.New(fault.ValidationFailed, "mapping: must be valid JSON")
	}
	obj, ok := root.(map[string]any)
	if !ok {
		return nil, fault.New(fault.ValidationFailed, "mapping: must be an object")
	}
	preset, _ := obj["preset"].(string)
	_, ownItems := obj["items"]
	if obj, err = withPreset(obj); err != nil {
		return nil, err
	}
	m, err := newMapping(obj)
	if err != nil {
		return nil, err
	}
	m.preset, m.ownItems = preset, ownItems
	return m, nil
}

// Preset returns the name of the preset that the mapping starts from, "" if none. m may be nil.
func (m *Mapping) Preset() string {
	if m == nil {
		return ""
	}
	return m.preset
}

// Scheme returns how the sender of the mapping's preset signs, "" if unknown. m may be nil.
func (m *Mapping) Scheme() string {
	if m == nil {
		return ""
	}
	return presets()[m.preset].Scheme
}

// Custom returns the fields that a contact has only if an admin has added them, with any value. m may be nil.
func (m *Mapping) Custom() map[string]any {
	names := map[string]any{}
	if m != nil {
		for _, t := range m.fields {
			if t.name != FieldID && !isField(t.name) {
				names[t.name] = nil
			}
		}
	}
	return names
}

// withPreset overrides the preset's parts with the mapping's own.
func withPreset(own map[string]any) (map[string]any, error) {
	v, ok := own["preset"]
	if !ok {
		return own, nil
	}
	name, _ := v.(string)
	p, ok := presets()[name]
	if !ok {
		return nil, wrongAt("preset",
			fmt.Sprintf("unknown preset %q; use one of %s", shorten(name), strings.Join(presetNames(), ", ")))
	}
	base, err := parseJSON(p.Mapping)
	if err != nil {
		return nil, err
	}
	merged := base.(map[string]any) // ensured by a test of the presets
	for key, part := range own {
		over, isObject := part.(map[string]any)
		fields, hasFields := merged[key].(map[string]any)
		switch {
		case key == "preset":
		case key == "fields" && isObject && hasFields:
			maps.Copy(fields, over)
			maps.DeleteFunc(fields, func(_ string, v any) bool { return v == nil })
		case part == nil:
			delete(merged, key)
		default:
			merged[key] = part
		}
	}
	return merged, nil
}

func newMapping(obj map[string]any) (*Mapping, error) {
	m := &Mapping{}
	var err error
	for _, key := range slices.Sorted(maps.Keys(obj)) {
		switch v := obj[key]; key {
		case "items":
			m.itemsText, _ = v.(string)
			m.items, err = pathAt(key, v)
		case "action":
			m.actionText, _ = v.(string)
			m.action, err = pathAt(key, v)
		case "deleteWhen":
			m.listed = true
			m.deleteWhen, err = valuesAt(key, v)
		case "fields":
			m.fields, err = targetsAt(key, v)
		default:
			err = wrongAt(shorten(key), "is not a setting; use preset, items, action, deleteWhen and fields")
		}
		if err != nil {
			return nil, err
		}
	}
	if len(m.deleteWhen) > 0 && m.action == nil {
		return nil, wrongAt("deleteWhen", "needs an action path, whose values it lists")
	}
	return m, nil
}

func pathAt(at string, v any) (path, error) {
	text, ok := v.(string)
	if !ok {
		return nil, wrongAt(at, "must be a path, in quotes")
	}
	parsed, reason := parsePath(text)
	if reason != "" {
		return nil, wrongAt(at, reason)
	}
	return parsed, nil
}

func valuesAt(at string, v any) ([]string, error) {
	list, ok := v.([]any)
	if !ok || len(list) > maxDeleteWhen {
		return nil, wrongAt(at, "must be a list of at most "+strconv.Itoa(maxDeleteWhen)+" values")
	}
	out := make([]string, 0, len(list))
	for i, el := range list {
		text, err := scalar(el)
		if err != nil || text == nil {
			return nil, wrongAt(fmt.Sprintf("%s[%d]", at, i), "must be a text, a number, true or false")
		}
		out = append(out, text.(string))
	}
	return out, nil
}

func targetsAt(at string, v any) ([]target, error) {
	obj, ok := v.(map[string]any)
	if !ok || len(obj) == 0 || len(obj) > maxMappingFields {
		return nil, wrongAt(at, "must be an object of 1 to "+strconv.Itoa(maxMappingFields)+" fields, each with its path")
	}
	targets, paths := make([]target, 0, len(obj)), 0
	for _, name := range slices.Sorted(maps.Keys(obj)) {
		here := at + "." + shorten(name)
		if !targetName.MatchString(name) || len(name) > maxTargetName || name == fieldAction {
			return nil, wrongAt(here,
				"cannot be a contact's field: a name has letters, digits and _, and does not begin with a digit")
		}
		t := target{name: name}
		var err error
		if list, ok := obj[name].([]any); ok && len(list) > 0 {
			for i, el := range list {
				if t.sources, err = addSource(t.sources, fmt.Sprintf("%s[%d]", here, i), el); err != nil {
					return nil, err
				}
			}
		} else if t.sources, err = addSource(nil, here, obj[name]); err != nil {
			return nil, err
		}
		for _, s := range t.sources {
			paths += len(s)
		}
		t.paths = cut(strings.Join(spelled(obj[name]), ", "), 200)
		targets = append(targets, t)
	}
	if paths > maxMappingPaths {
		return nil, wrongAt(at, "there can be at most "+strconv.Itoa(maxMappingPaths)+" paths")
	}
	return targets, nil
}

// spelled lists the paths of a source, or of a list of sources.
func spelled(v any) (paths []string) {
	switch v := v.(type) {
	case string:
		return []string{v}
	case []any:
		for _, el := range v {
			paths = append(paths, spelled(el)...)
		}
	case map[string]any:
		return spelled(v["join"])
	}
	return paths
}

func addSource(sources []source, at string, v any) ([]source, error) {
	obj, ok := v.(map[string]any)
	if !ok {
		path, err := pathAt(at, v)
		return append(sources, source{path}), err
	}
	list, ok := obj["join"].([]any)
	if !ok || len(obj) != 1 || len(list) < 2 || len(list) > 3 {
		return nil, wrongAt(at, `must be a path or {"join": [path, path]}, with two or three paths`)
	}
	var s source
	for i, el := range list {
		path, err := pathAt(fmt.Sprintf("%s.join[%d]", at, i), el)
		if err != nil {
			return nil, err
		}
		s = append(s, path)
	}
	return append(sources, s), nil
}
