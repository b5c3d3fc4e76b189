package contact

import (
	"iter"
	"maps"
	"slices"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/contact/custom"
	"contactbase/internal/fault"
)

// CustomFields returns the custom fields that callers may set, in their order. They belong to the collection that
// PocketBase keeps in memory: do not change them.
func CustomFields(app core.App) (fields []core.Field, err error) {
	s, err := schemaFor(app)
	if err != nil {
		return nil, err
	}
	for _, field := range s.custom {
		if custom.Writable(field) {
			fields = append(fields, field)
		}
	}
	return fields, nil
}

// Names returns the names of the properties of a contact as the API shows it.
func Names(app core.App) (names []string, err error) {
	s, err := schemaFor(app)
	if err != nil {
		return nil, err
	}
	names = slices.Concat(ignoredFields, eachField(func(f *Field) string { return f.Name }))
	for _, field := range s.custom {
		names = append(names, field.GetName())
	}
	return names, nil
}

// CustomNames returns which of some names are custom fields that callers may set, and the others in order.
func CustomNames(app core.App, names iter.Seq[string]) (known, unknown []string, _ error) {
	s, err := schemaFor(app)
	if err != nil {
		return nil, nil, err
	}
	for name := range names {
		if field := s.customField(name); field != nil && custom.Writable(field) {
			known = append(known, name)
		} else {
			unknown = append(unknown, name)
		}
	}
	slices.Sort(unknown)
	return known, unknown, nil
}

// LeftOut is a value that does not fit a field, and why.
type LeftOut struct {
	Field, Value string
	Wrong        fault.Field
}

// CustomInput returns what decoded JSON from another system has for custom fields, as ParseChanges accepts it, and what
// does not fit. The names are those of such fields.
func CustomInput(
	app core.App, sent map[string]any, style custom.Style,
) (input map[string]any, left []LeftOut, _ error) {
	s, err := schemaFor(app)
	if err != nil {
		return nil, nil, err
	}
	input = map[string]any{}
	for _, name := range slices.Sorted(maps.Keys(sent)) {
		field := s.customField(name)
		if field == nil { // removed meanwhile
			continue
		}
		read := custom.ReadJSON(field, sent[name], style)
		if read.Wrong != nil {
			left = append(left, LeftOut{name, read.Left, *read.Wrong})
		}
		if read.Value != nil || sent[name] == nil {
			input[name] = read.Value
		}
	}
	return input, left, nil
}
