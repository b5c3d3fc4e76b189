package contact

import (
	"slices"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/contact/custom"
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

// CustomInput returns those properties that another system sent that are custom fields, in the JSON types that
// ParseChanges accepts, and the names of the others. The properties are strings, nil for no value, or decoded lists
// and objects, which only fields of their type accept.
func CustomInput(app core.App, sent map[string]any) (input map[string]any, unknown []string, _ error) {
	s, err := schemaFor(app)
	if err != nil {
		return nil, nil, err
	}
	input = map[string]any{}
	for name, value := range sent {
		field := s.customField(name)
		if field == nil || !custom.Writable(field) {
			unknown = append(unknown, name)
			continue
		}
		input[name] = value
		switch v := value.(type) {
		case string:
			if v != "" {
				input[name] = custom.FromText(field, v)
			}
		case []any, map[string]any:
			if _, wrong := custom.Value(field, v); wrong != nil {
				unknown = append(unknown, name)
				delete(input, name)
			}
		}
	}
	slices.Sort(unknown)
	return input, unknown, nil
}
