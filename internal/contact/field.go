package contact

import "contactbase/internal/fault"

// Contact is a contact as the API shows it. An empty string means "no value" and is shown as null.
type Contact struct {
	ID         string
	Name       string
	Email      string
	Phone      string
	Company    string
	ExternalID string
	Created    string // RFC 3339, UTC, milliseconds
	Updated    string // RFC 3339, UTC, milliseconds
	Custom     []CustomValue

	stored []any // the values of the admin's fields that were read, as PocketBase's records have them
}

// Fields are the writable fields of every installation, in the order of the contact object. A field that is added to
// Contact and here is read, written, checked, shown, sent to webhooks, and accepted from senders and files. It also
// needs a migration that adds the column, and the schemas in api/openapi.yaml. Nothing changes Fields after the start.
var Fields = []*Field{
	{
		Name: "name", Limit: 255, normalize: normalizeText, Identifies: true, VCard: "FN",
		Searched: true, Sortable: true,
		of: func(c *Contact) *string { return &c.Name },
	},
	{
		Name: "email", Limit: 254, normalize: normalizeEmail, Identifies: true, VCard: "EMAIL",
		Searched: true, Filter: filterEmail, Folded: true,
		of: func(c *Contact) *string { return &c.Email },
	},
	{
		Name: "phone", Limit: 16, normalize: normalizePhone, VCard: "TEL",
		Searched: true, digits: true, Filter: filterPhone,
		of: func(c *Contact) *string { return &c.Phone },
	},
	{
		Name: "company", Limit: 255, normalize: normalizeText, VCard: "ORG",
		Searched: true, Filter: filterCompany, Unindexed: true,
		of: func(c *Contact) *string { return &c.Company },
	},
	{
		Name: "externalId", Limit: 255, normalize: normalizeExternalID, Identifies: true, VCard: "UID",
		Filter: filterExternalID,
		of:     func(c *Contact) *string { return &c.ExternalID },
	},
}

// Field describes a field of a contact. All of them hold text.
type Field struct {
	Name  string // in JSON, of the column, and in what callers send
	Limit int    // the maximum number of characters

	// Identifies says that the field tells which contact it is: a row of a file and an inbound item are refused if its
	// value does not fit. Without it, the value is left out with a warning.
	Identifies bool

	VCard string // the property of a card that has it; "" for one of our own

	Searched bool // searches look into it
	// Sortable says that a list can be sorted by it: by the name as the search row has it, by any other without regard to
	// case, which requires an index with COLLATE NOCASE.
	Sortable bool

	// of returns a pointer to the field's value in a contact.
	of func(*Contact) *string

	// normalize returns the value to store for what a caller sent, or the errors in it.
	normalize func(sent string, limit int) (string, *fault.Field)

	// Filter returns the value that the contacts of a list must have, given the query parameter with the field's
	// name, or the errors in the parameter. It is nil if lists cannot be filtered by the field. Unless it is
	// folded or unindexed, this takes an index `idx_contacts_<Name>`.
	Filter func(sent string) (string, *fault.Field)

	Folded    bool // a filter compares the column of that name in the search row, which search.FoldEmail has folded
	Unindexed bool // the filter works once an administrator has added an index, as for custom fields
	digits    bool // searches find it as a phone number
}

// Normalize returns the value that is stored for a text, or the errors in it.
func (f *Field) Normalize(text string) (string, *fault.Field) { return f.normalize(text, f.Limit) }

// Value returns the field's value in a contact.
func (f *Field) Value(c *Contact) string { return *f.of(c) }

// FieldNamed returns the field with that name, nil if there is none. It does not return custom fields.
func FieldNamed(name string) *Field { return fieldsByName[name] }

// IsOptional reports whether a contact can do without a field whose value does not fit. It also answers for the id and
// for custom fields.
func IsOptional(name string) bool {
	field := FieldNamed(name)
	return name != ID && (field == nil || !field.Identifies)
}

var fieldsByName = func() map[string]*Field {
	byName := make(map[string]*Field, len(Fields))
	for _, field := range Fields {
		byName[field.Name] = field
	}
	return byName
}()

// eachField returns a text for each of the Fields, in their order.
func eachField(text func(*Field) string) []string {
	texts := make([]string, len(Fields))
	for i, field := range Fields {
		texts[i] = text(field)
	}
	return texts
}
