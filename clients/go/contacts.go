package contactbase

import (
	"context"
	"net/http"

	"contactbase/clients/go/internal/api"
)

// Contacts are the calls about contacts. Each returns an *Error where the installation refuses it.
type Contacts struct {
	api *api.Client
}

// Create creates a contact, which needs a name or an e-mail address.
func (c *Contacts) Create(ctx context.Context, fields Fields, options ...RequestOption) (Contact, error) {
	return single(decode[api.ContactResponse](c.api.CreateContact(ctx, nil, fields.input(), edit(options...))))
}

// Get returns the contact with the id.
func (c *Contacts) Get(ctx context.Context, id string, options ...RequestOption) (Contact, error) {
	return single(decode[api.ContactResponse](c.api.GetContact(ctx, id, nil, edit(options...))))
}

// Update changes the fields, and no others, of the contact with the id.
func (c *Contacts) Update(ctx context.Context, id string, fields Fields, options ...RequestOption) (Contact, error) {
	return single(decode[api.ContactResponse](c.api.UpdateContact(ctx, id, nil, fields.input(), edit(options...))))
}

// Upsert changes the fields, and no others, of the contact with your own identifier, and creates it where there is none.
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
