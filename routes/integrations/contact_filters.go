package integrations

import (
	"slices"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/contact/list"
	"contactbase/internal/fault"
	"contactbase/routes/envelope"
)

// contactFilter is a field by which the API filters contacts once it has an index.
type contactFilter struct {
	Field string `json:"field"`
	Index string `json:"index"` // "" for none
}

// listFilters answers with the fields, and how long adding an index for one of them would stop writers.
func (s *server) listFilters(e *core.RequestEvent) error {
	fields, err := list.FilterFields(e.App)
	if err != nil {
		return err
	}
	contacts, pause, err := list.IndexTime(e.App)
	if err != nil {
		return err
	}
	filters := []contactFilter{}
	for _, field := range fields {
		filters = append(filters, contactFilter{field.Name, field.Index})
	}
	return envelope.WriteData(e, map[string]any{"contacts": contacts, "pauseSeconds": pause.Seconds(), "filters": filters})
}

// addFilter adds the index of a field.
func (s *server) addFilter(e *core.RequestEvent) error {
	var input contactFilter
	if err := readAdmin(e, &input); err != nil {
		return err
	}
	fields, err := list.FilterFields(e.App)
	if err != nil {
		return err
	}
	at := slices.IndexFunc(fields, func(f list.FilterField) bool { return f.Name == input.Field })
	if at < 0 {
		return fault.InvalidField("field", fault.CodeInvalidValue, "must be the name of a field that the API can filter by")
	}
	if fields[at].Index == "" {
		if err := list.AddIndex(e.App, input.Field); err != nil {
			return err
		}
	}
	return s.listFilters(e)
}
