package contactbase

import (
	"encoding/json"
	"fmt"
	"time"

	"contactbase/clients/go/internal/api"
)

// Contact is a stored contact. A field without a value is empty.
type Contact struct {
	ID         string
	Name       string
	Email      string
	Phone      string // a plus sign and digits
	Company    string
	ExternalID string // your own identifier
	CreatedAt  time.Time
	UpdatedAt  time.Time

	// Custom has the custom fields of the installation by name.
	Custom map[string]any

	// ETag is the version of the contact, for IfMatch. Contacts in lists, batches and events have none.
	ETag string
}

// MarshalJSON writes the contact as the API does.
func (c Contact) MarshalJSON() ([]byte, error) {
	return json.Marshal(api.Contact{
		Id: c.ID, Name: orNull(c.Name), Email: orNull(c.Email), Phone: orNull(c.Phone), Company: orNull(c.Company),
		ExternalId: orNull(c.ExternalID), CreatedAt: c.CreatedAt, UpdatedAt: c.UpdatedAt, AdditionalProperties: c.Custom,
	})
}

// UnmarshalJSON reads a contact as the API writes it.
func (c *Contact) UnmarshalJSON(data []byte) error {
	var from api.Contact
	if err := json.Unmarshal(data, &from); err != nil {
		return err
	}
	*c = contactOf(from)
	return nil
}

func contactOf(from api.Contact) Contact {
	return Contact{
		ID: from.Id, Name: orEmpty(from.Name), Email: orEmpty(from.Email), Phone: orEmpty(from.Phone),
		Company: orEmpty(from.Company), ExternalID: orEmpty(from.ExternalId), CreatedAt: from.CreatedAt,
		UpdatedAt: from.UpdatedAt, Custom: from.AdditionalProperties,
	}
}

// Fields are the fields of a contact to write, or those that have changed. Nil omits a field. A pointer to the empty
// string is a field without a value; writing it clears the field.
type Fields struct {
	Name       *string
	Email      *string
	Phone      *string // in international format
	Company    *string
	ExternalID *string

	// Custom has custom fields by name. Nil clears a field.
	Custom map[string]any
}

// String returns a pointer to the text, for Fields.
func String(text string) *string {
	return &text
}

func (f Fields) input() api.ContactInput {
	return api.ContactInput{
		Name: f.Name, Email: f.Email, Phone: f.Phone, Company: f.Company, ExternalId: f.ExternalID,
		AdditionalProperties: f.Custom,
	}
}

// MarshalJSON writes the fields that are not nil.
func (f Fields) MarshalJSON() ([]byte, error) {
	return json.Marshal(f.input())
}

// UnmarshalJSON reads the fields that are present; null is a field without a value.
func (f *Fields) UnmarshalJSON(data []byte) error {
	var values map[string]any
	if err := json.Unmarshal(data, &values); err != nil {
		return err
	}
	*f = Fields{}
	known := map[string]**string{
		"name": &f.Name, "email": &f.Email, "phone": &f.Phone, "company": &f.Company, "externalId": &f.ExternalID,
	}
	for name, value := range values {
		field, isKnown := known[name]
		if !isKnown {
			if f.Custom == nil {
				f.Custom = map[string]any{}
			}
			f.Custom[name] = value
			continue
		}
		text, isText := value.(string)
		if !isText && value != nil {
			return fmt.Errorf("contactbase: %s is not a string", name)
		}
		*field = &text
	}
	return nil
}

func orEmpty(text *string) string {
	if text == nil {
		return ""
	}
	return *text
}

func orNull(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}
