package contactbase

import (
	"context"
	"net/http"

	"contactbase/clients/go/internal/api"
)

// Contacts has the calls about contacts. Each returns an *Error if the installation rejects it.
type Contacts struct {
	api *api.Client
}

// Create creates a contact, which needs a name or an email address.
func (c *Contacts) Create(ctx context.Context, fields Fields, options ...RequestOption) (Contact, error) {
	return single(decode[api.ContactResponse](c.api.CreateContact(ctx, nil, fields.input(), edit(options...))))
}

// Get returns the contact with the ID.
func (c *Contacts) Get(ctx context.Context, id string, options ...RequestOption) (Contact, error) {
	return single(decode[api.ContactResponse](c.api.GetContact(ctx, id, nil, edit(options...))))
}

// Update changes the given fields of the contact with the ID.
func (c *Contacts) Update(ctx context.Context, id string, fields Fields, options ...RequestOption) (Contact, error) {
	return single(decode[api.ContactResponse](c.api.UpdateContact(ctx, id, nil, fields.input(), edit(options...))))
}

// Upsert updates the given fields of the contact with your own identifier, or creates the contact.
func (c *Contacts) Upsert(ctx context.Context, externalID string, fields Fields, options ...RequestOption) (Contact, error) {
	return single(decode[api.ContactResponse](c.api.UpsertContact(ctx, externalID, nil, fields.input(), edit(options...))))
}

func single(answer api.ContactResponse, header http.Header, err error) (Contact, error) {
	if err != nil {
		return Contact{}, err
	}
	contact := contactOf(answer.Data)
	contact.ETag = header.Get("ETag")
	return contact, nil
}
