package contactbase

import (
	"context"
	"fmt"
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
func (c *Contacts) Upsert(
	ctx context.Context, externalID string, fields Fields, options ...RequestOption,
) (Contact, error) {
	return single(decode[api.ContactResponse](c.api.UpsertContact(ctx, externalID, nil, fields.input(), edit(options...))))
}

// Delete deletes the contact with the ID. The key needs the permission contacts:delete.
func (c *Contacts) Delete(ctx context.Context, id string, options ...RequestOption) error {
	answer, err := c.api.DeleteContact(ctx, id, nil, edit(options...))
	if err != nil {
		return fmt.Errorf("contactbase: %w", err)
	}
	if answer.StatusCode != http.StatusNoContent {
		return errorOf(answer)
	}
	return nil
}

// Merge says how contacts are merged into another one.
type Merge struct {
	From   []string          // IDs of the contacts that are merged and deleted, 1 to 50; the first has priority
	Fields map[string]string // by field, such as "email", the ID of the contact whose value the remaining one gets
	DryRun bool              // whether to return the contact as it would be, and write nothing
}

// Merge merges other contacts into the contact with the ID and deletes them.
func (c *Contacts) Merge(ctx context.Context, id string, merge Merge, options ...RequestOption) (Contact, error) {
	body := api.MergeRequest{From: merge.From, DryRun: &merge.DryRun}
	if len(merge.Fields) > 0 {
		body.Fields = &merge.Fields
	}
	return single(decode[api.ContactResponse](c.api.MergeContacts(ctx, id, nil, body, edit(options...))))
}

func single(answer api.ContactResponse, header http.Header, err error) (Contact, error) {
	if err != nil {
		return Contact{}, err
	}
	contact := contactOf(answer.Data)
	contact.ETag = header.Get("ETag")
	return contact, nil
}
