package contact

import "github.com/pocketbase/pocketbase/core"

// CustomFields returns the custom fields that callers may set, in their order. They belong to the collection that PocketBase keeps
// in memory: do not change them.
func CustomFields(app core.App) (fields []core.Field, err error) {
	err = withSchema(app, func(s *schema) error {
		fields = nil
		for _, field := range s.custom {
			if writable(field) {
				fields = append(fields, field)
			}
		}
		return nil
	})
	return fields, err
}
